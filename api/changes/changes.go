// Package changes pairs the fields of two objects in JSON: an entry of the audit log before and after
// a change, as people read it. It knows nothing of links, of accounts or of the log. The command audit
// and the page of the audit log show changes with it.
package changes

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A Field is a field of the two objects. One of which both have the same value has only After.
type Field struct {
	Name          string
	Before, After string // as Text returns them; empty: the object does not have it

	BeforeWord, AfterWord bool // the text is a word of ours
}

// Of returns the fields of two objects in their order, those that only after has at the end. What is
// not an object has no fields.
func Of(before, after json.RawMessage) []Field {
	fields := membersOf(before)
	for _, m := range membersOf(after) {
		m.Before, m.BeforeWord, m.After, m.AfterWord = "", false, m.Before, m.BeforeWord
		if at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == m.Name }); at >= 0 {
			was := &fields[at]
			if was.After, was.AfterWord = m.After, m.AfterWord; m.After == was.Before && m.AfterWord == was.BeforeWord {
				was.Before, was.BeforeWord = "", false // it says which thing was changed, such as the number of a folder
			}
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
		text, word := Text(value)
		members = append(members, Field{Name: name.(string), Before: text, BeforeWord: word})
	}
	return members
}

// Text returns a value as people read it: a string without its quotes, "" as "empty", null and a list
// of nothing as "none", a list of strings with ", " between them, and anything else as it is. word: the text is one of
// these words, or true or false, and no text that somebody typed.
func Text(value json.RawMessage) (text string, word bool) {
	switch string(value) {
	case "null":
		return "none", true
	case `""`:
		return "empty", true
	case "true", "false":
		return string(value), true
	}
	if json.Unmarshal(value, &text) == nil {
		return text, false
	}
	if text = listText(value); text == "" {
		return "none", true
	}
	return text, false
}

// listText returns a list of strings without its brackets, "" for an empty one, and any other value as it is. A string
// that could be taken for several, or whose ends would not be seen, keeps its quotes.
func listText(value json.RawMessage) string {
	var members []json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return string(value)
	}
	texts := make([]string, len(members))
	for i, member := range members {
		var text *string
		if json.Unmarshal(member, &text) != nil || text == nil {
			return string(value)
		}
		if texts[i] = *text; *text == "" || *text != strings.TrimSpace(*text) || strings.ContainsAny(*text, `,"`) {
			texts[i] = string(member)
		}
	}
	return strings.Join(texts, ", ")
}
