package yourls

import (
	"strconv"
	"time"

	"shunt/api/ops"
)

// A field is one of an answer. Its value is a string, an int or fields.
type field struct {
	name  string
	value any
}

// fields are those of an answer, in their order.
type fields []field

// An answer is what all formats say: simple is the whole of it in the format simple.
type answer struct {
	status int
	fields fields
	simple string
}

// The status of a success, which is a number; errors have theirs as text.
var ok = field{"statusCode", 200}

// failed is an answer that says what is wrong.
func failed(status int, message string) answer {
	return answer{status, fields{{"errorCode", strconv.Itoa(status)}, {"message", message}}, message}
}

// onlyStructured is what the format simple says instead of several values.
const onlyStructured = "Need either XML or JSON format for stats"

// The messages of YOURLS that programs compare.
const (
	success  = "success"
	notFound = "Error: short URL not found"
)

// stamp returns a time as YOURLS writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// clicks returns a number as databases give it to YOURLS.
func clicks(n uint64) string { return strconv.FormatUint(n, 10) }

// statsOf returns a link with its hits.
func statsOf(l *ops.Link) fields {
	return fields{
		{"shorturl", l.ShortURL}, {"url", l.Target}, {"title", l.Title}, {"timestamp", stamp(l.CreatedAt)}, {"ip", ""},
		{"clicks", clicks(l.Hits)},
	}
}
