package wire

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// leaveNoDescriptor lowers the limit of descriptors so that none is free, until restore is called.
func leaveNoDescriptor(t *testing.T) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	check(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	lowered := unix.Rlimit{Cur: uint64(null.Fd()), Max: before.Max} // it has the lowest number that was free
	check(t, null.Close())
	check(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &lowered))
	restore = func() { check(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }
	t.Cleanup(restore)
	return restore
}

// Without a free descriptor, loops serve the connections that they have, also those that fasthttp must
// serve, and say so once. New connections wait, and are served when there are descriptors again.
func TestLoopsWithoutDescriptorsServeAndWait(t *testing.T) {
	st := newLoopSite(t, 2, Limits{Connections: 100})
	c, r := st.dial(requestText("GET", "/x"))
	readReply(t, r, "GET")
	release := st.hold()
	var waiting []*bufio.Reader
	for range 20 {
		_, r := st.dial(requestText("GET", "/x"))
		waiting = append(waiting, r)
	}
	restore := leaveNoDescriptor(t)
	release()
	st.wantBothDoors(c)
	for !strings.Contains(st.log.String(), "trying again") {
		st.wantBothDoors(c)
	}
	restore()
	for _, r := range waiting {
		if got := readReply(t, r, "GET"); got.status != 302 {
			t.Errorf("after waiting: got %+v", got)
		}
	}
	if n := strings.Count(st.log.String(), "trying again"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, st.log)
	}
}

// A connection that epoll does not take is closed; nothing of it is left.
func TestAConnectionThatEpollRefusesIsClosed(t *testing.T) {
	l := stoppedLoops(t, 1)
	lp := l.loops.each[0]
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, []byte("GET /x HTTP/1.1\r\n"), 0o600))
	files := openFiles(t)
	fd, err := unix.Open(path, unix.O_RDONLY, 0) // a file can be read, but epoll does not take it
	if err != nil || !l.trySlot() {
		t.Fatal(err)
	}
	lp.own(int32(fd), peerAddr{})
	if n := openFiles(t); n != files || l.open() != 0 || len(l.slots) != 0 || lp.conns.Load() != 0 || l.held.Load() != 0 {
		t.Errorf("%d descriptors, %d before; %d rows, %d slots, %d connections", n, files, l.open(), len(l.slots), lp.conns.Load())
	}
}

// stoppedLoops returns a listener with loops that do not run.
func stoppedLoops(t *testing.T, loops int) *listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := newLoopGroup(loops, Limits{Connections: MaxConnections})
	l := newListener(ln, g.Limits, g.Patience, g.Log)
	l.loops = g.newLoops(l, ln)
	t.Cleanup(func() {
		check(t, l.Close())
		check(t, l.loops.discard())
	})
	return l
}
