package visit

import (
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// When a session has ended while a form was open, the form to sign in again has its fields, hidden.
// After signing in they are kept in memory for the page of the form, which shows them again. So the
// server keeps nothing for visitors who are not signed in.

// A Parameter is one of an address, or a field of a form.
type Parameter struct{ Name, Value string }

// keptPrefix begins the names of hidden fields, so that those of a kept form are not taken for
// those of the form to sign in.
const keptPrefix = "kept."

// PackForm returns the fields of a form as hidden fields, without passwords and codes; lost: it is
// too large. Files are not among them.
func PackForm(sent *fasthttp.Args) (fields []Parameter, lost bool) {
	size := 0
	for name, value := range sent.All() {
		f := Parameter{keptPrefix + string(name), string(value)}
		if secretField(f.Name) {
			continue
		}
		fields = append(fields, f)
		size += len(url.QueryEscape(f.Name)) + len(url.QueryEscape(f.Value)) + 2 // as the browser sends it
	}
	if size > maxFormBytes {
		return nil, true
	}
	return fields, false
}

// KeptFields returns the hidden fields of a kept form; nil: there are none, or too many.
func KeptFields(sent *fasthttp.Args) (fields []Parameter) {
	hidden := &fasthttp.Args{}
	for name, value := range sent.All() {
		if name, found := strings.CutPrefix(string(name), keptPrefix); found {
			hidden.AddBytesV(name, value)
		}
	}
	fields, _ = PackForm(hidden)
	return fields
}

// secretField reports whether a form's field is one that is never kept.
func secretField(name string) bool {
	return strings.Contains(name, "password") || name == keptPrefix+"code"
}

// KeepForm keeps a form for the page at path.
func (r *Request) KeepForm(path string, fields []Parameter) {
	values := make(url.Values)
	for _, f := range fields {
		values.Add(strings.TrimPrefix(f.Name, keptPrefix), f.Value)
	}
	r.keep.change(r.Caller, func(e *kept) {
		e.form = &form{path, values.Encode()}
		e.notice = &notice{Kind: "info", Text: "You are signed in again. Nothing has been sent yet: check the form and send it."}
	})
}
