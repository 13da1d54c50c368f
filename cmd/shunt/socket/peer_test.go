package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"shunt/engine/expect"
)

func TestWhoMayListen(t *testing.T) {
	const root, owner, self, other = 0, 1000, 1001, 1002
	for uid, want := range map[int]bool{root: true, owner: true, self: true, other: false} {
		expect.Equal(t, mayListen(uid, owner, self), want, "user %d, in a folder of %d, asked by %d", uid, owner, self)
	}
	expect.That(t, !mayListen(other, root, root), "root trusts any user in a folder of its own")
}

func TestTheKernelNamesThePeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if _, err := Dial(t.Context(), path); err == nil || errors.Is(err, ErrStranger) {
		t.Errorf("nobody listens: got %v", err)
	}
	ln, err := net.Listen("unix", path)
	expect.OK(t, err)
	defer ln.Close()
	conn, err := Dial(context.Background(), path)
	expect.OK(t, err)
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	expect.OK(t, err)
	err = raw.Control(func(fd uintptr) {
		uid, asked, err := peerUID(int(fd))
		if err != nil || asked && uid != os.Geteuid() || runtime.GOOS == "linux" && !asked {
			t.Errorf("got user %d, asked %v, %v, want %d", uid, asked, err, os.Geteuid())
		}
	})
	expect.NoError(t, err)
}
