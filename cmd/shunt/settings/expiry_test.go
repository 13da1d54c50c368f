package settings

import (
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestExpiriesAreSpansOrTimes(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	newYork, err := time.LoadLocation("America/New_York")
	expect.OK(t, err)
	for text, want := range map[string]string{
		"1d": "2026-02-01T12:00:00Z", "90m": "2026-01-31T13:30:00Z", "2030-12-31": "2031-01-01T04:59:59Z", "2026-01-31": "2026-02-01T04:59:59Z",
		"2w": "2026-02-14T12:00:00Z", "1y": "2027-01-31T12:00:00Z", "1d12h": "2026-02-02T00:00:00Z", "1y2w3d4h5m6s": "2027-02-17T16:05:06Z",
		"2030-12-31t23:59z":         "2030-12-31T23:59:00Z",
		"2030-12-31T23:59:59+01:00": "2030-12-31T22:59:59Z",
		"":                          "", "0d": "", "-1d": "", "d": "", "-1h": "", "0s": "", "99999999d": "", "tomorrow": "", "2030": "", "1d1w": "", "1d2d": "", "1dd": "", "12hd": "", "9000y": "", "1.5d": "", "d12h": "", "1d-2h": "",
	} {
		got, err := ParseExpiry(text, now, newYork)
		if err != nil && want == "" {
			continue
		}
		expect.That(t, err == nil && got.Format(time.RFC3339) == want, "%q: got %v, %v, want %q", text, got, err, want)
	}
}

func TestBoundsAreDaysTimesOrSpansBefore(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string][2]string{
		"7d":                {"2026-01-24T12:00:00Z", "2026-01-24T12:00:00Z"},
		"1d12h":             {"2026-01-30T00:00:00Z", "2026-01-30T00:00:00Z"},
		"now":               {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"},
		"today":             {"2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"},
		"yesterday":         {"2026-01-30T00:00:00Z", "2026-01-31T00:00:00Z"},
		"2025-11-01":        {"2025-11-01T00:00:00Z", "2025-11-02T00:00:00Z"},
		"2025-11-01T12:00Z": {"2025-11-01T12:00:00Z", "2025-11-01T12:00:00Z"},
		"tomorrow":          {},
		"-7d":               {},
		"2025-11":           {},
	} {
		for i, parse := range []func(string, time.Time) (time.Time, error){ParseBegin, ParseEnd} {
			got, err := parse(text, now)
			if err != nil && want[i] == "" {
				continue
			}
			expect.That(t, err == nil && got.Format(time.RFC3339) == want[i], "%q: got %v, %v, want %q", text, got, err, want[i])
		}
	}
}
