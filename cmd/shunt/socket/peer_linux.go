package socket

import "golang.org/x/sys/unix"

// peerUID returns the user who listens at the other end of a socket (SO_PEERCRED, unix(7)).
func peerUID(fd int) (uid int, asked bool, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}
