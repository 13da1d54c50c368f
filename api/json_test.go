package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/problem"
	"shunt/engine"
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
		_, err := parseObject([]byte(body))
		if got := err != nil; got != lone {
			t.Errorf("%s: got %v, want refused == %v", body, err, lone)
		}
	}
}

func TestDeepNestingIsRefusedNotFollowed(t *testing.T) {
	body := `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	_, err := parseObject([]byte(body))
	if r, _ := problem.Of(err); r.Kind != problem.MalformedJSON {
		t.Errorf("got %v, want malformed_json", err)
	}
}

// Nobody needs a token for POST /session, and an answer twenty times as large as the body would be a gift to whoever floods.
func TestABodyOfUnknownFieldsGetsAShortAnswer(t *testing.T) {
	st := newSite(t, nil)
	for fields, want := range map[int]int{problem.MaxErrors: problem.MaxErrors, maxMembers: problem.MaxErrors, maxMembers + 1: 1, 13_000: 1} {
		body := `{"":0` + strings.Repeat(`,"":0`, fields-1) + `}`
		for _, path := range []string{"/session", "/shorten"} {
			r := st.call("POST", path, body)
			var p problem.Body
			if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != 422 || len(p.Errors) != want {
				t.Errorf("%s, %d fields: got %d, %v and %d errors, want 422 and %d", path, fields, r.status, err, len(p.Errors), want)
			}
			if len(r.body) > 4<<10 {
				t.Errorf("%s, %d fields: got %d bytes", path, fields, len(r.body))
			}
		}
	}
}

// Whatever comes: an object or a refusal, never anything else; and what is taken apart is what encoding/json would read.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"url":"http://a"}`, `{"a":1,"a":2}`, `[1]`, `{"a":{"b":[null]}} x`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		members, err := parseObject(body)
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
			got[m.name] = m.value
		}
		if len(got) != len(want) {
			t.Fatalf("%q: got %d names, want %d", body, len(got), len(want))
		}
		for name, value := range want { // of a name that comes twice, the last
			if !bytes.Equal(got[name], value) {
				t.Fatalf("%q: %q is %q, want %q", body, name, got[name], value)
			}
		}
	})
}

// FuzzShortenFields: no value of any field brings a reader down, and what it takes is within the contract.
func FuzzShortenFields(f *testing.F) {
	for _, seed := range []string{`"http://a"`, `301`, `["a","b"]`, `"2030-01-01T00:00:00Z"`, `true`, `1e3`, `-1`, `{}`, `["",null]`} {
		for name := range createFields {
			f.Add(name, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		read, known := createFields[name]
		if !known || !json.Valid(value) {
			return
		}
		var r askedLink
		if err := read(&r, value); err != nil {
			return
		}
		if len(r.Title) > engine.MaxTitleBytes || len(r.Tags) > engine.MaxTags || len(r.Target) > engine.MaxTargetBytes ||
			(name == "max_hits" && r.MaxHits == 0) || (name == "alias" && !engine.ValidCode([]byte(r.Alias))) {
			t.Fatalf("%s %s: taken as %+v", name, value, r.Draft)
		}
	})
}
