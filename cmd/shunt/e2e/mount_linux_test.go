package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// This file mounts file systems for a test, which fills and freezes them. Only file systems that
// were mounted here are ever frozen.
//
// A file system that stays frozen hangs every process that touches it, forever. So a separate
// process, the guardian, thaws and unmounts it in any case: its standard input ends with the test,
// even if the test is killed.

// A mount is a mounted file system.
type mount struct {
	t      *testing.T
	dir    string
	folder *os.File // dir, opened before anything is frozen

	emptyFiller func() // set by fill
}

// needRoot fails a test that mounts file systems if it does not run as root. It does not skip the
// test, because somebody has requested it, by a variable that make sets.
func needRoot(t *testing.T) {
	t.Helper()
	expect.MustEqual(t, os.Geteuid(), 0, "this test mounts file systems, so it needs to run as root")
}

// mounts mounts file systems for t, and unmounts them in reverse order when t ends.
type mounts struct {
	t        *testing.T
	guardian io.Writer
}

func newMounts(t *testing.T) *mounts {
	t.Helper()
	needRoot(t)
	t.TempDir() // removed after the mounts in it are unmounted
	self, err := os.Executable()
	expect.OK(t, err)
	cmd := exec.Command(self)
	cmd.Args[0] = guardianName
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // a signal to the test's group does not reach the guardian
	guardian, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	expect.OK(t, err)
	t.Cleanup(func() {
		guardian.Close()
		expect.NoError(t, cmd.Wait(), "unmounting")
	})
	return &mounts{t, guardian}
}

// tmpfs mounts a file system in memory.
func (m *mounts) tmpfs(sizeBytes int64) *mount {
	m.t.Helper()
	dir := m.t.TempDir()
	return m.mount(dir, "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=700", sizeBytes), "tmpfs", dir)
}

// loop mounts a file system of a kind, such as ext4, in a new sparse file in the folder in.
func (m *mounts) loop(kind, in string, sizeBytes int64, options string) *mount {
	m.t.Helper()
	image := filepath.Join(in, "image")
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(sizeBytes)
		f.Close()
	}
	expect.OK(m.t, err)
	m.run("mkfs."+kind, "-q", image)
	dir := m.t.TempDir()
	return m.mount(dir, "-t", kind, "-o", strings.TrimSuffix("loop,"+options, ","), image, dir)
}

func (m *mounts) mount(dir string, args ...string) *mount {
	m.t.Helper()
	fmt.Fprintln(m.guardian, dir)
	m.run("mount", args...)
	folder, err := os.Open(dir)
	expect.OK(m.t, err)
	m.t.Cleanup(func() { folder.Close() })
	return &mount{t: m.t, dir: dir, folder: folder}
}

func (m *mounts) run(name string, args ...string) {
	m.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	expect.MustThat(m.t, err == nil, "%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
}

// latestThaw is how much longer than requested a file system may stay frozen.
const latestThaw = 10 * time.Second

// freeze makes every write to m wait until thaw is called, or for d and some seconds at most. thaw
// may be called several times.
func (m *mount) freeze(d time.Duration) (thaw func()) {
	m.t.Helper()
	expect.OK(m.t, ioctl(m.folder, fiFreeze), "freezing %s", m.dir)
	thaw = sync.OnceFunc(func() {
		expect.NoError(m.t, ioctl(m.folder, fiThaw), "thawing %s", m.dir)
	})
	late := time.AfterFunc(d+latestThaw, thaw)
	m.t.Cleanup(func() {
		late.Stop()
		thaw()
	})
	return thaw
}

// sync writes all of m to its disk. That leaves its mapped pages clean, so that the next store to
// each page faults.
func (m *mount) sync() {
	m.t.Helper()
	expect.OK(m.t, unix.Syncfs(int(m.folder.Fd())))
}

const ( // of linux/fs.h
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

func ioctl(f *os.File, request uint) error { return unix.IoctlSetInt(int(f.Fd()), request, 0) }

const (
	guardianName = "shunt-test-guardian"

	// unmountAttempts is how often unmounting is tried, a tenth of a second apart: a killed process
	// may not have ended yet.
	unmountAttempts = 50
)

// standInForGuardian reads folders until its input ends, then thaws and unmounts them. Until then
// it keeps none open.
func standInForGuardian(stdin io.Reader) (code int) {
	var dirs []string
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		dirs = append(dirs, lines.Text())
	}
	for _, dir := range dirs { // the outermost first: its thaw ends what hangs in an inner one
		if f, err := os.Open(dir); err == nil {
			_ = ioctl(f, fiThaw) // EINVAL: it was not frozen
			f.Close()
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := unmount(dirs[i]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", guardianName, dirs[i], err)
			code = exitFailed
		}
	}
	return code
}

// unmount unmounts dir if it is a mount. A mount that stays busy is removed once nobody uses it any
// more.
func unmount(dir string) (err error) {
	for range unmountAttempts {
		if err = unix.Unmount(dir, 0); err == nil || err == unix.EINVAL || err == unix.ENOENT {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
}
