package settings

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"shunt/engine/expect"
)

// Whatever is in the file of settings, an error has a place in it.
func TestEveryErrorOfAFileHasAPlaceInIt(t *testing.T) {
	fs := pflag.NewFlagSet("shunt", pflag.ContinueOnError)
	for _, name := range []string{
		"listen", "base-url", "flush-interval", "journal-dir", "log-format", "keep-hours", "tls-cert", "tls-key", "config",
	} {
		fs.String(name, "", "")
	}
	fs.Bool("pprof", false, "")
	fs.StringSlice("cors-origin", nil, "")
	var proxies []netip.Prefix
	fs.Var(Networks(&proxies), "trusted-proxy", "")
	known := map[string]*pflag.Flag{}
	fs.VisitAll(func(f *pflag.Flag) { known[f.Name] = f })
	read := func(text string) {
		f := &configFile{path: "shunt.toml", text: []byte(text), known: known}
		_, err := f.settings()
		usage := (UsageError{})
		expect.That(t, err == nil || errors.As(err, &usage) && strings.HasPrefix(err.Error(), "shunt.toml:"), "%q: got %q, want a usage error with a place", text, err)
	}
	for _, text := range wrongFiles {
		for i := range len(text) {
			read(text[:i])
			for _, c := range "=[]{}.\"'\n\\#\x00\xff" {
				read(text[:i] + string(c) + text[i+1:])
				read(text[:i] + string(c) + text[i:])
			}
		}
	}
}

// wrongFiles have the usual mistakes.
var wrongFiles = []string{
	"nothing of use\n",
	"",
	"# a comment\nlisten = \"127.0.0.1:0\"\nbase_url = https://sho.rt\n",
	"lisen = \"127.0.0.1:0\"\n  trusted-proxies = [\"::1\"]\nnothing-like-it = 1\n",
	"listen = \"127.0.0.1:0\"\nflush-interval = \"2s\"\nbase_url = \"http://a.b\"\nbase-url = \"http://a.b\"\n",
	"flush-interval = 5\n",
	"pprof = 1\ncors-origin = [1]\njournal-dir = 5\nlog-format = [\"text\"]\n",
	"[serve]\nlisten = \"127.0.0.1:0\"\n",
	"pprof = yes\n",
	"listen: \"127.0.0.1:0\"\n",
	"keep-hours = 99999999999999999999\n",
	"listen = \"127.0.0.1:0\n",
	"\nlisten =\n",
	"listen = \"127.0.0.1:0\" \"127.0.0.1:1\"\n",
	"tls-cert = \"none.pem\"\ntls-key = \"none.pem\"\nbase-url = \"https://sho.rt\"\n",
	"listen = \":8080\"\n",
	"config = \"cert.toml\"\n",
	"confg = \"cert.toml\"\n",
}
