package source

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// wantRejected checks that the line for a refused record is one line of JSON with its reason, which is read as what it
// has of a link.
func wantRejected(t testing.TB, r Record) {
	t.Helper()
	line := string(Rejected("links.csv:7", r.Refused, r.Rest))
	var object map[string]any
	expect.That(t, strings.Count(line, "\n") == 1 && strings.HasSuffix(line, "\n"), "got %q", line)
	err := json.Unmarshal([]byte(line), &object)
	expect.That(t, err == nil && object["refused"] == strings.ToValidUTF8(r.Refused, "\ufffd") && object["at"] == "links.csv:7", "got %q, %v", line, err)
	s, err := Open(strings.NewReader(line), int64(len(line)), Options{})
	expect.OK(t, err)
	if len(line) > maxLineBytes {
		return
	}
	again, err := s.Next()
	expect.That(t, err == nil && s.Summary().Format == Shunt, "got %+v, %v of %q", again, err, line)
	if again.Refused != "" { // there is no link
		expect.Equal(t, string(Rejected("links.csv:7", again.Refused, again.Rest)), line)
		return
	}
	var link map[string]any
	expect.That(t, json.Unmarshal(again.Link, &link) == nil, "%q is read as %q", line, again.Link)
	for _, name := range rejectedNames {
		expect.That(t, link[name] == nil, "%q is read as %q", line, again.Link)
	}
	_, err = s.Next()
	expect.Error(t, err, io.EOF)
}

func TestARejectedLineIsReadAsTheLinkAlone(t *testing.T) {
	for rest, want := range map[string][2]string{
		"":     {`{"refused":"no","at":"f:1"}`, `{}`},
		`{}`:   {`{"refused":"no","at":"f:1"}`, `{}`},
		` { }`: {`{"refused":"no","at":"f:1"}`, `{}`},
		`{"code":"a","url":"https://a.example/"}`:      {`{"refused":"no","at":"f:1","code":"a","url":"https://a.example/"}`, `{"code":"a","url":"https://a.example/"}`},
		`{"code":"a","code":"b"}`:                      {`{"refused":"no","at":"f:1","code":"a","code":"b"}`, `{"code":"a","code":"b"}`}, // it stays wrong
		`{"record":{"short":"a"},"code":"a","at":"x"}`: {`{"refused":"no","at":"f:1","record":{"short":"a"},"code":"a","at":"x"}`, `{"code":"a","at":"x"}`},
		"code,\"url":     {`{"refused":"no","at":"f:1","text":"code,\"url"}`, `{}`},
		"caf\xe9":        {`{"refused":"no","at":"f:1","text":"base64:Y2Fm6Q=="}`, `{}`},
		`{"code":`:       {`{"refused":"no","at":"f:1","text":"{\"code\":"}`, `{}`},
		`[{"code":"a"}]`: {`{"refused":"no","at":"f:1","text":"[{\"code\":\"a\"}]"}`, `{}`},
	} {
		line := Rejected("f:1", "no", []byte(rest))
		expect.Equal(t, string(line), want[0]+"\n")
		expect.Equal(t, string(linkIn(line[:len(line)-1])), want[1])
		if !strings.Contains(rest, `"at"`) { // else the server says so
			wantRejected(t, Record{Refused: "no", Rest: []byte(rest)})
		}
	}
	for _, line := range []string{`{"refused":`, `{"refused":"a"`, `{"refused":"a",`, `{"refused":}`, `{"code":"a","refused":"b"}`, "no JSON"} {
		expect.Equal(t, string(linkIn([]byte(line))), line, "a line that nobody wrote is left as it is")
	}
}

// Files of refused records are imported in the order in which they were refused.
func TestRejectedLinesKeepTheirOrder(t *testing.T) {
	text := string(Rejected("f:1", "no", []byte(`{"short_url":"x","code":"old","created_at":"2025-01-01T00:00:00Z"}`))) +
		string(Rejected("f:2", "no", []byte(`{"short_url":"x","code":"new","created_at":"2024-01-01T00:00:00Z"}`)))
	codes, refused := codesOf(t, text, Options{})
	expect.Slices(t, codes, []string{"old", "new"})
	expect.Slices(t, refused, nil)
}
