package console

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ListenError explains why the address of flag cannot be listened on, and what to do. program is
// the path of this one.
func ListenError(flag, address, program string, err error) error {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s %s: this user may not listen on port %s. Allow this program to do so with\n"+
			"  sudo setcap 'cap_net_bind_service=+ep' %s\n"+
			"or in its systemd unit with\n"+
			"  AmbientCapabilities=CAP_NET_BIND_SERVICE\n"+
			"or choose a port above 1023 with %s", flag, address, port, Quote(program), flag)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s %s: port %s is in use by another program, perhaps by another shunt; stop it "+
			"(ss -ltnp 'sport = :%s' names it), or choose another port with %s", flag, address, port, port, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s %s: this machine does not have that address; use one of its own, or :%s for all of them", flag, address, port)
	}
	return fmt.Errorf("%s %s: %w", flag, address, err)
}
