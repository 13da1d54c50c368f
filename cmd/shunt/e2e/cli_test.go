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
)

var tokenLine = regexp.MustCompile(`^shunt_[0-9A-Za-z]{36}\n$`)

// want checks the outcome of a command. An empty pattern means no output.
func (r result) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code {
		t.Errorf("got exit code %d, want %d", r.code, code)
	}
	for name, c := range map[string]struct{ got, pattern string }{"stdout": {r.stdout, stdout}, "stderr": {r.stderr, stderr}} {
		if c.pattern == "" && c.got != "" || !regexp.MustCompile(c.pattern).MatchString(c.got) {
			t.Errorf("%s: got %q, want %q", name, c.got, c.pattern)
		}
	}
}

func TestTheFirstStartLogsAddressesAndTheNextCommand(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "my data")
	p := startServer(t, dir, "--log-format", "text")
	for _, part := range []string{"base_url=" + p.public, "public=" + p.public, "admin=" + p.admin, `data="` + dir + `"`, "new=true", "msg=ready"} {
		if !strings.Contains(p.stderr(), part) {
			t.Errorf("%q is not in its log:\n%s", part, p.stderr())
		}
	}
	mode(t, dir, 0o700)
	mode(t, filepath.Join(dir, socketName), 0o600|fs.ModeSocket)

	found := regexp.MustCompile(`sign in yet; [^"]*" run="(.*)" address=`).FindStringSubmatch(p.stderr()) // leftovers of other servers are logged with a run, too
	if found == nil {
		t.Fatalf("it does not log what to run next:\n%s", p.stderr())
	}
	line := strings.TrimPrefix(found[1], binary+" ")
	words := strings.Fields(strings.ReplaceAll(line, "'"+dir+"'", "DIR"))
	words[len(words)-1] = dir
	if r := shunt(t, home, nil, words...); r.code != exitDone || !strings.HasPrefix(r.stdout, p.public+"/_/setup?code=") {
		t.Errorf("%q: got %+v, want a setup link", line, r)
	}
	if strings.Contains(p.stderr(), "code=") {
		t.Errorf("its log has a setup code:\n%s", p.stderr())
	}
	p.token()
	p.terminate()

	p = startServer(t, dir)
	if s := p.stderr(); strings.Contains(s, "sign in") || !strings.Contains(s, `"new":false`) {
		t.Errorf("a start with a token: got\n%s\nwant no mention of signing in", s)
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode()&^fs.ModeDir != want {
		t.Errorf("%s: got mode %v, want %v", path, info.Mode(), want)
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := startServer(t, t.TempDir())
	// A client that has an answer and has sent half of its next request delays the end of draining.
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.public, "http://"))
	must(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: x\r\n\r\nGET /x HTTP/1.1\r\nHost:"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
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
	if code := p.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(p.stderr(), "second signal") {
		t.Errorf("got exit code %d, want 1:\n%s", code, p.stderr())
	}
}
