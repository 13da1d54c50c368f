//go:build darwin || freebsd

package socket

import "golang.org/x/sys/unix"

// solLocal is SOL_LOCAL: options of local sockets (unix(4)).
const solLocal = 0

// peerUID returns the user who listens at the other end of a socket (LOCAL_PEERCRED, unix(4)).
func peerUID(fd int) (uid int, asked bool, err error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}
