package ops

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"shunt/api/when"
	"shunt/engine/expect"
)

func FuzzReadMoment(f *testing.F) {
	for _, s := range []string{"2026-11-21", "2026-11-21T12:00:00Z", "2026-11-21T12:00:00 02:00", "0000-01-01", "9999-12-31T23:59:59-23:59"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := readMoment(s, when.Begin)
		if err != nil {
			return
		}
		text, err := json.Marshal(m)
		expect.MustThat(t, err == nil && m.Location() == time.UTC, "%q: %v, %v", s, m, err)
		again, err := readMoment(strings.Trim(string(text), `"`), when.Begin)
		expect.That(t, err == nil && again.Equal(m), "%q became %s, and that %v, %v", s, text, again, err)
	})
}
