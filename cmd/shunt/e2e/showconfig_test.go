package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shunt/cmd/shunt/certs/certtest"
)

// shownSettings returns the output of `shunt config --json`.
func shownSettings(t *testing.T, environ []string, args ...string) map[string]struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
	Secret bool   `json:"secret"`
} {
	t.Helper()
	shown := map[string]struct {
		Value  any    `json:"value"`
		Source string `json:"source"`
		Secret bool   `json:"secret"`
	}{}
	r := shunt(t, t.TempDir(), environ, append([]string{"config", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil || r.code != exitDone || r.stderr != "" {
		t.Fatalf("%v: %+v", err, r)
	}
	return shown
}

func TestConfigShowsSettingsInForceAndTheirSources(t *testing.T) {
	path := writeFile(t, "shunt.toml", "# mine\nkeep_hours = 24\n  trusted-proxy = [\"10.1.2.3/8\", \"::1\"]\nlisten = \"127.0.0.1:1\"\nserver = \"https://sho.rt\"\n")
	environ := []string{"SHUNT_CONFIG=" + path, "SHUNT_LISTEN=127.0.0.1:2", "SHUNT_FLUSH_INTERVAL=2s", "SHUNT_TOKEN=shunt_secret"}
	shown := shownSettings(t, environ, "--flush-interval", "3s", "--pprof")
	for name, want := range map[string]struct{ value, source string }{
		"flush-interval": {`"3s"`, "flag"},
		"pprof":          {`true`, "flag"},
		"listen":         {`"127.0.0.1:2"`, "SHUNT_LISTEN"},
		"config":         {`"` + path + `"`, "SHUNT_CONFIG"},
		"keep-hours":     {`"24"`, path + ":2:1"},
		"trusted-proxy":  {`["10.0.0.0/8","::1/128"]`, path + ":3:3"},
		"server":         {`"https://sho.rt"`, path + ":5:1"},
		"keep-days":      {`"400"`, "default"},
		"base-url":       {`"http://127.0.0.1:2"`, "default, from listen"},
		"geoip":          {`null`, "default"},
		"cors-origin":    {`[]`, "default"},
		"token":          {`null`, "SHUNT_TOKEN"},
	} {
		got, found := shown[name]
		if value, _ := json.Marshal(got.Value); !found || string(value) != want.value || got.Source != want.source {
			t.Errorf("%s: got %s from %q, want %s from %q", name, value, got.Source, want.value, want.source)
		}
	}
	for _, argument := range []string{"alias", "json", "help", "name", "version"} {
		if _, found := shown[argument]; found {
			t.Errorf("%s is shown as a setting", argument)
		}
	}
	table := shunt(t, t.TempDir(), environ, "config", "--toml").stdout + shunt(t, t.TempDir(), environ, "config").stdout
	if !regexp.MustCompile(`\ntoken +\(set, not shown\) +SHUNT_TOKEN\n`).MatchString(table) || strings.Contains(table, "shunt_secret") || !shown["token"].Secret {
		t.Errorf("got\n%s\nwant the token hidden", table)
	}
}

func TestTheFileThatConfigPrintsGivesTheSameSettings(t *testing.T) {
	empty := writeFile(t, "empty.toml", "cors-origin = []\nadmin_host = []\ntrusted-proxy = []\n")
	first := shunt(t, t.TempDir(), nil, "config", "--toml", "--config", empty, "--trusted-proxy", "10.0.0.0/8,::1", "--keep-days", "30", "--allow-http", "--base-url", "https://sho.rt")
	path := writeFile(t, "shunt.toml", first.stdout)
	shunt(t, t.TempDir(), nil, "config", "check", path).want(t, exitDone, "^"+regexp.QuoteMeta(path)+" is fine\n$", "")
	again := shownSettings(t, nil, "--config", path)
	for name, want := range shownSettings(t, nil, "--trusted-proxy", "10.0.0.0/8,::1", "--keep-days", "30", "--allow-http", "--base-url", "https://sho.rt") {
		a, _ := json.Marshal(again[name].Value)
		if b, _ := json.Marshal(want.Value); string(a) != string(b) && name != "config" {
			t.Errorf("%s: got %s, want %s", name, a, b)
		}
	}
}

func TestAVersionInTheEnvironmentIsNotASetting(t *testing.T) {
	r := shunt(t, t.TempDir(), []string{"SHUNT_VERSION=1.2"}, "config")
	r.want(t, exitDone, `^SETTING`, `^shunt: warning: SHUNT_VERSION is ignored: there is no such setting\n$`)
}

func TestConfigReportsMistakesThatServeRefuses(t *testing.T) {
	r := shunt(t, t.TempDir(), nil, "config", "--listen", ":8080")
	r.want(t, exitUsage, `listen +:8080 +flag`, `^shunt: --base-url is missing`)
	shunt(t, t.TempDir(), nil, "config", "--json", "--toml").want(t, exitUsage, "", "exclude each other")
}

func TestConfigCheckStartsAndMakesNothing(t *testing.T) {
	home := t.TempDir()
	blocks := writeFile(t, "blocks", "bad.example\n")
	fine := writeFile(t, "shunt.toml", "listen = \":443\"\nblock-list = \""+blocks+"\"\n")
	shunt(t, home, nil, "config", "check", fine).want(t, exitUsage, "", "--base-url is missing")
	shunt(t, home, []string{"SHUNT_BASE_URL=https://sho.rt"}, "config", "check", fine).want(t, exitDone, " is fine\n$", "")
	shunt(t, home, nil, "config", "check", fine, "--base-url", "https://sho.rt").want(t, exitDone, " is fine\n$", "")
	a := certtest.NewAuthority(t)
	cert, _ := a.Issue()
	_, key := a.Issue()
	pair := certtest.NewFolder(t, cert, key)
	torn := writeFile(t, "torn.toml", "base-url = \"https://sho.rt\"\ntls-cert = \""+pair.Cert+"\"\ntls-key = \""+pair.Key+"\"\n")
	shunt(t, home, nil, "config", "check", torn).want(t, exitFailed, "", "the key does not belong to the certificate\n$")
	if exists(t, filepath.Join(home, "shunt-data")) {
		t.Error("it made the data folder")
	}
}
