package main

import (
	"testing"
	"time"
)

func TestExpiriesAreSpansOrTimes(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"1d": "2026-02-01T12:00:00Z", "90m": "2026-01-31T13:30:00Z", "2030-12-31": "2030-12-31T00:00:00Z",
		"2030-12-31T23:59:59+01:00": "2030-12-31T22:59:59Z",
		"":                          "", "0d": "", "-1d": "", "d": "", "-1h": "", "0s": "", "99999999d": "", "tomorrow": "", "2030": "",
	} {
		got, err := parseExpiry(text, now)
		if err != nil && want == "" {
			continue
		}
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestTheCodeIsTakenOutOfAShortAddress(t *testing.T) {
	for text, want := range map[string]string{
		"spring": "spring", "https://sho.rt/spring": "spring", "https://sho.rt/spring/": "spring", "http://[::1]:80/a-b_C": "a-b_C", "a/b": "a/b", "": "",
	} {
		if got := codeOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestShellQuoteLeavesPlainWordsAlone(t *testing.T) {
	for word, want := range map[string]string{
		"./shunt-data": "./shunt-data", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'", "ü": "'ü'", "a\nb": "'a\nb'",
	} {
		if got := shellQuote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
