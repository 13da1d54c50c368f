package shlink

import (
	"encoding/json"
	"strconv"
	"strings"

	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/engine"
)

// A field is a field of a short URL in a body of Shlink's clients, and the field of package ops that it becomes. What
// its value may be is the rule of package ops. Other fields are not looked at, as Shlink does with those that it no
// longer has: crawlable, deviceLongUrls, shortCodeLength, validateUrl.
type field struct {
	name, ours string
	edited     bool // a PATCH has it
	kept       bool // null does not say the default, but nothing

	// read takes what is no field of ops, or not always one. nil: the value is passed on.
	read func(w *wish, value json.RawMessage) error
}

var fields = []field{
	{name: "longUrl", ours: "url", edited: true, kept: true},
	{name: "customSlug", ours: "alias", read: func(w *wish, value json.RawMessage) error { return readText(&w.slug, value) }},
	{name: "pathPrefix", read: func(w *wish, value json.RawMessage) error { return readText(&w.prefix, value) }},
	{name: "domain", ours: "domain", read: func(w *wish, value json.RawMessage) error { return readText(&w.domain, value) }},
	{name: "findIfExists", ours: "reuse", read: func(w *wish, value json.RawMessage) (err error) {
		w.find, err = jsonbody.Bool(value)
		return err
	}},
	{name: "title", ours: "title", edited: true},
	{name: "tags", ours: "tags", edited: true},
	{name: "validSince", ours: "starts_at", edited: true},
	{name: "validUntil", ours: "expires_at", edited: true},
	{name: "maxVisits", ours: "max_hits", edited: true, read: readMaxVisits},
	{name: "forwardQuery", ours: "forward_query", edited: true, kept: true, read: func(w *wish, value json.RawMessage) error {
		w.saysQuery = true
		w.member("forward_query", value)
		return nil
	}},
}

// fieldNamed returns the field of Shlink's with a name; nil if there is none.
func fieldNamed(name []byte) *field {
	for i := range fields {
		if fields[i].name == string(name) {
			return &fields[i]
		}
	}
	return nil
}

// shlinkName returns Shlink's name for a field of package ops, or for a parameter; itself, if it has no other.
func shlinkName(ours string) string {
	for i := range fields {
		if ours != "" && fields[i].ours == ours {
			return fields[i].name
		}
	}
	for name, other := range oursNamed {
		if other == ours {
			return name
		}
	}
	return ours
}

// oursNamed has our names of what is no field of a short URL, by Shlink's.
var oursNamed = map[string]string{
	"startDate": "from", "endDate": "to", "searchTerm": "q", "tags": "tag", "newName": "name", "redirectRules": "rules",
	"baseUrlRedirect": "root_url", "invalidShortUrlRedirect": "not_found_url",
}

// A wish is what a body asks for: an object for package ops, and what must be looked at here.
type wish struct {
	object
	slug, prefix string
	domain       string // a host, or defaultDomain; empty: it names none
	find         bool   // an existing link will do
	saysQuery    bool   // it says whether queries are forwarded
}

// readWish reads a body: an object of JSON, whatever its Content-Type says, as Shlink takes it.
func readWish(text []byte, edit bool) (w wish, err error) {
	members, err := jsonbody.Object(text)
	if err != nil {
		return w, err
	}
	var invalid engine.InvalidError
	seen := make(map[string]bool)
	for _, m := range members {
		f := fieldNamed(m.Name)
		switch {
		case f == nil || edit && !f.edited:
		case seen[f.name]:
			invalid = append(invalid, jsonbody.FieldError(f.name, "duplicate", "must not be sent twice"))
		case string(m.Value) == "null" || isNothing(m.Value) && !f.kept:
			if edit && !f.kept {
				w.member(f.ours, []byte("null"))
			}
		case f.read != nil:
			invalid = jsonbody.AppendError(invalid, f.name, f.read(&w, m.Value))
		default:
			w.member(f.ours, m.Value)
		}
		if f != nil {
			seen[f.name] = true
		}
	}
	if w.prefix != "" && w.slug == "" {
		invalid = append(invalid, jsonbody.FieldError("pathPrefix", "conflict", "needs a customSlug here: codes that are drawn have no prefix"))
	}
	if len(invalid) > 0 {
		return w, invalid
	}
	return w, nil
}

// isNothing reports whether a value says that there is none: forms of clients send an empty text for it.
func isNothing(value json.RawMessage) bool { return string(value) == "null" || string(value) == `""` }

func readText(to *string, value json.RawMessage) (err error) {
	*to, err = jsonbody.String(value)
	return err
}

// readMaxVisits takes a number also as text, as inputs of forms have it.
func readMaxVisits(w *wish, value json.RawMessage) error {
	if value[0] == '"' {
		text, _ := jsonbody.String(value)
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
		if err != nil {
			return jsonbody.FieldError("", "type", "must be a whole number")
		}
		value = strconv.AppendUint(nil, n, 10)
	}
	w.member("max_hits", value)
	return nil
}

// An object is an object of JSON that is being written, without its braces.
type object struct{ text []byte }

func (o *object) member(name string, value json.RawMessage) {
	if len(o.text) > 0 {
		o.text = append(o.text, ',')
	}
	o.text = append(append(jsontext.AppendString(o.text, name), ':'), value...)
}

func (o *object) textMember(name, value string) { o.member(name, jsontext.AppendString(nil, value)) }

// body returns the object as a body for package ops.
func (o *object) body() jsonbody.Body {
	text := make([]byte, 0, len(o.text)+2)
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: append(append(append(text, '{'), o.text...), '}')}
}
