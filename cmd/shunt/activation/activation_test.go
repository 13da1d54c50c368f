package activation

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"shunt/engine/expect"
)

// passed returns a file as a service manager passes it, with the name that its unit gives it.
func passed(t *testing.T, f *os.File, err error, name string) *os.File {
	t.Helper()
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	fd := f.Fd()
	named, err := dup(fd, name)
	expect.OK(t, err)
	return named
}

func listening(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln.(*net.TCPListener)
}

func TestPassedSocketsAreListenersByName(t *testing.T) {
	public, admin := listening(t), listening(t)
	f, err := public.File()
	g, errOfAdmin := admin.File()
	s, err := listeners([]*os.File{passed(t, f, err, Public), passed(t, g, errOfAdmin, Admin)})
	expect.OK(t, err)
	if s.Address(Public) != public.Addr().String() || s.Address(Admin) != admin.Addr().String() || s.Address(HTTP) != "" {
		t.Errorf("got the addresses %q, %q and %q", s.Address(Public), s.Address(Admin), s.Address(HTTP))
	}
	expect.OK(t, s.Close())
	c, err := net.Dial("tcp", public.Addr().String())
	expect.OK(t, err, "the socket is closed with its listener")
	c.Close()
}

func TestSocketsThatCannotBeServedAreRefused(t *testing.T) {
	tcp := func(t *testing.T, name string) *os.File {
		f, err := listening(t).File()
		return passed(t, f, err, name)
	}
	for name, c := range map[string]struct {
		files func(t *testing.T) []*os.File
		want  string
	}{
		"a name that means nothing": {func(t *testing.T) []*os.File { return []*os.File{tcp(t, "shunt.socket")} }, `named "shunt.socket"`},
		"two of one name":           {func(t *testing.T) []*os.File { return []*os.File{tcp(t, Public), tcp(t, Public)} }, "two sockets"},
		"a datagram socket": {func(t *testing.T) []*os.File {
			c, err := net.ListenPacket("udp", "127.0.0.1:0")
			expect.OK(t, err)
			t.Cleanup(func() { c.Close() })
			f, err := c.(*net.UDPConn).File()
			return []*os.File{passed(t, f, err, Public)}
		}, "not a listening TCP socket"},
		"a connection": {func(t *testing.T) []*os.File {
			c, err := net.Dial("tcp", listening(t).Addr().String())
			expect.OK(t, err)
			t.Cleanup(func() { c.Close() })
			f, err := c.(*net.TCPConn).File()
			return []*os.File{passed(t, f, err, Public)}
		}, "not a listening TCP socket"},
		"a file": {func(t *testing.T) []*os.File {
			f, err := os.Open(os.DevNull)
			return []*os.File{passed(t, f, err, Public)}
		}, "not a listening TCP socket"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := listeners(c.files(t))
			expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "got %v and error %v, want one with %q", s, err, c.want)
		})
	}
}

func TestWithoutSocketsThereAreNone(t *testing.T) {
	t.Setenv("LISTEN_PID", "1") // of another process
	t.Setenv("LISTEN_FDS", "3")
	t.Setenv("LISTEN_FDNAMES", "public:http:admin")
	s, err := Take()
	expect.That(t, err == nil && len(s) == 0, "got %v, %v", s, err)
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		value, found := os.LookupEnv(name)
		expect.That(t, !found, "%s is %q, and a child would take it for its own", name, value)
	}
}

func dup(fd uintptr, name string) (*os.File, error) {
	d, err := syscall.Dup(int(fd))
	return os.NewFile(uintptr(d), name), err
}
