package changes

import (
	"encoding/json"
	"testing"

	"shunt/engine/expect"
)

func TestFieldsArePairedInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          []Field
	}{
		{`{"url":"http://a/","max_hits":null,"tags":[]}`, `{"max_hits":7,"url":"http://b/","tags":["x","y"],"title":"T"}`, []Field{
			{Name: "url", Before: "http://a/", After: "http://b/"}, {Name: "max_hits", Before: "none", BeforeWord: true, After: "7"},
			{Name: "tags", Before: "none", BeforeWord: true, After: "x, y"}, {Name: "title", After: "T"},
		}},
		{`{"title":"T","disabled":true}`, `{"title":""}`, []Field{
			{Name: "title", Before: "T", After: "empty", AfterWord: true}, {Name: "disabled", Before: "true", BeforeWord: true},
		}},
		{`{"title":"none","note":"true"}`, `{"title":null,"note":"empty"}`, []Field{
			{Name: "title", Before: "none", After: "none", AfterWord: true}, {Name: "note", Before: "true", After: "empty"},
		}},
		{`{"a":7,"b":"none"}`, `{"a":7,"b":"none"}`, []Field{{Name: "a", After: "7"}, {Name: "b", After: "none"}}},
		{``, `{"a":"<\u0007\""}`, []Field{{Name: "a", After: "<\a\""}}},
		{`null`, `{}`, nil}, {`[1,2]`, `7`, nil}, {`{"a"`, `{`, nil},
		{`{"a":1,"b":`, `{"a":2}`, []Field{{Name: "a", Before: "1", After: "2"}}},
	} {
		expect.Slices(t, Of(json.RawMessage(c.before), json.RawMessage(c.after)), c.want, "%s, %s", c.before, c.after)
	}
}

func TestAListOfStringsHasNoBrackets(t *testing.T) {
	for value, want := range map[string]string{
		`["spring","sale"]`: "spring, sale", `["one"]`: "one", `[]`: "none", `[""]`: `""`, `["a, b","c"]`: `"a, b", c`, `["x "," \"y\""]`: `"x ", " \"y\""`,
		`["a",null]`: `["a",null]`, `["a",1]`: `["a",1]`, `[["a"]]`: `[["a"]]`, `{"a":["b"]}`: `{"a":["b"]}`,
	} {
		text, _ := Text(json.RawMessage(value))
		expect.Equal(t, text, want, value)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(`{"a":1}`, `{"b":"x"}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, field := range Of(json.RawMessage(before), json.RawMessage(after)) {
			expect.That(t, field.Before != "" || field.After != "", "a field %q without values", field.Name)
		}
	})
}
