package wire

import (
	"bufio"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestLoopsServeAUnixSocketAndRemoveItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	files := openFiles(t)
	ln, err := net.Listen("unix", path)
	expect.OK(t, err)
	st := newLoopSiteAt(t, newLoopGroup(2, conns.Limits{Connections: 10, PerAddress: 1}), ln, files)
	for range 3 {
		c, err := net.Dial("unix", path)
		expect.OK(t, err)
		defer c.Close()
		st.wantBothDoors(c)
	}
	expect.NoError(t, st.CloseListeners())
	expect.Error(t, expect.Err(os.Stat(path)), fs.ErrNotExist, "after closing")
}

// wantBothDoors checks that a loop answers on c, and then fasthttp.
func (st *loopSite) wantBothDoors(c net.Conn) {
	st.t.Helper()
	r := bufio.NewReader(c)
	for i, target := range []string{"/x", "/x", "/a/b", "/x"} {
		expect.OK(st.t, expect.Err(c.Write([]byte(requestText("GET", target)))))
		got := readReply(st.t, r, "GET")
		byFasthttp := got.header.Get("Via") != ""
		expect.That(st.t, byFasthttp == (target == "/a/b") && (got.status == 302) != byFasthttp, "request %d, %s: got %+v", i, target, got)
	}
}

// Socket activation passes on a socket that others hold, too. It must be used itself.
func TestLoopsServeAnInheritedSocket(t *testing.T) {
	files := openFiles(t)
	original, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	file, err := original.(*net.TCPListener).File()
	expect.NoError(t, err)
	expect.NoError(t, original.Close())
	defer file.Close()
	inherited, err := net.FileListener(file)
	expect.NoError(t, err)
	st := newLoopSiteAt(t, newLoopGroup(2, conns.Limits{Connections: 10}), inherited, files)
	c, _ := st.dial("")
	st.wantBothDoors(c)
	expect.NoError(t, st.CloseListeners())
	if c, err := net.Dial("tcp", st.addr); err != nil { // the socket of file still listens
		t.Errorf("the socket that was passed on is gone: %v", err)
	} else {
		expect.NoError(t, c.Close())
	}
}

func TestASecondServerOnTheAddressOfLoopsFails(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 10})
	ln, err := net.Listen("tcp", st.addr)
	expect.Error(t, err, syscall.EADDRINUSE, "got %v", ln)
}

// A connection over IPv4 to a socket of IPv6 has an IPv4 address, also when it counts for its share.
func TestLoopsSeeIPv4ClientsOfAnIPv6Socket(t *testing.T) {
	files := openFiles(t)
	ln, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	st := newLoopSiteAt(t, newLoopGroup(1, conns.Limits{Connections: 10, PerAddress: 1}), ln, files)
	_, port, _ := net.SplitHostPort(st.addr)
	for _, client := range []string{"127.0.0.1", "::1"} {
		c, err := net.Dial("tcp", net.JoinHostPort(client, port))
		if err != nil {
			t.Skip("no IPv6 here")
		}
		defer c.Close()
		st.wantBothDoors(c)
	}
	seen := make(map[string]bool)
	st.l.Each(func(r *conns.Row) { seen[r.Peer().String()] = true })
	expect.That(t, len(seen) == 2 && seen["127.0.0.1"] && seen["::1"], "got %v", seen)
}

// The kernel keeps little for a client of a loop that does not read; fasthttp sends large answers, too.
func TestAConnectionThatIsHandedOverHasNoFixedSendBuffer(t *testing.T) {
	st := newLoopSite(t, 1, conns.Limits{Connections: 10})
	c, r := st.dial(requestText("GET", "/x"))
	readReply(t, r, "GET")
	st.awaitIdle() // so that the loop has written the number of the descriptor, and does not change it
	fd := st.l.At(1).FD
	size, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
	expect.Equal(t, size, 2*64<<10, "got a buffer of, %v", err)
	st.wantBothDoors(c)
	if locks, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BUF_LOCK); err == nil && locks&1 != 0 { // SOCK_SNDBUF_LOCK
		t.Error("the size of its send buffer is fixed")
	}
}
