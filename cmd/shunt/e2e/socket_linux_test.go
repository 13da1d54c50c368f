package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"shunt/cmd/shunt/socket"
	"shunt/engine/expect"

	"golang.org/x/sys/unix"
)

// restartsVariable says how often the binary is started while intruders try its socket.
const restartsVariable = "SHUNTTEST_RESTARTS"

// An intruder tries all the time to open the socket of a data folder that everybody may enter. If
// it succeeded, it could get a token.
type intruder struct {
	path            string
	stop            atomic.Bool
	goroutines      sync.WaitGroup
	tried, looked   atomic.Int64
	entered, opened atomic.Int64 // the socket let it in; the socket had permission bits for others
}

// intrude makes the folder of the socket accessible to everybody, and starts an intruder. As root,
// it connects as another user; in any case, it checks whether others could connect.
func intrude(t *testing.T, dir string) *intruder {
	t.Helper()
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		expect.OK(t, os.Chmod(at, 0o777))
	}
	i := &intruder{path: filepath.Join(dir, socketName)}
	i.goroutines.Go(i.look)
	if os.Geteuid() == 0 {
		i.goroutines.Go(func() { i.connectAs(65534) })
	}
	return i
}

func (i *intruder) look() {
	for !i.stop.Load() {
		if info, err := os.Lstat(i.path); err == nil {
			i.looked.Add(1)
			if info.Mode().Perm()&0o077 != 0 {
				i.opened.Add(1)
			}
		}
	}
}

// connectAs connects as another user, on a thread of its own, which ends with the call.
func (i *intruder) connectAs(uid int) {
	runtime.LockOSThread()
	_ = unix.Setfsgid(uid)
	_ = unix.Setfsuid(uid)
	for !i.stop.Load() {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			continue
		}
		i.tried.Add(1)
		for _, path := range []string{i.path, filepath.Join(filepath.Dir(i.path), ".bind", "s")} {
			if unix.Connect(fd, &unix.SockaddrUnix{Name: path}) == nil {
				i.entered.Add(1)
			}
		}
		_ = unix.Close(fd)
	}
}

// wantShutOut ends the intruder, and fails if the intruder ever got in.
func (i *intruder) wantShutOut(t *testing.T, starts uint64) {
	t.Helper()
	i.stop.Store(true)
	i.goroutines.Wait()
	t.Logf("%d starts, checked %d times: open %d times; %d attempts to connect: %d connections",
		starts, i.looked.Load(), i.opened.Load(), i.tried.Load(), i.entered.Load())
	opened, entered := i.opened.Load(), i.entered.Load()
	expect.That(t, opened+entered <= 0, "in %d starts the socket was open to others %d times, and let them in %d times, want never", starts, opened, entered)
}

func TestTheSocketIsNeverOpenToOthers(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	i := intrude(t, dir)
	const starts = 200
	for range starts {
		ln, err := socket.Listen(filepath.Join(dir, socketName))
		expect.OK(t, err)
		mode(t, filepath.Join(dir, socketName), fs.ModeSocket|0o600)
		expect.OK(t, ln.Close())
	}
	i.wantShutOut(t, starts)
	entries, err := os.ReadDir(dir)
	expect.That(t, err == nil && len(entries) == 0, "at the end the folder has %v, %v, want nothing", entries, err)
}

func TestNobodyEntersTheSocketDuringRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	i := intrude(t, dir)
	starts := numberOf(t, restartsVariable, 4)
	for n := range starts {
		p := launchThrough(t, []string{"sh", "-c", `umask 000; exec "$0" "$@"`}, dir, "--allow-open-data").waitReady()
		if n%2 == 0 {
			p.terminate()
		} else {
			p.kill()
		}
	}
	i.wantShutOut(t, starts)
}

func TestTheSocketOfAKilledServerIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, socketName)
	left, err := net.Listen("unix", path)
	expect.OK(t, err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	expect.OK(t, left.Close())
	expect.OK(t, os.MkdirAll(filepath.Join(dir, ".bind", "x"), 0o777)) // as after a kill in the middle of a start
	ln, err := socket.Listen(path)
	expect.OK(t, err)
	defer ln.Close()
	conn, err := new(net.Dialer).DialContext(context.Background(), "unix", path)
	expect.OK(t, err, "connecting to the new socket")
	conn.Close()
	expect.That(t, !exists(t, filepath.Join(dir, ".bind")), "the folder in which the socket was bound still exists")
}

func TestAFileAtTheSocketPathIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), socketName)
	expect.OK(t, os.WriteFile(path, []byte("mine"), 0o600))
	if ln, err := socket.Listen(path); err == nil {
		ln.Close()
		t.Error("a file was replaced by the socket")
	} else if !strings.Contains(err.Error(), path+" is in the way") {
		t.Errorf("got %v, want the file named", err)
	}
	text, err := os.ReadFile(path)
	expect.Equal(t, string(text), "mine", "the file has %q, %v", text, err)
}

