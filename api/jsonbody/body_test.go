package jsonbody

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/problem"
	"shunt/engine/expect"
)

func TestHalfACharacterIsMalformed(t *testing.T) {
	for body, lone := range map[string]bool{
		`{"a":"\ud83c\udf55"}`:   false,
		`{"a":"\uD83C\uDF55 x"}`: false,
		`{"a":"\\ud83c"}`:        false,
		`{"a":"\u00e9\ufffd"}`:   false,
		`{"a":"\ud83c"}`:         true,
		`{"a":"\udf55"}`:         true,
		`{"a":"\ud83c\ud83c"}`:   true,
		`{"a":"\ud83cx"}`:        true,
		`{"\ud83c":1}`:           true,
	} {
		_, err := Object([]byte(body))
		got := err != nil
		expect.That(t, got == lone, "%s: got %v, want refused == %v", body, err, lone)
	}
}

func TestDeepNestingIsRefusedNotFollowed(t *testing.T) {
	body := `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	_, err := Object([]byte(body))
	r, _ := problem.Of(err)
	expect.Equal(t, r.Kind, problem.MalformedJSON, "got %v", err)
}

// FuzzObject checks that any text is an object or refused, and that its members are those that
// encoding/json reads.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"url":"http://a"}`, `{"a":1,"a":2}`, `[1]`, `{"a":{"b":[null]}} x`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		members, err := Object(body)
		if err != nil {
			r, known := problem.Of(err)
			expect.MustThat(t, known && (r.Kind == problem.MalformedJSON || r.Kind == problem.Invalid), "%q: got %v, want malformed_json or invalid", body, err)
			return
		}
		expect.MustThat(t, len(members) <= maxMembers, "%q: got %d members", body, len(members))
		var want map[string]json.RawMessage
		expect.OK(t, json.Unmarshal(body, &want), "%q: taken apart, but encoding/json says", body)
		got := map[string]json.RawMessage{}
		for _, m := range members {
			got[string(m.Name)] = m.Value
		}
		expect.MustEqual(t, len(got), len(want), "%q names", body)
		for name, value := range want { // if a name comes twice, the last value
			expect.MustThat(t, bytes.Equal(got[name], value), "%q: %q is %q, want %q", body, name, got[name], value)
		}
	})
}
