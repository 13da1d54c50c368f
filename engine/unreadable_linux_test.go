package engine_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestAnUnreadableJournalIsKeptAndStopsTheStart takes the right to read a file from this process,
// root or not, and gives it back: no hit is lost.
func TestAnUnreadableJournalIsKeptAndStopsTheStart(t *testing.T) {
	l := newLife(t, 2)
	l.open(engine.Options{})
	l.hit(0, 20, 1)
	l.hit(1, 20, 1)
	l.crash()
	path := l.ringPath(1)
	expect.OK(t, os.Chmod(path, 0))
	asNobody(t, filepath.Dir(path), func() {
		expect.Error(t, l.tryOpen(engine.Options{}), fs.ErrPermission)
	})
	expect.OK(t, os.Chmod(path, 0o600))
	l.open(engine.Options{})
	expect.Equal(t, l.durable(0)+l.durable(1), 40, "hits")
	l.close()
}

// asNobody calls f with the file rights of the user nobody, who can reach dir. (Root's capabilities
// for files follow the thread's fsuid.)
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	for ; dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		expect.OK(t, os.Chmod(dir, 0o777))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := unix.SetfsuidRetUid(65534)
	expect.OK(t, err)
	defer func() {
		_, err := unix.SetfsuidRetUid(0)
		expect.OK(t, err)
	}()
	f()
}
