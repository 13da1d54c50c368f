package wire

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// leaveNoDescriptor lowers the limit of descriptors so that none is free, until restore is called.
func leaveNoDescriptor(t *testing.T) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	expect.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	null, err := os.Open(os.DevNull)
	expect.OK(t, err)
	lowered := unix.Rlimit{Cur: uint64(null.Fd()), Max: before.Max} // it has the lowest number that was free
	expect.NoError(t, null.Close())
	expect.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &lowered))
	restore = func() { expect.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }
	t.Cleanup(restore)
	return restore
}

// Without a free descriptor, loops serve the connections that they have, also those that fasthttp must
// serve, and say so once. New connections wait, and are served when there are descriptors again.
func TestLoopsWithoutDescriptorsServeAndWait(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
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
		got := readReply(t, r, "GET")
		expect.Equal(t, got.status, 302, "after waiting: got %+v", got)
	}
	expect.Equal(t, strings.Count(st.log.String(), "trying again"), 1, "logged times, want once:\n%s", st.log)
}
