package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ErrStranger is wrapped by the error of Dial if the wrong user answers at the socket.
var ErrStranger = errors.New("another user answers there")

// Dial connects to the server at path. Before the caller can send a byte, it asks the kernel who
// listens there. That must be the owner of the folder that the socket is in, root, or the user of this process, who
// could read its memory anyway: with Kubernetes' fsGroup, the server does not own its folder. Otherwise whoever can
// write to the folder could put a socket there and be sent passwords. The error then wraps ErrStranger.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn.(*net.UnixConn), filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// checkPeer refuses a peer that may not listen in dir.
func checkPeer(conn *net.UnixConn, dir string) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, asked, err := 0, false, error(nil)
	if controlErr := raw.Control(func(fd uintptr) { uid, asked, err = peerUID(int(fd)) }); controlErr != nil {
		return controlErr
	}
	if err != nil {
		return fmt.Errorf("asking who listens at the socket in %s: %w", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, known := ownerOf(info)
	if !asked || !known || mayListen(uid, owner, os.Geteuid()) {
		return nil
	}
	return fmt.Errorf("%w: the socket %s is of the user with the number %d, but the folder is of %d; nothing was sent. "+
		"Remove the socket if no server of yours runs", ErrStranger, filepath.Join(dir, Name), uid, owner)
}

// mayListen reports whether a command of the user self may talk to a server of the user uid in a
// folder of the user owner.
func mayListen(uid, owner, self int) bool { return uid == 0 || uid == owner || uid == self }

// ownerOf returns the number of the user who owns a file.
func ownerOf(info os.FileInfo) (uid int, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(stat.Uid), true
}
