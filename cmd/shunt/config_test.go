package main

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/cmd/shunt/settings"

	"github.com/spf13/cobra"
)

// settingsProbe is a command tree with settings of every kind, which records what it was given.
type settingsProbe struct {
	data    dataSettings
	flush   time.Duration
	proxies []netip.Prefix
	token   string
	alias   string
	pprof   bool
}

func (p *settingsProbe) run(t *testing.T, environ []string, args ...string) (warnings string, err error) {
	t.Helper()
	var stderr strings.Builder
	cmd := &cobra.Command{
		Use: "probe", SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return loadSettings(cmd, environ, &stderr) },
	}
	cmd.SetOut(io.Discard)
	cmd.SetArgs(args)
	addDataSettings(cmd, &p.data)
	fs := cmd.Flags()
	settings.Var(fs, &p.flush, "flush-interval", "DURATION", "1s", "", parseFlushInterval)
	fs.Var(settings.Networks(&p.proxies), "trusted-proxy", "")
	fs.StringVar(&p.token, "token", "", "")
	settings.MarkSecret(fs, "token")
	settings.BoolVar(fs, &p.pprof, "pprof", "")
	fs.StringVar(&p.alias, "alias", "", "")
	settings.MarkArguments(fs, "alias")
	err = cmd.Execute()
	return stderr.String(), err
}

