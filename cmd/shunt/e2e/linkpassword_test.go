package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// The first line of a file is the password of a link, and opens it also at the server that imports what another one
// has exported with its hash.
func TestThePasswordOfAFileOpensALinkWhereverItMoves(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	expect.OK(t, os.WriteFile(file, []byte("open sesame\r\nnot this\n"), 0o600))
	from, to := startServer(t, t.TempDir()), startServer(t, t.TempDir())
	run := func(p *process, args ...string) string {
		t.Helper()
		r := shunt(t, "", nil, append(args, "--data", p.dir)...)
		expect.MustEqual(t, r.code, exitDone, "%s: exit code: %s", args[0], r.stderr)
		return r.stdout
	}
	run(from, "add", "https://example.org/", "--alias", "x", "--password-file", file)
	exported := run(from, "export", "--password-hashes")
	expect.That(t, strings.Contains(exported, `"password_hash":"$argon2id$`) && !strings.Contains(exported, "sesame"), "exported: %s", exported)
	lines := filepath.Join(t.TempDir(), "links.ndjson")
	expect.OK(t, os.WriteFile(lines, []byte(exported), 0o600))
	run(to, "import", lines)
	for name, p := range map[string]*process{"where it was made": from, "where it was imported": to} {
		typed := func(text string) int {
			return do(t, "POST", p.public+"/x", "password="+text, "Content-Type", "application/x-www-form-urlencoded").StatusCode
		}
		expect.Equal(t, do(t, "GET", p.public+"/x", "").StatusCode, 401, "%s: without a password", name)
		expect.Equal(t, typed("not+this"), 401, "%s: the second line", name)
		expect.Equal(t, typed("open+sesame"), 303, "%s: the first line", name)
	}
	run(from, "edit", "x", "--password-file", "")
	follow(t, from.public+"/x", "https://example.org/")
}
