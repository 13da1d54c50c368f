package e2e

import (
	"regexp"
	"strings"
	"testing"
)

func TestRateLimitsCanBeSet(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--limit-creates=200/s:":     "the burst must be from 1 to 1000000",
		"--limit-calls=fast":         "must be off, or events/period such as 200/s",
		"--limit-logins=5/fortnight": "the period \"fortnight\"",
		"--limit-address-logins=0/s": "the number of events",
		"--limit-misses=-1/s":        "the number of events",
	} {
		flag, _, _ := strings.Cut(args, "=")
		if got := shunt(t, t.TempDir(), nil, "serve", args); got.code != exitUsage ||
			!strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, flag) {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
	p := startServer(t, t.TempDir(), "--limit-misses", "2/h")
	for i, want := range []int{404, 404, 429} {
		if got, _ := fetch(t, p.public+"/nosuchcode"); got != want {
			t.Errorf("request %d: got %d, want %d", i+1, got, want)
		}
	}
}

func TestDefaultRateLimitsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	help := shunt(t, t.TempDir(), nil, "serve", "--help").stdout
	for flag, want := range map[string]string{
		"creates": "200/s:2000", "calls": "1000/s", "logins": "5/15min", "address-logins": "20/15min", "misses": "300/min",
	} {
		if !regexp.MustCompile("(?s)--limit-" + flag + " LIMIT [^-]*\\(default " + want + "\\)").MatchString(help) {
			t.Errorf("--limit-%s: the default is not %s:\n%s", flag, want, help)
		}
	}
	p := startServer(t, t.TempDir(), "--limit-misses", "off")
	for i := range 400 {
		if got, _ := fetch(t, p.public+"/nosuchcode"); got != 404 {
			t.Fatalf("off, request %d: got %d", i+1, got)
		}
	}
}
