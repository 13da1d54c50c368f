package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWhoMayListen(t *testing.T) {
	const root, owner, self, other = 0, 1000, 1001, 1002
	for uid, want := range map[int]bool{root: true, owner: true, self: true, other: false} {
		if got := mayListen(uid, owner, self); got != want {
			t.Errorf("user %d, in a folder of %d, asked by %d: got %v, want %v", uid, owner, self, got, want)
		}
	}
	if mayListen(other, root, root) {
		t.Error("root trusts any user in a folder of its own")
	}
}

func TestTheKernelNamesThePeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if _, err := Dial(t.Context(), path); err == nil || errors.Is(err, ErrStranger) {
		t.Errorf("nobody listens: got %v", err)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := Dial(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		uid, asked, err := peerUID(int(fd))
		if err != nil || asked && uid != os.Geteuid() || runtime.GOOS == "linux" && !asked {
			t.Errorf("got user %d, asked %v, %v, want %d", uid, asked, err, os.Geteuid())
		}
	})
	if err != nil {
		t.Error(err)
	}
}
