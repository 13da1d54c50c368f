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
			{"url", "http://a/", "http://b/"}, {"max_hits", "none", "7"}, {"tags", "none", "x, y"}, {"title", "", "T"},
		}},
		{`{"title":"T","disabled":true}`, `{"title":""}`, []Field{{"title", "T", "empty"}, {"disabled", "true", ""}}},
		{``, `{"a":"<\u0007\""}`, []Field{{"a", "", "<\a\""}}},
		{`null`, `{}`, nil}, {`[1,2]`, `7`, nil}, {`{"a"`, `{`, nil},
		{`{"a":1,"b":`, `{"a":2}`, []Field{{"a", "1", "2"}}},
	} {
		expect.Slices(t, Of(json.RawMessage(c.before), json.RawMessage(c.after)), c.want, "%s, %s", c.before, c.after)
	}
}

func TestAListOfStringsHasNoBrackets(t *testing.T) {
	for value, want := range map[string]string{
		`["spring","sale"]`: "spring, sale", `["one"]`: "one", `[]`: "none", `[""]`: `""`, `["a, b","c"]`: `"a, b", c`, `["x "," \"y\""]`: `"x ", " \"y\""`,
		`["a",null]`: `["a",null]`, `["a",1]`: `["a",1]`, `[["a"]]`: `[["a"]]`, `{"a":["b"]}`: `{"a":["b"]}`,
	} {
		expect.Equal(t, Text(json.RawMessage(value)), want, value)
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
