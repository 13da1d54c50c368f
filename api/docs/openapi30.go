package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// OpenAPI30 returns OpenAPI in version 3.0.3, for tools that do not read 3.1. It is made from
// OpenAPI, so that the two cannot differ, at the first call.
var OpenAPI30 = sync.OnceValue(func() Document {
	text, err := openAPI30(documentText)
	if err != nil {
		panic(fmt.Sprintf("docs: openapi.json as 3.0: %v", err)) // it is part of the program
	}
	return NewDocument(text)
})

// openAPI30 converts a document of version 3.1 to version 3.0.3. It knows the parts of 3.1 that
// openapi.json uses and leaves everything else as it is; a test holds that the result is valid.
func openAPI30(text []byte) ([]byte, error) {
	var root tree
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	root.object.set("openapi", textTree(`"3.0.3"`))
	info := root.object.values["info"].object
	info.remove("summary")
	licenseTo30(info.values["license"].object)
	components := root.object.values["components"].object.values["schemas"].object
	root.schemasTo30(components)
	return root.appendTo(nil), nil
}

// licenseTo30 names a license by address instead of its SPDX identifier.
func licenseTo30(license *ordered[*tree]) {
	identifier := license.values["identifier"].text
	license.remove("identifier")
	license.set("url", textTree(`"https://spdx.org/licenses/`+strings.Trim(string(identifier), `"`)+`.html"`))
}

// schemasTo30 converts every schema in t. Examples are values, which have no version.
func (t *tree) schemasTo30(components *ordered[*tree]) {
	if t == nil {
		return
	}
	for _, item := range t.list {
		item.schemasTo30(components)
	}
	if t.object == nil {
		return
	}
	for name, member := range t.object.all {
		if name != "example" && name != "examples" {
			member.schemasTo30(components)
		}
	}
	t.nullTypeTo30()
	t.nullBranchTo30(components)
}

// nullTypeTo30 turns {"type": ["string", "null"]} into {"type": "string", "nullable": true}.
func (t *tree) nullTypeTo30() {
	types := t.object.values["type"]
	if types == nil || len(types.list) != 2 || string(types.list[1].text) != `"null"` {
		return
	}
	t.object.values["type"] = types.list[0]
	t.object.set("nullable", textTree("true"))
}

// nullBranchTo30 turns {"anyOf": [X, {"type": "null"}]}, where X is a component, into {"type":
// "string", "allOf": [X], "nullable": true}. By the letter of 3.0.3 that does not accept null,
// because X does not. But tools read it as accepting null, and some cannot read the form that is
// right by the letter: X's enum repeated with null.
func (t *tree) nullBranchTo30(components *ordered[*tree]) {
	branches := t.object.values["anyOf"]
	if branches == nil || len(branches.list) != 2 || string(branches.list[1].appendTo(nil)) != `{"type":"null"}` {
		return
	}
	component := components.values[refName(strings.Trim(string(branches.list[0].object.values["$ref"].text), `"`))]
	t.object.remove("anyOf")
	t.object.set("type", component.object.values["type"]) // nullable has no meaning without it
	t.object.set("allOf", &tree{list: branches.list[:1]})
	t.object.set("nullable", textTree("true"))
}

// A tree is a JSON value: an object, a list, or the text of anything else; nil is null. Objects
// keep their order, because some tools write generated code in that order.
type tree struct {
	object *ordered[*tree]
	list   []*tree // not nil if the value is a list
	text   json.RawMessage
}

func textTree(text string) *tree { return &tree{text: json.RawMessage(text)} }

// UnmarshalJSON implements json.Unmarshaler.
func (t *tree) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '{':
		t.object = new(ordered[*tree])
		return json.Unmarshal(text, t.object)
	case '[':
		return json.Unmarshal(text, &t.list)
	}
	t.text = bytes.Clone(text)
	return nil
}

// appendTo appends t as JSON without white space.
func (t *tree) appendTo(b []byte) []byte {
	switch {
	case t == nil:
		return append(b, "null"...)
	case t.object != nil:
		b = append(b, '{')
		for name, member := range t.object.all {
			b = fmt.Appendf(b, "%q:", name) // names are printable: Go and JSON quote them alike
			b = append(member.appendTo(b), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), '}')
	case t.list != nil:
		b = append(b, '[')
		for _, item := range t.list {
			b = append(item.appendTo(b), ',')
		}
		return append(bytes.TrimSuffix(b, []byte(",")), ']')
	}
	return append(b, t.text...)
}

// set sets the value of name; a new name comes last.
func (o *ordered[T]) set(name string, value T) {
	if _, found := o.values[name]; !found {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

func (o *ordered[T]) remove(name string) {
	o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
	delete(o.values, name)
}
