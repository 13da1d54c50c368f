package e2e

import (
	"regexp"
	"testing"

	"shunt/engine/expect"
)

func TestRateLimitsCanBeSet(t *testing.T) {
	t.Parallel()
	p := startServer(t, t.TempDir(), "--limit-misses", "2/h")
	for i, want := range []int{404, 404, 429} {
		got, _ := fetch(t, p.public+"/nosuchcode")
		expect.Equal(t, got, want, "request %d", i+1)
	}
}

func TestDefaultRateLimitsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	help := shunt(t, t.TempDir(), nil, "serve", "--help").stdout
	for flag, want := range map[string]string{
		"creates": "200/s:2000", "calls": "1000/s", "logins": "5/15min", "address-logins": "20/15min", "misses": "300/min",
	} {
		expect.That(t, regexp.MustCompile("(?s)--limit-"+flag+" LIMIT [^-]*\\(default "+want+"\\)").MatchString(help),
			"--limit-%s: the default is not %s:\n%s", flag, want, help)
	}
	p := startServer(t, t.TempDir(), "--limit-misses", "off")
	for i := range 400 {
		got, _ := fetch(t, p.public+"/nosuchcode")
		expect.MustEqual(t, got, 404, "off, request %d", i+1)
	}
}
