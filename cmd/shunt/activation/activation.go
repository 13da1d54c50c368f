package activation

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// The names of the sockets, as the unit of systemd gives them (FileDescriptorName=).
const (
	Public = "public" // redirects, the API and the pages
	HTTP   = "http"   // plain HTTP that is redirected to HTTPS
	Admin  = "admin"  // metrics and health
)

var names = []string{Public, HTTP, Admin}

// Sockets are the listeners that were passed to this process, by name. Names that no socket has are
// absent.
type Sockets map[string]net.Listener

// Take takes the sockets that were passed to this process. It may be called once: it removes the
// variables LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment, so that no child takes
// the sockets for its own. Without sockets, or with those of another process, the result is empty.
//
// A socket with another name, two with one name, and a socket that is not a listening TCP socket are
// errors: what it was meant for would not be served.
func Take() (Sockets, error) { return listeners(activation.Files(true)) }

// listeners makes listeners of files and closes files.
func listeners(files []*os.File) (Sockets, error) {
	sockets := Sockets{}
	var errs []error
	for _, f := range files {
		ln, err := sockets.listener(f)
		if err != nil {
			errs = append(errs, err)
		} else {
			sockets[f.Name()] = ln
		}
		errs = append(errs, f.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, sockets.Close())
	}
	return sockets, nil
}

// listener makes a listener of f, which gets a descriptor of its own.
func (s Sockets) listener(f *os.File) (net.Listener, error) {
	switch name := f.Name(); {
	case !slices.Contains(names, name):
		return nil, fmt.Errorf("the service manager passed a socket named %q; its unit must name it %s (FileDescriptorName=)",
			name, strings.Join(names, ", ")) // such as shunt.socket, the name of a unit without one
	case s[name] != nil:
		return nil, fmt.Errorf("the service manager passed two sockets named %q; there may be one", name)
	}
	ln, err := net.FileListener(f)
	if err == nil {
		if _, tcp := ln.(*net.TCPListener); tcp && isListening(f) {
			return ln, nil
		}
		err = ln.Close()
	}
	return nil, errors.Join(fmt.Errorf("the socket %q of the service manager is not a listening TCP socket (ListenStream=)", f.Name()), err)
}

// isListening reports whether f is a socket at which connections arrive.
func isListening(f *os.File) (listening bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		on, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		listening = err == nil && on != 0
	})
	return err == nil && listening
}

// Address returns the address of the socket with that name; "" if there is none.
func (s Sockets) Address(name string) string {
	if ln := s[name]; ln != nil {
		return ln.Addr().String()
	}
	return ""
}

// Close closes the listeners. Their sockets stay open at the service manager.
func (s Sockets) Close() error {
	var errs []error
	for _, ln := range s {
		errs = append(errs, ln.Close())
	}
	return errors.Join(errs...)
}
