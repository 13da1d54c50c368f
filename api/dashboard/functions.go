package dashboard

import (
	"html/template"
	"strconv"
	"strings"
	"time"
)

// functions are what templates can call.
var functions = template.FuncMap{
	"number": grouped,
	"time":   timeTag,
	"ago":    agoTag,
	"join":   func(texts []string) string { return strings.Join(texts, ", ") },
	"plural": plural,
}

// grouped returns a number with a space between groups of three digits.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString("\u202f") // narrow no-break space
		}
		b.WriteRune(c)
	}
	return b.String()
}

// timeTag returns a time in UTC to the minute, which the script shows in the visitor's zone. The
// zero time is "never".
func timeTag(t time.Time) template.HTML { return markTime(t, "") }

// agoTag is timeTag for the past: the script shows how long ago it was.
func agoTag(t time.Time) template.HTML { return markTime(t, " data-relative") }

func markTime(t time.Time, attribute string) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `"` + attribute + `>` + t.Format("2006-01-02 15:04") + ` UTC</time>`)
}

// plural returns a number with its noun: one if n is 1, many otherwise.
func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}
