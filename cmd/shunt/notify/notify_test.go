package notify

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"shunt/engine/expect"
)

// A manager is the socket of a service manager.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

// newManager listens at name and puts it into the environment.
func newManager(t *testing.T, name string) manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	expect.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	return manager{t, conn}
}

// next returns the lines of the next message.
func (m manager) next() []string {
	m.t.Helper()
	b := make([]byte, 4096)
	_ = m.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := m.conn.Read(b)
	expect.OK(m.t, err)
	return strings.Split(string(b[:n]), "\n")
}

// await reads messages until one has the line.
func (m manager) await(line string) {
	m.t.Helper()
	for !slices.Contains(m.next(), line) {
	}
}

func opened(t *testing.T) *Notifier {
	t.Helper()
	n, err := Open()
	expect.MustThat(t, err == nil && n != nil, "got %v, %v", n, err)
	return n
}

func TestAManagerIsToldEachStepOfALife(t *testing.T) {
	names := map[string]string{"a path": filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names["an abstract name"] = "@shunt-notify-test-" + strconv.Itoa(os.Getpid())
	}
	for name, socket := range names {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, socket)
			n := opened(t)
			m.await("STATUS=starting")
			n.look("opening the store")
			expect.Slices(t, m.next(), []string{"EXTEND_TIMEOUT_USEC=30000000", "STATUS=opening the store"}, "while starting")
			n.Ready("ready")
			expect.Slices(t, m.next(), []string{"READY=1", "STATUS=ready"}, "when ready")
			n.look("ready") // no message
			n.Reloading()
			got := m.next()
			expect.That(t, len(got) == 3 && got[0] == "RELOADING=1" && strings.HasPrefix(got[1], "MONOTONIC_USEC=") && got[2] == "STATUS=reloading",
				"got %q when reloading", got)
			n.Ready("ready")
			m.await("READY=1")
			n.Stopping("draining")
			expect.Slices(t, m.next(), []string{"STOPPING=1", "EXTEND_TIMEOUT_USEC=30000000", "STATUS=draining"}, "when stopping")
			n.Ready("a reload that ended late") // no message
			n.look("draining")
			expect.Slices(t, m.next(), []string{"EXTEND_TIMEOUT_USEC=30000000"}, "while stopping")
		})
	}
}

func TestSignsOfLifeEndWhenTheProcessIsNotAlive(t *testing.T) {
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("WATCHDOG_USEC", "40000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	n := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	var asked, alive atomic.Int32
	alive.Store(1)
	ended := make(chan error)
	go func() {
		ended <- n.Watch(ctx, func() bool { asked.Add(1); return alive.Load() == 1 })
	}()
	m.await("WATCHDOG=1")
	m.await("WATCHDOG=1")
	alive.Store(0)
	for before := asked.Load(); asked.Load() < before+2; { // one look may have been under way
		time.Sleep(time.Millisecond)
	}
	for left := true; left; { // those sent before
		_ = m.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := m.conn.Read(make([]byte, 4096))
		left = err == nil
	}
	before := asked.Load()
	for asked.Load() < before+3 {
		time.Sleep(time.Millisecond)
	}
	_ = m.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	b := make([]byte, 4096)
	if k, err := m.conn.Read(b); err == nil && strings.Contains(string(b[:k]), "WATCHDOG") {
		t.Errorf("got %q of a process that is not alive", b[:k])
	}
	cancel()
	expect.NoError(t, <-ended)
}

func TestTheWatchdogOfAnotherProcessIsNotOurs(t *testing.T) {
	newManager(t, filepath.Join(t.TempDir(), "notify"))
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"30000000", "", 30 * time.Second},
		{"30000000", strconv.Itoa(os.Getpid()), 30 * time.Second},
		{"30000000", "1", 0},
		{"", "", 0},
		{"-1", "", 0},
		{"much", "", 0},
		{"99999999999999999999", "", 0},
	} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		n, _ := Open()
		expect.That(t, n != nil && n.watchdog == c.want, "WATCHDOG_USEC=%q, WATCHDOG_PID=%q: got %+v, want %v", c.usec, c.pid, n, c.want)
	}
}

func TestNobodyIsToldWithoutAManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	n, err := Open()
	expect.MustThat(t, n == nil && err == nil, "got %v, %v", n, err)
	n.Ready("ready")
	n.Reloading()
	n.Stopping("draining")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.NoError(t, errors.Join(n.Run(ctx, nil), n.Watch(ctx, nil)))
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	n, err = Open()
	expect.That(t, n == nil && err != nil, "a socket that is gone: got %v, %v", n, err)
}

func TestAManagerThatHasGoneHoldsNothingUp(t *testing.T) {
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	n := opened(t)
	m.conn.Close()
	n.Ready("ready")
	n.Stopping("draining")
}

func TestAStatusIsOneShortLine(t *testing.T) {
	got := oneLine("ready\nMAINPID=1\x00\xff " + strings.Repeat("é", maxStatusBytes))
	expect.That(t, !strings.ContainsAny(got, "\n\x00") && utf8.ValidString(got) && len(got) <= maxStatusBytes &&
		strings.HasPrefix(got, "ready MAINPID=1  "), "got %q", got)
}
