package page

import (
	"testing"

	"shunt/engine/expect"
)

func TestJSONIsPreferredOnlyWhenItIsNamed(t *testing.T) {
	for accept, want := range map[string]bool{
		"":    false,
		"*/*": false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"application/json":                  true,
		"Application/JSON; charset=utf-8":   true,
		"application/problem+json":          true,
		"application/json, text/plain, */*": true,
		"application/json;q=0.5, text/html": false,
		"application/json, text/html":       false,
		"application/json, text/html;q=0.9": true,
		"application/json;q=0":              false,
		"application/json;q=2":              false,
		"application/json;q=NaN":            false,
		"application/jsonx":                 false,
		";;;,,,q=":                          false,
	} {
		expect.Equal(t, PrefersJSON([][]byte{[]byte(accept)}), want, "Accept: %s", accept)
	}
}

func TestCSVIsPreferredOnlyStrictly(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "text/csv": true, "Text/CSV;header=present": true, "text/csv, */*": true,
		"application/json, text/csv": false, "application/json;q=0.5, text/csv;q=0.8": true, "text/csv;q=0": false,
	} {
		expect.Equal(t, PrefersCSV([][]byte{[]byte(accept)}), want, "Accept: %s", accept)
	}
}
