package conns

import (
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"time"
)

// This file is what both ways of accepting, that of a loop and that of fasthttp, do about errors of accept.

// warnSeconds is the least time between two warnings that connections cannot be accepted: there may be
// descriptors one moment and none the next.
const warnSeconds = 60

// WarnTrying logs that a connection could not be accepted because of cause, and that it is tried again.
func (t *Table) WarnTrying(cause error) {
	next, now := t.nextWarning.Load(), t.Seconds.Load()
	if now >= next && t.nextWarning.CompareAndSwap(next, now+warnSeconds) {
		t.Log.Warn("cannot accept connections; trying again", slog.Any("cause", cause))
	}
}

// NextDelay doubles the delay, from 5 ms to 250 ms, so that service resumes within a second when
// descriptors are free again.
func NextDelay(delay time.Duration) time.Duration {
	return min(max(2*delay, 5*time.Millisecond), 250*time.Millisecond)
}

// lastingErrors are those of accept that say that the socket is closed, or cannot accept. All others are
// about one connection, the network or resources: even a firewall's EPERM passes (accept(2)).
var lastingErrors = []error{syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK, syscall.EFAULT}

// Passing reports whether an error of accept is temporary.
func Passing(err error) bool {
	var errno syscall.Errno
	return IsTimeout(err) || errors.As(err, &errno) && !slices.ContainsFunc(lastingErrors, func(e error) bool { return errno == e })
}

// IsTimeout reports whether err is the end of a time limit.
func IsTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
