package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// The same commands run alone, while a server runs, and against a remote server.
func TestLinksAreListedExportedAndDeletedWhereverTheServerIs(t *testing.T) {
	t.Parallel()
	alone := filepath.Join(t.TempDir(), "data")
	beside, remote := startServer(t, filepath.Join(t.TempDir(), "data")), startServer(t, filepath.Join(t.TempDir(), "data"))
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--init", "--data", alone)
	shunt(t, t.TempDir(), nil, "token", "add", "--name", "n", "--data", beside.dir)
	for name, where := range map[string]struct{ args, env []string }{
		"alone":    {[]string{"--data", alone}, nil},
		"beside":   {[]string{"--data", beside.dir}, nil},
		"--server": {[]string{"--server", remote.public}, []string{"SHUNT_TOKEN=" + remote.token()}},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(args ...string) result {
				t.Helper()
				return shunt(t, t.TempDir(), where.env, append(args, where.args...)...)
			}
			run("ls").want(t, exitDone, `^CODE +HITS +STATE +CREATED +TARGET +TITLE\n$`, "")
			run("export").want(t, exitDone, "", "")
			for _, alias := range []string{"a1", "a2", "b1"} {
				run("add", "https://example.org/"+alias, "--alias", alias, "--title", "T "+alias, "--tag", alias[:1]).want(t, exitDone, alias, "")
			}
			run("ls").want(t, exitDone, `(?s)\nb1 +0 +active .* https://example.org/b1 +T b1\na2 .*\na1 `, "")
			run("ls", "--tag", "a", "--q", "t A2").want(t, exitDone, `^CODE[^\n]*\na2 [^\n]*\n$`, "")
			run("ls", "--state", "active", "--tag", "a").want(t, exitDone, `(?s)^CODE[^\n]*\na2 .*\na1 [^\n]*\n$`, "")
			run("ls", "--state", "disabled").want(t, exitDone, `^CODE[^\n]*\n$`, "^$")
			run("ls", "--state", "off").want(t, exitUsage, "", "must be one of active, expired, exhausted, blocked, disabled")
			run("ls", "--limit", "1").want(t, exitDone, `^CODE[^\n]*\nb1 [^\n]*\n$`, `there are more; --all lists them`)
			run("ls", "--limit", "3").want(t, exitDone, `(?s)^CODE[^\n]*\nb1 .*\na1 [^\n]*\n$`, "^$")
			run("ls", "--limit", "0").want(t, exitUsage, "", "limit")
			run("ls", "--limit", "1", "--all").want(t, exitUsage, "", "exclude")
			run("ls", "--owner", "me").want(t, exitUsage, "", "--owner")
			run("ls", "--owner", "4294967295").want(t, exitDone, `^CODE[^\n]*\n$`, "")
			wantCodes(t, run("ls", "--all", "--json").stdout, "b1 a2 a1")
			wantCodes(t, run("export", "--owner", "all", "--unique").stdout, "b1 a2 a1")
			run("rm", strings.TrimSpace(run("add", "https://example.org/a2", "--alias", "a2").stdout)).want(t, exitDone, "", "")
			run("rm", "a2").want(t, exitFailed, "", `404 not_found`)
			wantCodes(t, run("export").stdout, "b1 a1")
		})
	}
}

// wantCodes checks the codes of link objects, one a line.
func wantCodes(t *testing.T, lines, want string) {
	t.Helper()
	if got := codes(t, lines); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func codes(t *testing.T, lines string) string {
	t.Helper()
	var codes []string
	for line := range strings.Lines(lines) {
		var l struct{ Code string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		codes = append(codes, l.Code)
	}
	return strings.Join(codes, " ")
}
