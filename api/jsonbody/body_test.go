package jsonbody

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/problem"
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
		if got := err != nil; got != lone {
			t.Errorf("%s: got %v, want refused == %v", body, err, lone)
		}
	}
}

func TestDeepNestingIsRefusedNotFollowed(t *testing.T) {
	body := `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	_, err := Object([]byte(body))
	if r, _ := problem.Of(err); r.Kind != problem.MalformedJSON {
		t.Errorf("got %v, want malformed_json", err)
	}
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
			if r, known := problem.Of(err); !known || r.Kind != problem.MalformedJSON && r.Kind != problem.Invalid {
				t.Fatalf("%q: got %v, want malformed_json or invalid", body, err)
			}
			return
		}
		if len(members) > maxMembers {
			t.Fatalf("%q: got %d members", body, len(members))
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q: taken apart, but encoding/json says %v", body, err)
		}
		got := map[string]json.RawMessage{}
		for _, m := range members {
			got[string(m.Name)] = m.Value
		}
		if len(got) != len(want) {
			t.Fatalf("%q: got %d names, want %d", body, len(got), len(want))
		}
		for name, value := range want { // if a name comes twice, the last value
			if !bytes.Equal(got[name], value) {
				t.Fatalf("%q: %q is %q, want %q", body, name, got[name], value)
			}
		}
	})
}