func writeFile(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFlagBeatsTheEnvironmentWhichBeatsTheFile(t *testing.T) {
	path := writeFile(t, "shunt.toml", `
listen = "127.0.0.1:1"
base_url = "https://FILE.example/"
flush-interval = "3s"
pprof = true
trusted-proxy = ["10.1.2.3/8", "::1"]
`)
	p := settingsProbe{}
	environ := []string{"SHUNT_LISTEN=127.0.0.1:2", "SHUNT_FLUSH_INTERVAL=2s", "SHUNT_CONFIG=" + path, "HOME=/root"}
	warnings, err := p.run(t, environ, "--listen", "127.0.0.1:3")
	if err != nil || warnings != "" {
		t.Fatalf("got %v and warnings %q", err, warnings)
	}
	if p.data.listen != "127.0.0.1:3" || p.flush != 2*time.Second || p.data.baseURL != "https://file.example" || !p.pprof {
		t.Errorf("got listen %q (flag), flush %v (environment), base URL %q and pprof %v (file)",
			p.data.listen, p.flush, p.data.baseURL, p.pprof)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if !slices.Equal(p.proxies, want) {
		t.Errorf("got trusted proxies %v, want %v", p.proxies, want)
	}
	if p.data.dataDir != defaultDataDir {
		t.Errorf("got data %q, want the default", p.data.dataDir)
	}
}

func TestBadSettingsAreUsageErrorsThatNameTheirSource(t *testing.T) {
	toml := func(content string) []string { return []string{"SHUNT_CONFIG=" + writeFile(t, "shunt.toml", content)} }
	for name, c := range map[string]struct {
		environ []string
		want    []string
	}{
		"a bad value in the environment":   {[]string{"SHUNT_FLUSH_INTERVAL=soon"}, []string{"SHUNT_FLUSH_INTERVAL: ", "soon"}},
		"a bad value in the file":          {toml(`listen = "8080"`), []string{"shunt.toml:1:1: listen: ", "host:port"}},
		"a wrong type in the file":         {toml(`flush-interval = 5`), []string{"shunt.toml:1:1: flush-interval: "}},
		"two bad values":                   {[]string{"SHUNT_BASE_URL=sho.rt", "SHUNT_PPROF=maybe"}, []string{"SHUNT_BASE_URL: ", "SHUNT_PPROF: "}},
		"an unknown key":                   {toml("listem = 1"), []string{`"listem"`, "shunt.toml"}},
		"an unknown table":                 {toml("[serve]\nlisten = 1"), []string{"shunt.toml:1:2: [serve] "}},
		"an argument of one call":          {toml(`alias = "a"`), []string{`"alias"`}},
		"a file that names another file":   {toml(`config = "other.toml"`), []string{`"config"`}},
		"a key in both spellings":          {toml("base_url = \"http://a.b\"\nbase-url = \"http://a.b\""), []string{"base-url", "twice"}},
		"no TOML":                          {toml("listen: here"), []string{"shunt.toml"}},
		"a missing file":                   {[]string{"SHUNT_CONFIG=/does/not/exist"}, []string{"--config", "/does/not/exist"}},
		"a secret given twice":             {[]string{"SHUNT_TOKEN=a", "SHUNT_TOKEN_FILE=" + writeFile(t, "token", "b")}, []string{"SHUNT_TOKEN", "SHUNT_TOKEN_FILE"}},
		"a missing file of a secret":       {[]string{"SHUNT_TOKEN_FILE=/does/not/exist"}, []string{"SHUNT_TOKEN_FILE", "/does/not/exist"}},
		"a secret's file that is endless":  {[]string{"SHUNT_TOKEN_FILE=/dev/zero"}, []string{"SHUNT_TOKEN_FILE", "4096"}},
		"a network that is none":           {[]string{"SHUNT_TRUSTED_PROXY=10.0.0.0/8,proxy"}, []string{"SHUNT_TRUSTED_PROXY: ", `"proxy"`}},
		"a base URL with a bad host":       {[]string{"SHUNT_BASE_URL=https://sho..rt"}, []string{"SHUNT_BASE_URL: ", "host"}},
		"a base URL with a path":           {[]string{"SHUNT_BASE_URL=https://sho.rt/go"}, []string{"SHUNT_BASE_URL: ", "origin"}},
		"a word that is none of the words": {[]string{"SHUNT_PRIVATE_TARGETS=yes"}, []string{"SHUNT_PRIVATE_TARGETS: ", "refuse"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := new(settingsProbe).run(t, c.environ)
			if usage := (settings.UsageError{}); !errors.As(err, &usage) {
				t.Fatalf("got %v, want a usage error", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want %q in it", err, part)
				}
			}
		})
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	for _, variable := range []string{"SHUNT_LISTEM", "SHUNT_ALIAS", "SHUNT_listen", "SHUNT_LISTEN_FILE", "SHUNT_HELP"} {
		warnings, err := new(settingsProbe).run(t, []string{variable + "=x"})
		if err != nil || !strings.Contains(warnings, variable) || strings.Count(warnings, "\n") != 1 {
			t.Errorf("%s: got %v and %q, want one line that names it", variable, err, warnings)
		}
	}
}

func TestASecretIsReadFromItsFile(t *testing.T) {
	p := settingsProbe{}
	if _, err := p.run(t, []string{"SHUNT_TOKEN_FILE=" + writeFile(t, "token", "shunt_abc\n")}); err != nil || p.token != "shunt_abc" {
		t.Errorf("got %q, %v, want the file's content without its line end", p.token, err)
	}
}

func TestTheBaseURLFollowsOnlyFromALoopbackAddress(t *testing.T) {
	for name, c := range map[string]struct{ listen, baseURL, actual, want string }{
		"the default":               {"127.0.0.1:8080", "", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		"a port that was drawn":     {"127.0.0.1:0", "", "127.0.0.1:4711", "http://127.0.0.1:4711"},
		"IPv6":                      {"[::1]:8080", "", "[::1]:8080", "http://[::1]:8080"},
		"localhost":                 {"localhost:8080", "", "127.0.0.1:8080", "http://localhost:8080"},
		"port 80":                   {"127.0.0.1:80", "", "127.0.0.1:80", "http://127.0.0.1"},
		"given":                     {"127.0.0.1:8080", "https://sho.rt", "127.0.0.1:8080", "https://sho.rt"},
		"given, every address":      {":8080", "https://sho.rt", "[::]:8080", "https://sho.rt"},
		"every address":             {":8080", "", "[::]:8080", ""},
		"an address of the network": {"192.168.1.5:8080", "", "192.168.1.5:8080", ""},
		"a name":                    {"sho.rt:8080", "", "192.0.2.1:8080", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := dataSettings{listen: c.listen, baseURL: c.baseURL}
			got, err := s.resolveBaseURL(c.actual)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "--base-url") {
				t.Errorf("got %q, want it to name the flag", err)
			}
		})
	}
}

func TestAServerWithoutASchemeIsHTTPSUnlessLocal(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "localhost": "http://localhost", "[::1]:8080": "http://[::1]:8080", "sho.rt": "https://sho.rt",
		"10.0.0.1:8080/": "https://10.0.0.1:8080", "http://sho.rt": "http://sho.rt", "ftp://sho.rt": "", "": "", "sho.rt/x": "",
	} {
		got, err := new(localTarget).parseServer(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestABaseURLDoesNotNameThePortOfItsScheme(t *testing.T) {
	for text, want := range map[string]string{
		"https://sho.rt:443/": "https://sho.rt", "http://sho.rt:80": "http://sho.rt", "HTTPS://Sho.rt:443": "https://sho.rt", "https://[::1]:443": "https://[::1]",
		"https://sho.rt:80": "https://sho.rt:80", "http://sho.rt:443": "http://sho.rt:443", "http://sho.rt:8080": "http://sho.rt:8080",
	} {
		if got, err := parseOrigin(text); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %s", text, got, err, want)
		}
	}
}

// A compose file gives an empty text for ${VARIABLE} if that is not set.
func TestAnEmptyVariableIsNotSet(t *testing.T) {
	p := settingsProbe{}
	environ := []string{"SHUNT_TRUSTED_PROXY=", "SHUNT_LISTEN=", "SHUNT_FLUSH_INTERVAL=", "SHUNT_PPROF=", "SHUNT_TOKEN=", "SHUNT_TOKEN_FILE=", "SHUNT_CONFIG="}
	warnings, err := p.run(t, environ)
	if err != nil || warnings != "" || p.data.listen != "127.0.0.1:8080" || p.pprof || p.token != "" {
		t.Errorf("got %v, %q, %+v, want the defaults", err, warnings, p)
	}
}

func TestYesAndNoAreBooleans(t *testing.T) {
	for text, want := range map[string]bool{"yes": true, "On": true, "TRUE": true, "1": true, "no": false, "OFF": false, "false": false, "0": false} {
		file := writeFile(t, "shunt.toml", `pprof = "`+text+`"`)
		for environ, args := range map[string][]string{"SHUNT_PPROF=" + text: nil, "HOME=/": {"--pprof=" + text}, "SHUNT_CONFIG=" + file: nil} {
			p := settingsProbe{pprof: !want}
			if _, err := p.run(t, []string{environ}, args...); err != nil || p.pprof != want {
				t.Errorf("%s %v: got %v, %v, want %v", environ, args, p.pprof, err, want)
			}
		}
	}
	p := settingsProbe{}
	if _, err := p.run(t, nil, "--pprof"); err != nil || !p.pprof {
		t.Errorf("without a value: got %v, %v", p.pprof, err)
	}
}
