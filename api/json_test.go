package api

import (
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/problem"
	"shunt/engine/expect"
)

// POST /session needs no token, and an answer twenty times as large as its body would help whoever
// floods the server.
func TestABodyOfUnknownFieldsGetsAShortAnswer(t *testing.T) {
	st := newSite(t, nil)
	const maxMembers = 64 // of an object
	for fields, want := range map[int]int{problem.MaxErrors: problem.MaxErrors, maxMembers: problem.MaxErrors, maxMembers + 1: 1, 13_000: 1} {
		body := `{"":0` + strings.Repeat(`,"":0`, fields-1) + `}`
		for _, path := range []string{"/session", "/shorten"} {
			r := st.call("POST", path, body)
			var p problem.Body
			if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != 422 || len(p.Errors) != want {
				t.Errorf("%s, %d fields: got %d, %v and %d errors, want 422 and %d", path, fields, r.status, err, len(p.Errors), want)
			}
			expect.That(t, len(r.body) <= 4<<10, "%s, %d fields: got %d bytes", path, fields, len(r.body))
		}
	}
}
