package e2e

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
)

var tokenLine = regexp.MustCompile(`^shunt_[0-9A-Za-z]{36}\n$`)

// want checks the outcome of a command. An empty pattern means no output.
func (r result) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	expect.Equal(t, r.code, code)
	for name, c := range map[string]struct{ got, pattern string }{"stdout": {r.stdout, stdout}, "stderr": {r.stderr, stderr}} {
		expect.That(t, (c.pattern != "" || c.got == "") && regexp.MustCompile(c.pattern).MatchString(c.got),
			"%s: got %q, want %q", name, c.got, c.pattern)
	}
}

func TestTheFirstStartLogsAddressesAndTheNextCommand(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "my data")
	p := startServer(t, dir, "--log-format", "text")
	for _, part := range []string{"base_url=" + p.public, "public=" + p.public, "admin=" + p.admin, `data="` + dir + `"`, "new=true", "msg=ready"} {
		expect.That(t, strings.Contains(p.stderr(), part), "%q is not in its log:\n%s", part, p.stderr())
	}
	mode(t, dir, 0o700)
	mode(t, filepath.Join(dir, socketName), 0o600|fs.ModeSocket)

	found := regexp.MustCompile(`sign in yet; [^"]*" run="(.*)" address=`).FindStringSubmatch(p.stderr()) // leftovers of other servers are logged with a run, too
	expect.MustThat(t, found != nil, "it does not log what to run next:\n%s", p.stderr())
	line := strings.TrimPrefix(found[1], binary+" ")
	words := strings.Fields(strings.ReplaceAll(line, "'"+dir+"'", "DIR"))
	words[len(words)-1] = dir
	r := shunt(t, home, nil, words...)
	expect.That(t, r.code == exitDone && strings.HasPrefix(r.stdout, p.public+"/_/setup?code="), "%q: got %+v, want a setup link", line, r)
	expect.That(t, !strings.Contains(p.stderr(), "code="), "its log has a setup code:\n%s", p.stderr())
	p.token()
	p.terminate()

	p = startServer(t, dir)
	s := p.stderr()
	expect.That(t, !strings.Contains(s, "sign in") && strings.Contains(s, `"new":false`), "a start with a token: got\n%s\nwant no mention of signing in", s)
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	expect.OK(t, err)
	expect.Equal(t, info.Mode()&^fs.ModeDir, want, "%s: got mode %v", path, info.Mode())
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	expect.MustThat(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	return err == nil
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := startServer(t, t.TempDir())
	// A client that has an answer and has sent half of its next request delays the end of draining.
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.public, "http://"))
	expect.OK(t, err)
	defer conn.Close()
	expect.OK(t, expect.Err(io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\n\r\nGET /x HTTP/1.1\r\nHost:")))
	expect.OK(t, expect.Err(conn.Read(make([]byte, 1))))
	for signals := time.NewTicker(sameSignal / 4); ; { // first at once, as timeout(1) does; then later, as a person does
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-signals.C:
			continue
		case <-p.ended:
			signals.Stop()
		}
		break
	}
	code := p.cmd.ProcessState.ExitCode()
	expect.That(t, code == exitFailed && strings.Contains(p.stderr(), "second signal"), "got exit code %d, want 1:\n%s", code, p.stderr())
}
