package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

const testPassword = " correct horse battery " // spaces are part of it

// shuntWithInput runs shunt with input on its standard input.
func shuntWithInput(t *testing.T, input string, env []string, args ...string) result {
	t.Helper()
	return ran(t, "", env, strings.NewReader(input), append([]string{binary}, args...)...)
}

func TestAUserIsDeletedOnlyIfTheLinksMayStay(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	shunt(t, "", nil, "user", "add", "ann@example.com", "--data", p.dir).want(t, exitDone, "ann", "")
	short := strings.TrimSpace(shunt(t, "", nil, "add", "https://example.org/a", "--user", "ann@example.com", "--data", p.dir).stdout)
	token := strings.TrimSpace(shunt(t, "", nil, "token", "add", "--name", "n", "--user", "ann@example.com", "--data", p.dir).stdout)
	shunt(t, "", nil, "user", "rm", "ann@example.com", "--data", p.dir).want(t, exitFailed, "", `with --keep-links they stay`)
	expect.Contains(t, ask(t, p.public+"/api/v1/me", token), "ann@example.com")
	shunt(t, "", nil, "user", "rm", "ann@example.com", "--keep-links", "--data", p.dir).want(t, exitDone, "", "")
	expect.Contains(t, ask(t, p.public+"/api/v1/me", token), "unauthorized")
	follow(t, short, "https://example.org/a")
}

func TestAPasswordIsTheFirstLineOfItsInput(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	passwd := []string{"user", "passwd", "admin", "--data", p.dir}
	shunt(t, "", nil, "user", "ls", "--data", p.dir).want(t, exitDone, "admin", "")
	for name, c := range map[string]struct {
		input string
		env   []string
		args  []string
		code  int
		want  string
	}{
		"standard input":     {testPassword + "\r\n", nil, passwd, exitDone, testPassword},
		"without a line end": {"another password", nil, passwd, exitDone, "another password"},
		"a file":             {"not this", []string{"SHUNT_PASSWORD_FILE=" + writeFile(t, "p", "one of a file\n")}, passwd, exitDone, "one of a file"},
		"nothing":            {"", nil, passwd, exitFailed, ""},
		"an empty line":      {"\npassword\n", nil, passwd, exitFailed, ""},
		"too short":          {"short\n", nil, passwd, exitFailed, ""},
		"no such file":       {"password", nil, append(passwd, "--password-file", "/nowhere/p"), exitFailed, ""},
		"an argument":        {"password", nil, append(passwd, "password"), exitUsage, ""},
	} {
		r := shuntWithInput(t, c.input, c.env, c.args...)
		expect.That(t, r.code == c.code && r.stdout == "" && (r.stderr == "") == (c.code == exitDone),
			"%s: got %+v, want exit code %d", name, r, c.code)
		expect.That(t, c.want == "" || loggedIn(t, p, "admin", c.want) == http.StatusOK, "%s: logging in with the password failed", name)
	}
	expect.Equal(t, loggedIn(t, p, "admin", "wrong password"), http.StatusUnauthorized, "a wrong password")
	expect.That(t, !strings.Contains(p.stderr(), "password"), "the server's log mentions passwords:\n%s", p.stderr())
}
