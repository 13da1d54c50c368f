package e2e

import (
	"regexp"
	"testing"
)

func TestRateLimitsCanBeSet(t *testing.T) {
	t.Parallel()
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
