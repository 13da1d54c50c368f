package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second
	probePause   = 5 * time.Millisecond
	logBytes     = 2000 // of a server, shown when it failed
)

// cores returns the cores that this process may use.
func cores() (all []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	for core := range len(set) * 64 {
		if set.IsSet(core) {
			all = append(all, core)
		}
	}
	return all, nil
}

// pinSelf keeps all threads of this process, and those that they start, on a core.
func pinSelf(core int) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := pin(id, core); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

func pin(thread, core int) error {
	var set unix.CPUSet
	set.Set(core)
	return unix.SchedSetaffinity(thread, &set)
}

// start starts a command on a core: a process inherits it from the thread that makes it.
func (s *site) start(cmd *exec.Cmd, core int) error {
	// A server must not outlive this process. SIGTERM, because nginx ends its workers then.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := pin(0, core); err != nil {
		return err
	}
	return errors.Join(cmd.Start(), pin(0, s.load))
}

// A process is a running server.
type process struct {
	*server
	*place
	site  *site
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when err is set
	err   error
}

// run starts a server on the server's core and waits until it is ready.
func (s *site) run(ctx context.Context, name string) (*process, error) {
	p := &process{server: s.serverOf(name), site: s, name: name, ended: make(chan struct{})}
	program, err := s.find(p.program)
	if err != nil {
		return nil, err
	}
	if p.place, err = s.place(); err != nil {
		return nil, err
	}
	if p.cmd, err = p.command(program, p.place); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), p.removeFolders())
	}
	log, err := os.Create(p.log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := s.start(p.cmd, s.server); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if err := p.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// awaitReady waits until the server answers as it must. shunt redirects before it has loaded its links, so it is also
// awaited that it has.
func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.await(ctx, p.answers); err != nil || p.program != "shunt" {
		return err
	}
	return p.await(ctx, p.loaded)
}

// loaded returns an error as long as shunt loads its links.
func (p *process) loaded() error {
	answer, err := prober.Get("http://" + p.admin + "/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && !bytes.Contains(text, []byte("\nshunt_loading_ratio 1\n")) {
		err = errors.New("links are not loaded")
	}
	return err
}

// await waits until probe returns nil.
func (p *process) await(ctx context.Context, probe func() error) error {
	for {
		last := probe()
		if last == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended at its start: %w\n%s", p.name, p.err, p.lastLog())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer as it must (%w): %w\n%s", p.name, last, ctx.Err(), p.lastLog())
		case <-time.After(probePause):
		}
	}
}

var prober = http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       time.Second,
}

// answers returns an error unless the server answers for its code with its status.
func (p *process) answers() error {
	answer, err := prober.Get("http://" + p.address + "/" + p.code)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != p.status {
		return errors.New(answer.Status)
	}
	return nil
}

func (p *process) lastLog() []byte {
	log, err := os.ReadFile(p.log())
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-logBytes):]
}

// ids returns the processes of the server: the one that was started, and its children.
func (p *process) ids() ([]int, error) {
	ids := []int{p.cmd.Process.Pid}
	name := fmt.Sprintf("/proc/%d/task/%[1]d/children", ids[0])
	children, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for _, child := range strings.Fields(string(children)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// stop ends the server and removes its folders. It returns an error if the server had ended before.
func (p *process) stop() (err error) {
	defer func() { err = errors.Join(err, p.removeFolders()) }()
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended by itself: %w\n%s", p.name, p.err, p.lastLog())
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end within %v", p.name, stopTimeout)
	}
}

// version returns the first line that a program prints when it is asked for its version.
func (s *site) version(program string, args ...string) string {
	file, err := s.find(program)
	if err != nil {
		return program + " not installed"
	}
	out, _ := exec.Command(file, args...).CombinedOutput() // what prints its version may exit with 1
	first, _, _ := bytes.Cut(out, []byte("\n"))
	return strings.TrimSpace(string(first))
}
