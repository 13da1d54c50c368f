package kutt

import (
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestASpanIsReadAsNpmReadsIt(t *testing.T) {
	const format, short, long = "Expire format is invalid. Valid examples: 1m, 8h, 42 days.", "Expire time should be more than 1 minute.", "Expire time should be less than 100 years."
	for text, want := range map[string]time.Duration{
		"2 minutes": 2 * time.Minute, "1m": time.Minute, "60s": time.Minute, "60000": time.Minute, "8h": 8 * time.Hour, "42 days": 42 * day, " 1.5 Hours ": 90 * time.Minute,
		".5d": 12 * time.Hour, "1 week": 7 * day, "1y": year, "90 SECS": 90 * time.Second, "100 years": 100 * year,
	} {
		got, wrong := parseSpan(text)
		expect.That(t, got == want && wrong == "", "%q: got %v %q, want %v", text, got, wrong, want)
	}
	for text, want := range map[string]string{
		"": format, "m": format, "-1h": format, "1 month": format, "1e9h": format, "1h 5m": format, "0x10": format, "١h": format, "1.": format, "9999999999": format,
		"0": short, "59s": short, "59999": short, "101y": long, "999999999.9 years": long,
	} {
		got, wrong := parseSpan(text)
		expect.That(t, got == 0 && wrong == want, "%q: got %v %q, want %q", text, got, wrong, want)
	}
}

func TestASpanIsShownRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", time.Second: "1 second", 89 * time.Second: "1 minute", 90 * time.Second: "2 minutes", 23 * time.Hour: "23 hours", 36 * time.Hour: "2 days", year: "365 days",
	} {
		expect.Equal(t, spanText(d), want, d.String())
	}
}

// FuzzSpan reads any text as a span: it is within the bounds, or refused.
func FuzzSpan(f *testing.F) {
	for _, text := range []string{"2 minutes", "1.5h", "0", "999999999 years", "."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, wrong := parseSpan(text)
		expect.That(t, (wrong == "") == (d != 0) && (d == 0 || minSpan <= d && d <= maxSpan), "%q: got %v %q", text, d, wrong)
	})
}
