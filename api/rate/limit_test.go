package rate

import (
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestALimitIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Limit{
		"off":             {},
		"200/s":           {200, time.Second, 200},
		"200/s:2000":      {200, time.Second, 2000},
		"5/15min":         {5, 15 * time.Minute, 5},
		"1/d:1":           {1, 24 * time.Hour, 1},
		"1000000/h":       {1_000_000, time.Hour, 1_000_000},
		"7/90s:3":         {7, 90 * time.Second, 3},
		"300/min:1000000": {300, time.Minute, MaxBurst},
	} {
		got, err := Parse(text)
		expect.That(t, err == nil && got == want, "%s: got %+v, %v, want %+v", text, got, err, want)
		again, err := Parse(got.String())
		expect.That(t, err == nil && again == want, "%s is written %s, and read as %+v, %v", text, got, again, err)
	}
	for text, want := range map[string]string{"5/15m": "5/15min", "60/60s": "60/min", "2/24h:2": "2/d"} {
		got, err := Parse(text)
		expect.That(t, err == nil && got.String() == want, "%s: got %s, %v, want %s", text, got, err, want)
	}
}

func TestAnInvalidLimitIsRefusedWithAReason(t *testing.T) {
	for text, want := range map[string]string{
		"":               "200/s",
		"200":            "200/s",
		"OFF":            "200/s",
		"/s":             "number of events",
		"0/s":            "number of events must be from 1 to 1000000",
		"1000001/s":      "number of events must be from 1 to 1000000",
		"-1/s":           "number of events",
		"1.5/s":          "number of events",
		" 1/s":           "number of events",
		"1/":             "the period",
		"1/fortnight":    `the period "fortnight" must be a number of s, min, h or d`,
		"1/ms":           "the period",
		"1/0s":           "the period must be from 1 to 86400 s",
		"1/25h":          "the period must be from 1 to 24 h",
		"1/99999999999s": "the period must be from 1",
		"1/s:":           "the burst must be from 1 to 1000000",
		"1/s:0":          "the burst",
		"1/s:1000001":    "the burst",
		"1/s:2:3":        "the burst",
	} {
		got, err := Parse(text)
		expect.That(t, err != nil && strings.Contains(err.Error(), want) && got == (Limit{}), "%q: got %+v, %v, want an error with %q", text, got, err, want)
	}
}

func TestAQuotaIsABurstAndItsWindow(t *testing.T) {
	for text, want := range map[string][2]int{
		"200/s:2000": {2000, 10}, "1000/s": {1000, 1}, "5/15min": {5, 900}, "300/min": {300, 60}, "3/s:1": {1, 1}, "1000000/d": {1_000_000, 86400},
	} {
		l, err := Parse(text)
		expect.OK(t, err)
		q, w := l.Quota()
		expect.That(t, q == want[0] && w == want[1], "%s: got %d in %d s, want %v", text, q, w, want)
	}
}
