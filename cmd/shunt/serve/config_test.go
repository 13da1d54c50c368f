package serve

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/expect"
)

// settingsProbe is a command tree with settings of every kind, which records what it was given.
type settingsProbe struct {
	data    core.Data
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
		RunE: func(cmd *cobra.Command, _ []string) error { return usage.LoadSettings(cmd, environ, &stderr) },
	}
	cmd.SetOut(io.Discard)
	cmd.SetArgs(args)
	core.AddDataSettings(cmd, &p.data)
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
	expect.OK(t, os.WriteFile(path, []byte(content), 0o600))
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
	expect.MustThat(t, err == nil && warnings == "", "got %v and warnings %q", err, warnings)
	expect.That(t, p.data.Listen == "127.0.0.1:3" && p.flush == 2*time.Second && p.data.BaseURL == "https://file.example" && p.pprof,
		"got listen %q (flag), flush %v (environment), base URL %q and pprof %v (file)", p.data.Listen, p.flush, p.data.BaseURL, p.pprof)
	expect.Slices(t, p.proxies, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	expect.Equal(t, p.data.Dir, core.DefaultDataDir)
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
				expect.Contains(t, err.Error(), part, "got %q", err)
			}
		})
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	for _, variable := range []string{"SHUNT_LISTEM", "SHUNT_ALIAS", "SHUNT_listen", "SHUNT_LISTEN_FILE", "SHUNT_HELP"} {
		warnings, err := new(settingsProbe).run(t, []string{variable + "=x"})
		expect.That(t, err == nil && strings.Contains(warnings, variable) && strings.Count(warnings, "\n") == 1,
			"%s: got %v and %q, want one line that names it", variable, err, warnings)
	}
}

func TestASecretIsReadFromItsFile(t *testing.T) {
	p := settingsProbe{}
	_, err := p.run(t, []string{"SHUNT_TOKEN_FILE=" + writeFile(t, "token", "shunt_abc\n")})
	expect.That(t, err == nil && p.token == "shunt_abc", "got %q, %v, want the file's content without its line end", p.token, err)
}

// A compose file gives an empty text for ${VARIABLE} if that is not set.
func TestAnEmptyVariableIsNotSet(t *testing.T) {
	p := settingsProbe{}
	environ := []string{"SHUNT_TRUSTED_PROXY=", "SHUNT_LISTEN=", "SHUNT_FLUSH_INTERVAL=", "SHUNT_PPROF=", "SHUNT_TOKEN=", "SHUNT_TOKEN_FILE=", "SHUNT_CONFIG="}
	warnings, err := p.run(t, environ)
	expect.That(t, err == nil && warnings == "" && p.data.Listen == "127.0.0.1:8080" && !p.pprof && p.token == "",
		"got %v, %q, %+v, want the defaults", err, warnings, p)
}

func TestYesAndNoAreBooleans(t *testing.T) {
	for text, want := range map[string]bool{"yes": true, "On": true, "TRUE": true, "1": true, "no": false, "OFF": false, "false": false, "0": false} {
		file := writeFile(t, "shunt.toml", `pprof = "`+text+`"`)
		for environ, args := range map[string][]string{"SHUNT_PPROF=" + text: nil, "HOME=/": {"--pprof=" + text}, "SHUNT_CONFIG=" + file: nil} {
			p := settingsProbe{pprof: !want}
			_, err := p.run(t, []string{environ}, args...)
			expect.That(t, err == nil && p.pprof == want, "%s %v: got %v, %v, want %v", environ, args, p.pprof, err, want)
		}
	}
	p := settingsProbe{}
	_, err := p.run(t, nil, "--pprof")
	expect.That(t, err == nil && p.pprof, "without a value: got %v, %v", p.pprof, err)
}
