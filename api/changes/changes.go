// Package changes pairs the fields of two objects in JSON: an entry of the audit log before and after
// a change, as people read it. It knows nothing of links, of accounts or of the log. The command audit
// and the page of the audit log show changes with it.
package changes

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A Field is a field of which one of the two objects has another value than the other.
type Field struct {
	Name          string
	Before, After string // as Text returns them; empty: the object does not have it
}

// Of returns the fields of two objects in their order, those that only after has at the end. What is
// not an object has no fields.
func Of(before, after json.RawMessage) []Field {
	fields := membersOf(before)
	for _, m := range membersOf(after) {
		m.Before, m.After = "", m.Before
		if at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == m.Name }); at >= 0 {
			fields[at].After = m.After
			continue
		}
		fields = append(fields, m)
	}
	return fields
}

// membersOf returns the members of an object, their values as Before.
func membersOf(object json.RawMessage) (members []Field) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		members = append(members, Field{Name: name.(string), Before: Text(value)})
	}
	return members
}

// Text returns a value as people read it: a string without its quotes, "" as "empty", null as "none",
// and anything else as it is.
func Text(value json.RawMessage) string {
	var text *string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	switch {
	case text == nil:
		return "none"
	case *text == "":
		return "empty"
	}
	return *text
}
