package mark

import (
	"net/url"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestAMarkReplacesItsLikeAndNothingElse(t *testing.T) {
	for target, want := range map[string]string{
		"https://a":                               "https://a?utm_source=x%20%26%20%C3%BC",
		"a.example/p#top":                         "a.example/p?utm_source=x%20%26%20%C3%BC#top",
		"https://a/?":                             "https://a/?utm_source=x%20%26%20%C3%BC",
		"https://a/?b=%2f+c&&d#e?f&utm_source=g":  "https://a/?b=%2f+c&&d&utm_source=x%20%26%20%C3%BC#e?f&utm_source=g",
		"https://a/?utm_source=old&b=1":           "https://a/?utm_source=x%20%26%20%C3%BC&b=1",
		"https://a/?b&utm%5Fsource=1&utm_source&": "https://a/?b&utm_source=x%20%26%20%C3%BC&",
		"https://a/?utm_sources=1":                "https://a/?utm_sources=1&utm_source=x%20%26%20%C3%BC",
		"https://a/#":                             "https://a/?utm_source=x%20%26%20%C3%BC#",
	} {
		got := Set(target, "utm_source", "x & ü")
		expect.Equal(t, got, want, "%s", target)
		expect.Equal(t, Set(got, "utm_source", "x & ü"), got, "%s: again", target)
	}
}

// FuzzSet checks that the value is read back by what reads queries, and that path and fragment stay.
func FuzzSet(f *testing.F) {
	f.Add("https://a/?x=1&utm_source=y#z", "v w")
	f.Add("?%zz", "\x00")
	f.Fuzz(func(t *testing.T, target, value string) {
		got := Set(target, "utm_source", value)
		before, fragment, _ := strings.Cut(target, "#")
		after, same, _ := strings.Cut(got, "#")
		path, _, _ := strings.Cut(before, "?")
		_, query, _ := strings.Cut(after, "?")
		expect.That(t, same == fragment && strings.HasPrefix(got, path+"?"), "%q became %q", target, got)
		values, _ := url.ParseQuery(query)
		expect.That(t, strings.Contains(query, ";") || len(values["utm_source"]) == 1 && values.Get("utm_source") == value, "%q became %q", target, got)
	})
}
