package settings

import (
	"testing"

	"shunt/engine/expect"
)

func TestTheNameThatWasMeantIsSuggested(t *testing.T) {
	names := []string{"admin-listen", "base-url", "data", "listen", "log-format", "log-level", "pprof", "tls-cert", "tls-key", "trusted-proxy"}
	for text, want := range map[string][]string{
		"lisen": {"listen"}, "listne": {"listen"}, "LISTEN": {"listen"}, "base_url": {"base-url"}, "baseurl": {"base-url"},
		"trusted-proxies": {"trusted-proxy"}, "trusted": {"trusted-proxy"}, "listen-address": {"listen"}, "tls-crt": {"tls-cert"},
		"port": {"listen"}, "debug": {"log-level"}, "domain": {"base-url"}, "log": nil, "zzz": nil, "": nil, "redirect": nil,
		"tls-ket": {"tls-key"}, "log-forma": {"log-format"},
	} {
		expect.Slices(t, nearest(text, names), want, "%q", text)
	}
	got := nearest("port", []string{"data"})
	expect.That(t, got == nil, "got %q, want nothing that there is not", got)
}

func TestADistanceIsTheSameFromBothEnds(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "bc", 1}, {"kitten", "sitting", 3}} {
		got, back := editDistance(c.a, c.b), editDistance(c.b, c.a)
		expect.That(t, got == c.want && back == c.want, "%q and %q: got %d and %d, want %d", c.a, c.b, got, back, c.want)
	}
}
