package e2e

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
)

// binary is the path of the program under test, built by TestMain, or by that of the test that runs this program
// again.
var binary string

const binaryEnv = "SHUNTTEST_BINARY"

// killAtDeadline kills a process that neither does what t waits for nor ends, shortly before go
// test would end t and leave the process running. The limit is that of t itself, because a test
// with a user's own addresses may take long.
func killAtDeadline(t *testing.T, p *os.Process) (timeout *time.Timer) {
	return time.AfterFunc(processTimeout(t.Deadline()), func() { _ = p.Kill() })
}

func processTimeout(deadline time.Time, limited bool) time.Duration {
	if !limited {
		return time.Hour
	}
	return time.Until(deadline) - 5*time.Second
}

// standIns are the programs that the test program also is, by the name under which it is started. Linux
// has more.
var standIns = map[string]func() (code int){
	"curl":     func() int { return standInForCurl(os.Args[1:], os.Stdout) },
	killerName: func() int { return standInForKiller(os.Args[1:], os.Stdout) },
	busyName:   func() int { return standInForBusyLoop(os.Args[1:]) },
}

func TestMain(m *testing.M) {
	if standIn := standIns[filepath.Base(os.Args[0])]; standIn != nil {
		os.Exit(standIn())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shunt-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, variable := range os.Environ() { // only the tests set variables
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, envPrefix) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("TZ", "UTC")                                               // a date is a day of the local zone
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // they wait more than they compute; -parallel decides
	if binary = os.Getenv(binaryEnv); binary != "" {
		return m.Run()
	}
	binary = filepath.Join(dir, "shunt")
	// Never with -race: such builds keep the journal on the heap, so a killed process would lose its
	// hits.
	if err := build(binary, buildTags); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds the program with some tags.
func build(program, tags string) error {
	cmd := exec.Command("go", "build", "-tags", tags, "-o", program, "shunt/cmd/shunt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does: without cgo the store's memory comes from Go
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return nil
}

// readSources opens every file that the binary is built from, so that go test does not show a
// cached result of another binary. A test must call it: files that TestMain opens do not count.
var readSources = sync.OnceFunc(func() {
	for _, dir := range []string{"..", "../../../api", "../../../engine", "../../../storage"} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, "_test.go") {
				_, _ = os.ReadFile(path)
			}
			return nil
		})
	}
	_, _ = os.ReadFile("../../../go.mod")
})

// A result is the outcome of a command.
type result struct {
	stdout, stderr string
	code           int
	command        string
}

// done ends the test if the command failed, and returns what it printed.
func (r result) done(t testing.TB) string {
	t.Helper()
	expect.MustEqual(t, r.code, exitDone, "%s: exit code: %s%s", r.command, r.stdout, r.stderr)
	return r.stdout
}

// shunt runs the binary to its end in folder dir, with env added to the environment.
func shunt(t *testing.T, dir string, env []string, args ...string) result {
	t.Helper()
	return ran(t, dir, env, nil, append([]string{binary}, args...)...)
}

// ran runs a command to its end in folder dir, with env added to the environment.
func ran(t *testing.T, dir string, env []string, stdin io.Reader, command ...string) result {
	t.Helper()
	readSources()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	expect.OK(t, cmd.Start())
	defer killAtDeadline(t, cmd.Process).Stop()
	_ = cmd.Wait() // its error is in the exit code
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), strings.Join(command, " ")}
}

// A process is a running `shunt serve`.
type process struct {
	t             *testing.T
	cmd           *exec.Cmd
	dir           string // its data folder
	public, admin string // http://host:port; public may be https://
	ended         chan struct{}
	listening     chan struct{} // public and admin are known
	ready         chan struct{}
	watch         atomic.Pointer[func(line string)] // called with each line that the process logs

	mu struct {
		sync.Mutex
		stderr strings.Builder
	}
}

// startServer starts the binary on dir and free ports, and returns when it is ready. It is killed
// when the test ends.
func startServer(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return launch(t, dir, args...).waitReady()
}

// waitReady waits until p is ready and returns it.
func (p *process) waitReady() *process {
	p.t.Helper()
	select {
	case <-p.ready:
	case <-p.ended:
		p.t.Fatalf("serve ended before it was ready:\n%s", p.stderr())
	}
	return p
}

// launch starts the binary on dir and free ports.
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return launchThrough(t, nil, dir, args...)
}

// launchThrough does what launch does, through a command that becomes the binary, such as nice or
// prlimit.
func launchThrough(t *testing.T, starter []string, dir string, args ...string) *process {
	t.Helper()
	return launchProgram(t, binary, nil, starter, dir, args...)
}

// launchProgram does what launchThrough does with any program, and passes files to it, from descriptor 3 on.
func launchProgram(t *testing.T, program string, files []*os.File, starter []string, dir string, args ...string) *process {
	t.Helper()
	command := append(slices.Clone(starter), program, "serve",
		"--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json")
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.ExtraFiles = files
	return launchCommand(t, cmd, dir)
}

