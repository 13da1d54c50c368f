package jsonbody

import (
	"strings"
	"testing"

	"shunt/api/problem"
	"shunt/engine/expect"
)

func TestAMalformedBodySaysWhereItIs(t *testing.T) {
	const object = "the body must be one JSON object in UTF-8; "
	for text, want := range map[string]string{
		"{\n  \"url\": \"http://a/\",\n}": object + "line 3, column 1: invalid character '}' looking for beginning of object key string",
		`{"a":1} {}`:                      object + "line 1, column 9: invalid character '{' after top-level value",
		`{'a':1}`:                         object + `line 1, column 2: invalid character '\'' looking for beginning of object key string`,
		"{\"ä\":\n\"ö\",x":                object + "line 2, column 5: invalid character 'x' looking for beginning of object key string",
		`{"a":"b"`:                        object + "line 1, column 9: it ends too early",
		"{\"a\":\"\xff\"}":                object + "line 1, column 7: the byte 0xff is not UTF-8",
		"{\"a\":\"\xff\",}":               object + "line 1, column 7: the byte 0xff is not UTF-8",
		"{,\"a\":\"\xff\"}":               object + "line 1, column 2: invalid character ',' looking for beginning of object key string",
		`{"a":"b\ud800"}`:                 object + "line 1, column 8: a \\u escape that is half of a character",
		"\ufeff{\"a\"}":                   object + "line 1, column 5: invalid character '}' after object key",
		"":                                "the body must be one JSON object in UTF-8, and it is empty",
		"\ufeff \n":                       "the body must be one JSON object in UTF-8, and it is empty",
		"\ufeff\ufeff{}":                  object + "line 1, column 1: invalid character 'ï' looking for beginning of value",
		"\x1f\x8b\x08\x00\x00":            "gzip is not accepted: send the body as it is, not compressed",
		"\x28\xb5\x2f\xfd\x00":            "zstd is not accepted: send the body as it is, not compressed",
		strings.Repeat("[", 20_000):       object + "line 1, column 10001: invalid character '[' exceeded max depth",
	} {
		_, err := Object([]byte(text))
		p, _ := problem.Of(err)
		expect.That(t, p.Kind == problem.MalformedJSON && p.Detail == want, "%.40q: got %v\nwant %s", text, err, want)
	}
	for text, want := range map[string]string{
		"[{}\n,]":      "the body must be one JSON array in UTF-8; line 2, column 2: invalid character ']' looking for beginning of value",
		"\x1f\x8b\x08": "gzip is not accepted: send the body as it is, not compressed",
	} {
		_, err := Body{MediaType: []byte(JSON), Text: []byte(text)}.Items(9)
		p, _ := problem.Of(err)
		expect.That(t, p.Kind == problem.MalformedJSON && p.Detail == want, "%.40q: got %v\nwant %s", text, err, want)
	}
}

func TestCompressedLinesAreRefusedAsAWhole(t *testing.T) {
	_, err := Body{MediaType: []byte(NDJSON[0]), Text: []byte("\x1f\x8b\n\n{}")}.Items(9)
	p, _ := problem.Of(err)
	expect.That(t, p.Kind == problem.MalformedJSON && strings.HasPrefix(p.Detail, "gzip is not accepted"), "got %v", err)
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	members, err := Object([]byte("\ufeff {\"a\":1}"))
	expect.That(t, err == nil && len(members) == 1 && string(members[0].Name) == "a", "an object: got %v, %v", members, err)
	for mediaType, text := range map[string]string{JSON: "\ufeff[{},{}]", NDJSON[0]: "\ufeff{}\n{}\n"} {
		items, err := Body{MediaType: []byte(mediaType), Text: []byte(text)}.Items(9)
		expect.That(t, err == nil && len(items) == 2 && string(items[0]) == "{}", "%s: got %q, %v", mediaType, items, err)
	}
}
