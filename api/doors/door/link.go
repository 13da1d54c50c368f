package door

import (
	"encoding/json"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// Fields make the body of a call that makes or changes a link: doors hand over what a client sent by the names that the
// API has, and package ops says what is wrong with it.
type Fields struct{ text []byte }

// Raw adds a field with a value in JSON, as it was sent.
func (f *Fields) Raw(name string, value json.RawMessage) {
	f.text = append(jsontext.AppendString(append(f.text, ','), name), ':')
	f.text = append(f.text, value...)
}

// Text adds a field, unless its value is empty.
func (f *Fields) Text(name, value string) {
	if value != "" {
		f.Raw(name, jsontext.AppendString(nil, value))
	}
}

// Yes adds a field that is true.
func (f *Fields) Yes(name string) { f.Raw(name, json.RawMessage("true")) }

// Any reports whether a field was added.
func (f *Fields) Any() bool { return len(f.text) > 0 }

// Body returns the body.
func (f *Fields) Body() jsonbody.Body {
	text := []byte("{}")
	if f.Any() {
		text = append(f.text, '}')
		text[0] = '{'
	}
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}
}

// Blame returns the error of p that is about a field of the API; ok is false if there is none.
func Blame(p problem.Problem, field string) (e engine.FieldError, ok bool) {
	for _, e := range p.Fields {
		if e.Field == field {
			return e, true
		}
	}
	return e, false
}

// Explain returns the detail of a problem for a client that knows the fields of a link by other names: names has
// these by those of the API.
func Explain(p problem.Problem, names map[string]string) string {
	if len(p.Fields) == 0 {
		return p.Detail
	}
	texts := make([]string, len(p.Fields))
	for i, e := range p.Fields {
		name := names[e.Field]
		if name == "" {
			name = e.Field
		}
		texts[i] = strings.TrimPrefix(name+": ", ": ") + e.Message
	}
	return strings.Join(texts, "; ")
}

// Patience is how long a request begins further parts of work that has many, such as the pages before one that is asked
// for by its number.
const Patience = 15 * time.Second

// EachPage calls read until there are no more pages. It gives up if that takes too long.
func EachPage(read func() (more bool, err error)) error {
	for end := time.Now().Add(Patience); ; {
		more, err := read()
		switch {
		case err != nil || !more:
			return err
		case time.Now().After(end):
			return problem.New(problem.Overloaded, "the list takes too long; ask for its beginning, or for fewer links")
		}
	}
}

// maxSkipped bounds the links that a list leaves out at its beginning: they are read, too.
const maxSkipped = 10_000

// List returns limit links of a list after the first skip, in its order, and how many it has in all. Other shorteners
// number the links of a list, where this server has cursors. The caller must have asked for an Action that is Heavy.
func (h *House) List(caller account.Caller, q ops.ListQuery, skip, limit int) (links []ops.Link, total uint64, err error) {
	if skip > maxSkipped {
		return nil, 0, problem.New(problem.BadRequest, "a list can be read from its first 10,000 links on; the API has all of them")
	}
	q.Total = true
	err = EachPage(func() (more bool, err error) {
		q.Limit = min(skip+limit, engine.MaxListed)
		err = h.Ops.List(caller, q, func(page ops.Page) error {
			if page.Total != nil {
				total = *page.Total
			}
			left := min(skip, len(page.Links))
			skip -= left
			taken := page.Links[left:]
			taken = taken[:min(limit, len(taken))]
			limit -= len(taken)
			links = append(links, taken...)
			q.Cursor, q.Total = page.Next, false
			return nil
		})
		return q.Cursor != "" && skip+limit > 0, err
	})
	return links, total, err
}

// Count returns how many links a list has in all.
func (h *House) Count(caller account.Caller, q ops.ListQuery) (total uint64, err error) {
	_, total, err = h.List(caller, q, 0, 1)
	return total, err
}