// Commands and serve alike refuse a folder that every user may write to. A group may: Kubernetes
// gives a volume to one (fsGroup).
func TestAFolderThatEverybodyMayWriteToIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	dir, journal := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "journal")
	shunt(t, "", nil, "token", "add", "--name", "a", "--init", "--data", dir).want(t, exitDone, tokenLine.String(), "made a store")
	password := passwordFile(t)
	backup := filepath.Join(t.TempDir(), "backup")
	shunt(t, "", nil, "backup", backup, "--data", dir).want(t, exitDone, ".", ".")
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	commands := [][]string{
		serve, {"ls"}, {"token", "ls"}, {"add", "https://example.org"}, {"user", "ls"}, {"export"}, {"check"}, {"backup", backup + "2"},
		{"restore", backup}, {"user", "passwd", "admin", "--password-file", password}, {"cluster", "leave"}, {"user", "setup-link"},
	}
	for _, mode := range []os.FileMode{0o777, 0o702, 0o772} {
		expect.OK(t, os.Chmod(dir, mode))
		text := fmt.Sprintf(`every user of this machine may write to the data folder %s \(mode %04o\); run: chmod o-w %[1]s .*--allow-open-data`, regexp.QuoteMeta(dir), mode)
		for _, args := range commands {
			shunt(t, "", nil, append(args, "--data", dir)...).want(t, exitFailed, "", text)
		}
	}
	p := launch(t, dir, "--allow-open-data").waitReady()
	shunt(t, "", nil, "token", "ls", "--data", dir).want(t, exitFailed, "", "--allow-open-data")
	shunt(t, "", []string{"SHUNT_ALLOW_OPEN_DATA=true"}, "token", "ls", "--data", dir).want(t, exitDone, ".", "")
	p.terminate()

	expect.OK(t, errors.Join(os.Chmod(dir, 0o770), os.Mkdir(journal, 0o700), os.Chmod(journal, 0o777)))
	shunt(t, "", nil, append(serve, "--data", dir, "--journal-dir", journal)...).want(t, exitFailed, "",
		"every user of this machine may write to the journal folder "+regexp.QuoteMeta(journal)+".*chmod o-w")
	startServer(t, dir).terminate()
	shunt(t, "", nil, "token", "ls", "--data", dir).want(t, exitDone, ".", "")
}

// passwordFile returns a file with a password that is good enough.
func passwordFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	expect.OK(t, os.WriteFile(path, []byte("nobody-else-has-this-1\n"), 0o600))
	return path
}

// listenAs listens as another user, and returns the listener. The thread that was that user ends.
func listenAs(t *testing.T, uid int, path string) net.Listener {
	t.Helper()
	listened := make(chan error)
	var fd int
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the call
		same := ^uintptr(0)    // -1
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); errno != 0 {
			listened <- errno
			return
		}
		var err error
		if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
			err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 8))
		}
		listened <- err
	}()
	expect.OK(t, <-listened)
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	ln, err := net.FileListener(f)
	expect.OK(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

// received returns what the clients of ln have sent first. None gets an answer.
func received(ln net.Listener) (all func() string) {
	var mu sync.Mutex
	var text strings.Builder
	var clients sync.WaitGroup
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			clients.Go(func() {
				defer conn.Close()
				sent := make([]byte, 1<<12)
				n, _ := conn.Read(sent)
				mu.Lock()
				defer mu.Unlock()
				text.Write(sent[:n])
			})
		}
	}()
	return func() string {
		ln.Close()
		<-ended
		clients.Wait()
		return text.String()
	}
}

func TestACommandSendsNothingToAStrangerAtTheSocket(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user (TestWhoMayListen needs no root)")
	}
	const stranger = 65534
	password := passwordFile(t)
	commands := [][]string{{"token", "add", "--name", "b"}, {"user", "passwd", "admin", "--password-file", password}, {"ls"}, {"backup", "b"}, {"check"}, {"export"}}
	dir := t.TempDir()
	shunt(t, "", nil, "token", "add", "--name", "a", "--init", "--data", dir)
	expect.OK(t, errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)))
	all := received(listenAs(t, stranger, filepath.Join(dir, socketName)))
	expect.OK(t, os.Chmod(dir, 0o700))
	for _, args := range commands {
		shunt(t, t.TempDir(), nil, append(args, "--data", dir)...).want(t, exitFailed, "",
			"another user answers there: the socket "+regexp.QuoteMeta(filepath.Join(dir, socketName))+" is of the user with the number 65534, but the folder is of 0; nothing was sent")
	}
	expect.Equal(t, all(), "", "the stranger")
}

// A server runs as root or as the owner of its folder, and root gives it commands.
func TestRootMayServeAFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away (TestWhoMayListen needs no root)")
	}
	dir := t.TempDir()
	startServer(t, dir)
	expect.OK(t, os.Chown(dir, 65534, -1))
	shunt(t, "", nil, "token", "add", "--name", "a", "--data", dir).want(t, exitDone, tokenLine.String(), "")

	owned := t.TempDir()
	expect.OK(t, errors.Join(os.Chmod(filepath.Dir(owned), 0o755), os.Chown(owned, 65534, -1)))
	ln := listenAs(t, 65534, filepath.Join(owned, socketName))
	conn, err := socket.Dial(t.Context(), filepath.Join(owned, socketName))
	expect.OK(t, err, "the owner of the folder listens")
	conn.Close()
	ln.Close()
}

func TestAStartWarnsIfOthersMayEnterTheDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := launchThrough(t, []string{"sh", "-c", `umask 000; exec "$0" "$@"`}, dir).waitReady()
	p.terminate()
	const warning = "other users can enter the data folder"
	expect.That(t, !strings.Contains(p.stderr(), warning), "warned about a folder that it made itself:\n%s", p.stderr())
	mode(t, dir, 0o700)
	expect.OK(t, os.Chmod(dir, 0o710))
	p = startServer(t, dir)
	p.terminate()
	if s := p.stderr(); strings.Count(s, warning) != 1 || !strings.Contains(s, `"mode":"0710","run":"chmod 700 `+dir+`"`) {
		t.Errorf("for a folder that others may enter: got\n%s\nwant one line with the command to run", s)
	}
}
