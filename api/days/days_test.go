package days_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"shunt/api/days"
	"shunt/engine/expect"
)

// Whatever is accepted can be stored, is of no later day, and is written as it is read.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`[]`, `7`, `[{"day":"2026-03-01","hits":12},{"hits":3,"day":"2026-02-28"}]`, `[{"day":"2026-03-01","hits":0}]`, `[{"day":"2026-03-01","hits":1},{"day":"2026-03-01","hits":1}]`,
		`[{"day":"9999-12-31","hits":9007199254740992}]`, `[[]]`, `[{"day":"2026-03-01"}]`,
	} {
		f.Add([]byte(text), uint32(20_600))
	}
	f.Fuzz(func(t *testing.T, text []byte, today uint32) {
		if text = bytes.TrimSpace(text); !json.Valid(text) {
			return // bodies were read as JSON before
		}
		p, err := days.Read(text, today)
		if err != nil {
			return
		}
		expect.OK(t, p.Check())
		all := slices.Collect(p.All())
		for _, d := range all {
			expect.That(t, d.Day <= today, "day %d is accepted on day %d", d.Day, today)
		}
		again, err := days.Read(days.Append(nil, all), today)
		expect.That(t, err == nil && again == p, "%q became %q, %v", text, days.Append(nil, all), err)
	})
}
