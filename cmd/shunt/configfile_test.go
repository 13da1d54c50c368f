package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAFileFromWindowsIsReadLikeAnyOther(t *testing.T) {
	p := settingsProbe{}
	path := writeFile(t, "shunt.toml", "\ufeff# settings\r\nlisten = \"127.0.0.1:1\"\r\npprof = true\r\n")
	if warnings, err := p.run(t, nil, "--config", path); err != nil || warnings != "" || p.data.listen != "127.0.0.1:1" || !p.pprof {
		t.Errorf("got %+v, %v, %q", p, err, warnings)
	}
}

func TestAListOfTheFileIsAnArrayOrHasCommas(t *testing.T) {
	for _, text := range []string{`["10.0.0.0/8", "::1"]`, `"10.0.0.0/8,::1"`, `"10.0.0.0/8, ::1"`} {
		p := settingsProbe{}
		if _, err := p.run(t, nil, "--config", writeFile(t, "shunt.toml", "trusted-proxy = "+text)); err != nil || len(p.proxies) != 2 {
			t.Errorf("%s: got %v, %v, want two", text, p.proxies, err)
		}
	}
	p := settingsProbe{}
	if _, err := p.run(t, []string{"SHUNT_TRUSTED_PROXY=10.0.0.0/8,::1"}); err != nil || len(p.proxies) != 2 {
		t.Errorf("variable: got %v, %v, want two", p.proxies, err)
	}
	p = settingsProbe{}
	if _, err := p.run(t, nil, "--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1"); err != nil || len(p.proxies) != 2 {
		t.Errorf("flags: got %v, %v, want two", p.proxies, err)
	}
}

func TestAMisspelledVariableIsWarnedOfWithTheRightName(t *testing.T) {
	for variable, want := range map[string]string{
		"SHUNT_LISTEM": "SHUNT_LISTEN", "SHUNT_listen": "SHUNT_LISTEN", "SHUNT_DATA_DIR": "SHUNT_DATA", "SHUNT_TRUSTED_PROXIES": "SHUNT_TRUSTED_PROXY",
	} {
		warnings, err := new(settingsProbe).run(t, []string{variable + "=x"})
		text := "shunt: warning: " + variable + " is ignored: there is no such setting; did you mean " + want + "?\n"
		if err != nil || warnings != text {
			t.Errorf("got %v and %q, want %q", err, warnings, text)
		}
	}
}

// Whatever is in the file of settings, an error has a place in it.
func TestEveryErrorOfAFileHasAPlaceInIt(t *testing.T) {
	known := knownSettings(newRoot("shunt", io.Discard, io.Discard))
	read := func(text string) {
		f := &configFile{path: "shunt.toml", text: []byte(text), known: known}
		_, err := f.settings()
		if usage := (usageError{}); err != nil && (!errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "shunt.toml:")) {
			t.Errorf("%q: got %q, want a usage error with a place", text, err)
		}
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
