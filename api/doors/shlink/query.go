package shlink

import (
	"iter"
	"net/url"
	"strings"
	"unicode/utf8"

	"shunt/api/ops"
	"shunt/api/problem"
)

// A query has the parameters of a request, in their order.
type query []parameter

type parameter struct{ name, value string }

// errQuery is the error of a query that cannot be read.
var errQuery = problem.New(problem.BadRequest, "the query is not what a form sends: name=value, with & between, in UTF-8 and percent-encoded")

// readQuery reads a query as a form sends it. With errQuery it returns the parameters that can be read.
func readQuery(text string) (q query, err error) {
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		if len(q) == ops.MaxParameters {
			return nil, problem.New(problem.BadRequest, "there must be at most %d query parameters", ops.MaxParameters)
		}
		name, value, _ := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		if errName != nil || errValue != nil || !utf8.ValidString(name) || !utf8.ValidString(value) {
			err = errQuery
			continue
		}
		q = append(q, parameter{name, value})
	}
	return q, err
}

// one returns the value of a parameter; the last one counts, as in PHP. It is empty if there is none.
func (q query) one(name string) (value string) {
	for _, p := range q {
		if p.name == name {
			value = p.value
		}
	}
	return value
}

// many returns the values of a list: name[]=a&name[]=b, or with numbers between the brackets. No item is empty.
func (q query) many(name string) (values []string) {
	for _, p := range q {
		number, ofList := strings.CutPrefix(p.name, name+"[")
		number, closed := strings.CutSuffix(number, "]")
		if ofList && closed && strings.Trim(number, "0123456789") == "" && p.value != "" {
			values = append(values, p.value)
		}
	}
	return values
}

// yes reports whether a parameter is there and asks for something.
func (q query) yes(name string) bool {
	value := q.one(name)
	return value != "" && value != "0" && value != "false"
}

// Len implements ops.Parameters.
func (q query) Len() int { return len(q) }

// All implements ops.Parameters.
func (q query) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for _, p := range q {
			if !yield([]byte(p.name), []byte(p.value)) {
				return
			}
		}
	}
}

// with returns q with one more parameter, if it has a value.
func (q query) with(name, value string) query {
	if value == "" {
		return q
	}
	return append(q, parameter{name, value})
}
