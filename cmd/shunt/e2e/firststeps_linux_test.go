package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"shunt/engine/expect"
)

// A screen collects what a program writes to a terminal.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// read reads x until its end, and closes ready when the server says that it is.
func (s *screen) read(x *terminal, ready chan<- struct{}) {
	buffer := make([]byte, 4096)
	for said := false; ; {
		n, err := x.master.Read(buffer)
		s.mu.Lock()
		s.text.Write(buffer[:n])
		if !said && (err != nil || saysReady.Match(s.text.Bytes())) {
			said = true
			close(ready)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// saysReady matches the line of a server that is ready, for a person or in a log.
var saysReady = regexp.MustCompile(`Ready: |"ready"`)

// serveAtTerminal serves dir at a terminal until it is ready, stops it, and returns what it printed.
func serveAtTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	readSources()
	x, shown, ready := openTerminal(t), new(screen), make(chan struct{})
	cmd := exec.Command(binary, append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = x.slave
	expect.OK(t, cmd.Start())
	_ = x.slave.Close() // so that reading ends with the server
	timeout := killAtDeadline(t, cmd.Process)
	defer timeout.Stop()
	go shown.read(x, ready)
	<-ready
	expect.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	err := cmd.Wait()
	expect.That(t, err == nil, "got %v:\n%s", err, shown)
	return shown.String()
}

// openLine is the line at a terminal that says how to begin.
var openLine = regexp.MustCompile(`(?m)^open (\S+)/_/setup\?code=([\w-]{22})\r?$`)

func TestTheFirstStartShowsAPersonTheAddressToOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := serveAtTerminal(t, dir)
	base := regexp.MustCompile(`short links and API +(\S+)`).FindStringSubmatch(first)
	lines := openLine.FindAllStringSubmatch(first, -1)
	expect.MustThat(t, len(lines) == 1 && base != nil && lines[0][1] == base[1], "got\n%s\nwant one line that names the address to open", first)
	again := openLine.FindStringSubmatch(serveAtTerminal(t, dir, "--base-url", "https://sho.rt"))
	expect.That(t, again != nil && again[1] == "https://sho.rt" && again[2] != lines[0][2],
		"a later start: got %q, want another code at the base URL", again)
	shuntWithInput(t, testPassword+"\n", nil, "user", "passwd", "admin", "--data", dir).want(t, exitDone, "", "")
	text := serveAtTerminal(t, dir)
	expect.That(t, !regexp.MustCompile(`code=|setup-link`).MatchString(text), "with a password: got\n%s\nwant no mention of a setup link", text)
}

func TestALogFormatIsNotForAPerson(t *testing.T) {
	t.Parallel()
	text := serveAtTerminal(t, filepath.Join(t.TempDir(), "data"), "--log-format", "json")
	expect.That(t, !regexp.MustCompile(`code=`).MatchString(text) && regexp.MustCompile(`user setup-link`).MatchString(text),
		"got\n%s\nwant the command, and no code", text)
}
