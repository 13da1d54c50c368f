package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// A terminal is a pseudo-terminal. The master end types and reads the screen.
type terminal struct {
	master, slave *os.File
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	expect.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	expect.OK(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	expect.OK(t, err)
	t.Cleanup(func() { _ = slave.Close() })
	return &terminal{master: master, slave: slave}
}

// echoes reports whether the terminal shows what is typed.
func (x *terminal) echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	expect.OK(t, err)
	return state.Lflag&unix.ECHO != 0
}

// prompts is a standard error that answers each prompt once it was printed and the terminal no
// longer echoes.
type prompts struct {
	t       *testing.T
	at      *terminal
	answers []string

	mu   sync.Mutex
	text bytes.Buffer
}

func (p *prompts) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	if bytes.HasSuffix(b, []byte(": ")) && len(p.answers) > 0 {
		answer := p.answers[0]
		p.answers = p.answers[1:]
		for p.at.echoes(p.t) { // the program prints the prompt before it turns the echo off
		}
		_, err := p.at.master.WriteString(answer)
		return len(b), err
	}
	return len(b), nil
}

func TestATypedPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	shunt(t, "", nil, "user", "ls", "--data", p.dir).want(t, exitDone, "admin", "")
	for _, c := range []struct {
		name    string
		answers []string
		code    int
		status  int // of logging in with the password afterwards
	}{
		{"different", []string{"typed password\n", "other password\n"}, exitFailed, http.StatusUnauthorized},
		{"interrupted", []string{"typed pass\x03"}, exitFailed, http.StatusUnauthorized},
		{"twice the same", []string{"typed password\n", "typed password\n"}, exitDone, http.StatusOK},
	} {
		typePassword(t, p, c.name, c.answers, c.code)
		expect.Equal(t, loggedIn(t, p, "admin", "typed password"), c.status, "%s: logging in", c.name)
	}
}

func typePassword(t *testing.T, p *process, name string, answers []string, code int) {
	t.Helper()
	x := openTerminal(t)
	says := &prompts{t: t, at: x, answers: answers}
	cmd := exec.Command(binary, "user", "passwd", "admin", "--data", p.dir)
	cmd.Stdin, cmd.Stderr = x.slave, says
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that Ctrl-C is a signal
	expect.OK(t, cmd.Start())
	timeout := killAtDeadline(t, cmd.Process)
	defer timeout.Stop()
	_ = cmd.Wait() // its error is in the exit code
	expect.Equal(t, cmd.ProcessState.ExitCode(), code, "%s: got exit code: %s", name, says.text.String())
	expect.That(t, x.echoes(t), "%s: the terminal is left without echo", name)
	_, _ = x.slave.WriteString("END")
	shown := make([]byte, 4096)
	n, err := x.master.Read(shown)
	text := string(shown[:n]) + says.text.String()
	expect.That(t, err == nil && !strings.Contains(text, "typed") && strings.Contains(text, "END"), "%s: the terminal shows %q, %v", name, text, err)
}
