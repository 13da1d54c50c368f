package engine

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

const immutableFlag = 0x10 // FS_IMMUTABLE_FL of linux/fs.h

// immutable makes a file or folder unchangeable, even for root, until the test ends; where that is
// not possible, it skips the rest of the test.
func immutable(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	expect.OK(t, err)
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|immutableFlag))
	}
	if err != nil {
		expect.OK(t, f.Close())
		t.Skipf("no immutable files here: %v", err)
	}
	t.Cleanup(func() {
		expect.OK(t, unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags)))
		expect.OK(t, f.Close())
	})
}

// Immutable is immutable for tests outside the package.
func Immutable(t *testing.T, path string) { immutable(t, path) }
