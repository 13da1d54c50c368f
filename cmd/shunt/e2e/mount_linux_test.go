package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// File systems of a test's own, which it fills and freezes. Only what was mounted here is ever
// frozen.
//
// A frozen file system that stays hangs every process that touches it, for good. So whatever
// becomes of the test, a process of its own thaws and unmounts: the guardian, whose standard input
// ends with the test, even if that is killed.

// A mount is a mounted file system.
type mount struct {
	t      *testing.T
	dir    string
	folder *os.File // dir, opened before anything is frozen

	emptyFiller func() // set by fill
}

// needRoot ends a test that mounts file systems. The variables that ask for such tests are set by
// make; whoever asks for one and cannot have it must be told.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts file systems, so it needs to run as root")
	}
}

// mounts mounts file systems for t, and unmounts them in reverse when t ends.
type mounts struct {
	t        *testing.T
	guardian io.Writer
}

func newMounts(t *testing.T) *mounts {
	t.Helper()
	needRoot(t)
	t.TempDir() // removed after what is mounted in it is unmounted
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args[0] = guardianName
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // a signal to the test's group is not one to its guardian
	guardian, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		guardian.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return &mounts{t, guardian}
}

// tmpfs mounts a file system in memory.
func (m *mounts) tmpfs(sizeBytes int64) *mount {
	m.t.Helper()
	dir := m.t.TempDir()
	return m.mount(dir, "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=700", sizeBytes), "tmpfs", dir)
}

// loop mounts a file system of a kind, such as ext4, in a sparse file that is made in a folder.
func (m *mounts) loop(kind, in string, sizeBytes int64, options string) *mount {
	m.t.Helper()
	image := filepath.Join(in, "image")
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(sizeBytes)
		f.Close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.run("mkfs."+kind, "-q", image)
	dir := m.t.TempDir()
	return m.mount(dir, "-t", kind, "-o", strings.TrimSuffix("loop,"+options, ","), image, dir)
}

func (m *mounts) mount(dir string, args ...string) *mount {
	m.t.Helper()
	fmt.Fprintln(m.guardian, dir)
	m.run("mount", args...)
	folder, err := os.Open(dir)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { folder.Close() })
	return &mount{t: m.t, dir: dir, folder: folder}
}

func (m *mounts) run(name string, args ...string) {
	m.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		m.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// latestThaw is how much longer than it was to be a file system stays frozen at most.
const latestThaw = 10 * time.Second

// freeze makes whoever writes to m wait, for d at most and some seconds, until thaw is called,
// which may be called often.
func (m *mount) freeze(d time.Duration) (thaw func()) {
	m.t.Helper()
	if err := ioctl(m.folder, fiFreeze); err != nil {
		m.t.Fatalf("freezing %s: %v", m.dir, err)
	}
	thaw = sync.OnceFunc(func() {
		if err := ioctl(m.folder, fiThaw); err != nil {
			m.t.Errorf("thawing %s: %v", m.dir, err)
		}
	})
	late := time.AfterFunc(d+latestThaw, thaw)
	m.t.Cleanup(func() {
		late.Stop()
		thaw()
	})
	return thaw
}

// sync writes all of m to its disk, which leaves its mapped pages clean: the next store to each of
// them faults.
func (m *mount) sync() {
	m.t.Helper()
	if err := unix.Syncfs(int(m.folder.Fd())); err != nil {
		m.t.Fatal(err)
	}
}

const ( // of linux/fs.h
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

func ioctl(f *os.File, request uint) error { return unix.IoctlSetInt(int(f.Fd()), request, 0) }

const (
	guardianName = "shunt-test-guardian"

	// unmountAttempts, a tenth of a second each: whoever was killed may still be ending.
	unmountAttempts = 50
)

// standInForGuardian reads folders until its input ends, then thaws and unmounts them. It holds
// none of them open before.
func standInForGuardian(stdin io.Reader) (code int) {
	var dirs []string
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		dirs = append(dirs, lines.Text())
	}
	for _, dir := range dirs { // from the outermost on: what hangs in an inner one ends by the outer one's thaw
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

// unmount unmounts dir if it is a mount. What stays busy goes once nobody uses it any more.
func unmount(dir string) (err error) {
	for range unmountAttempts {
		if err = unix.Unmount(dir, 0); err == nil || err == unix.EINVAL || err == unix.ENOENT {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
}

// blockedThreads returns the kernel's stacks of those threads of a process that wait
// uninterruptibly, with their number.
func blockedThreads(pid int) (stacks map[string]int) {
	stacks = map[string]int{}
	tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*"))
	for _, task := range tasks {
		stat, err := os.ReadFile(filepath.Join(task, "stat"))
		if err != nil || !strings.Contains(string(stat), ") D ") {
			continue
		}
		stack, err := os.ReadFile(filepath.Join(task, "stack"))
		if err == nil {
			stacks[frames(string(stack))]++
		}
	}
	return stacks
}

// frames returns the functions of a kernel stack, outermost last.
func frames(stack string) string {
	var names []string
	for line := range strings.SplitSeq(stack, "\n") {
		if _, name, found := strings.Cut(line, "] "); found {
			name, _, _ = strings.Cut(name, "+")
			names = append(names, name)
		}
	}
	return strings.Join(names, " < ")
}
