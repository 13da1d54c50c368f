package console

import (
	"net"
	"os"
	"syscall"
	"testing"

	"shunt/engine/expect"
)

func TestAPortBelow1024IsExplained(t *testing.T) {
	refused := &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)}
	got := ListenError("--listen", ":80", "/opt/my shunt", refused).Error()
	want := "--listen :80: this user may not listen on port 80. Allow this program to do so with\n" +
		"  sudo setcap 'cap_net_bind_service=+ep' '/opt/my shunt'\n" +
		"or in its systemd unit with\n" +
		"  AmbientCapabilities=CAP_NET_BIND_SERVICE\n" +
		"or choose a port above 1023 with --listen"
	expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
}