// launchCommand starts a command that serves dir.
func launchCommand(t *testing.T, cmd *exec.Cmd, dir string) *process {
	t.Helper()
	readSources()
	p := &process{t: t, cmd: cmd, dir: dir, ended: make(chan struct{}), listening: make(chan struct{}), ready: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	expect.OK(t, err)
	expect.OK(t, p.cmd.Start())
	timeout := killAtDeadline(t, p.cmd.Process)
	go func() {
		p.read(stderr)
		_ = p.cmd.Wait() // its error is in the exit code
		timeout.Stop()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

var ( // in text or JSON
	listeningLine = regexp.MustCompile(`msg"?[:=]"?listening.* ?public"?[:=]"?(https?://[\d.:[\]]+)"?[, ]"?admin"?[:=]"?(http://[\d.:[\]]+)`)
	readyLine     = regexp.MustCompile(`msg"?[:=]"?ready\b`)
)

// read keeps the log of the process, and finds the addresses in it.
func (p *process) read(stderr io.Reader) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		p.mu.stderr.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if watch := p.watch.Load(); watch != nil {
			(*watch)(lines.Text())
		}
		if found := listeningLine.FindStringSubmatch(lines.Text()); found != nil {
			p.public, p.admin = found[1], found[2]
			close(p.listening)
		}
		if readyLine.MatchString(lines.Text()) {
			close(p.ready)
		}
	}
}

func (p *process) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.stderr.String()
}

// lastWords returns the end of what the process has logged.
func (p *process) lastWords() string {
	const words = 20
	lines := strings.SplitAfter(p.stderr(), "\n")
	return strings.Join(lines[max(0, len(lines)-words):], "")
}

// terminate sends SIGTERM and checks that the exit code is 0.
func (p *process) terminate() {
	p.t.Helper()
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	expect.MustThat(p.t, err == nil, "SIGTERM: %v:\n%s", err, p.stderr())
	<-p.ended
	expect.MustEqual(p.t, p.cmd.ProcessState.ExitCode(), exitDone, "SIGTERM: got exit code, want 0:\n%s", p.stderr())
}

// kill sends SIGKILL and waits for the end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// journalInMemory returns the arguments of a server whose journal is in memory, none if this machine
// has no room for that. A kill leaves such a journal as it leaves one on a disk. But hits that come
// while the disk does not answer are lost in a kill, and on a busy machine a disk may take that long.
func journalInMemory(t *testing.T) []string {
	t.Helper()
	const dir, tmpfs, room = "/dev/shm", 0x01021994, 256 << 20 // TMPFS_MAGIC of linux/magic.h
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Type != tmpfs || uint64(s.Bavail)*uint64(s.Bsize) < room {
		return nil
	}
	journal, err := os.MkdirTemp(dir, "shunt-test-journal-")
	expect.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(journal) })
	return []string{"--journal-dir", journal}
}

// token makes a token for the running server.
func (p *process) token(scopes ...string) string {
	p.t.Helper()
	args := []string{"token", "add", "--name", "test", "--data", p.dir}
	if len(scopes) > 0 {
		args = append(args, "--scopes", strings.Join(scopes, ","))
	}
	r := shunt(p.t, "", nil, args...)
	expect.MustEqual(p.t, r.code, exitDone, "token add: exit code: %s", r.stderr)
	return strings.TrimSpace(r.stdout)
}

// killAfter sends SIGKILL to p from a separate process, so that the moment does not depend on what
// the clients are doing, and returns the time right before the signal.
func killAfter(t *testing.T, p *process, moment time.Duration) (signalled time.Time) {
	t.Helper()
	self, err := os.Executable()
	expect.OK(t, err)
	cmd := exec.Command(self, moment.String(), strconv.Itoa(p.cmd.Process.Pid))
	cmd.Args[0] = killerName
	out, err := cmd.Output()
	expect.OK(t, err, "the killer")
	nano, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	expect.OK(t, err, "the killer")
	return time.Unix(0, nano)
}

// killerName is the name under which the test program is a killer: NAME MOMENT PID.
const killerName = "shunt-test-killer"

func standInForKiller(args []string, stdout io.Writer) (code int) {
	moment, err := time.ParseDuration(args[0])
	if err != nil {
		return exitUsage
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil {
		return exitUsage
	}
	time.Sleep(moment)
	signalled := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return exitFailed
	}
	fmt.Fprintln(stdout, signalled.UnixNano())
	return exitDone
}

// writeFile writes a file into a new folder.
func writeFile(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// numberOf returns the number in a variable of the environment.
func numberOf(t *testing.T, variable string, byDefault uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return byDefault
	}
	n, err := strconv.ParseUint(text, 10, 64)
	expect.OK(t, err, variable)
	return n
}

// closed reports whether c, on which nothing is sent, is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// rest waits for d, and reports whether over is still open.
func rest(over <-chan struct{}, d time.Duration) bool {
	select {
	case <-over:
		return false
	case <-time.After(d):
		return true
	}
}
