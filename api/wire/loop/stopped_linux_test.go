package loop

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/api/turnstile"
	"shunt/api/wire/conns"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// stoppedLoops returns loops that do not run until run is called. They end with the test.
func stoppedLoops(t *testing.T, n int) *stopped {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	of := conns.NewTable(conns.Limits{Connections: conns.MaxConnections}, conns.DefaultPatience, turnstile.New(turnstile.Limits{}), slog.New(slog.DiscardHandler))
	s := &stopped{Loops: New(of, n, ln, Use{Door: Door{Reader: http1.NewReader(&http1.Proxies{}, nil)}})}
	t.Cleanup(func() {
		of.TellAll(conns.StopAccept)
		of.TellAll(conns.End)
		s.run()
		s.running.Wait()
	})
	return s
}

// stopped is loops that do not run yet.
type stopped struct {
	*Loops
	begin   sync.Once
	running *sync.WaitGroup
}

func (s *stopped) run() { s.begin.Do(func() { s.running = s.Loops.Run() }) }

// A slot may be freed at the moment when a loop finds none, before others know that it waits.
func TestALoopWithoutSlotsMissesNoneThatIsFreed(t *testing.T) {
	ls := stoppedLoops(t, 1)
	l, lp := ls.t, ls.each[0] // it does not run
	expect.That(t, lp.waitForSlot() && l.Usage().Slots == 1 && l.Usage().Waiting == 1, "the free slot was not taken")
	l.LeaveSlot()
	lp.resumeAccepting()
}

// A connection that epoll does not take is closed; nothing of it is left.
func TestAConnectionThatEpollRefusesIsClosed(t *testing.T) {
	ls := stoppedLoops(t, 1)
	l, lp := ls.t, ls.each[0]
	path := filepath.Join(t.TempDir(), "file")
	expect.OK(t, os.WriteFile(path, []byte("GET /x HTTP/1.1\r\n"), 0o600))
	files := openFilesHere(t)
	fd, err := unix.Open(path, unix.O_RDONLY, 0) // a file can be read, but epoll does not take it
	expect.MustThat(t, err == nil && l.TrySlot(), "%v", err)
	lp.own(int32(fd), peerAddr{})
	u := l.Usage()
	if n := openFilesHere(t); n != files || u != (conns.Usage{Free: u.Made, Made: u.Made}) || lp.conns.Load() != 0 {
		t.Errorf("%d descriptors, %d before; %+v, %d connections", n, files, u, lp.conns.Load())
	}
}

// openFiles returns the number of descriptors that the process has open.
func openFilesHere(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	expect.OK(t, err)
	return len(files)
}
