package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

// serverName is the name by which the test program is a server: its loop must not share a process
// with the generator, which keeps the scheduler from seeing its system calls.
const serverName = "load-test-server"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == serverName {
		standInForServer(os.Args[1])
	}
	os.Exit(m.Run())
}

// standInForServer redirects, until standard input is at its end. If kind says so, every 100th answer
// is none, or every 10th the last of its connection.
func standInForServer(kind string) {
	var count atomic.Int64
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch n := count.Add(1); {
		case kind == "missing" && n%100 == 0:
			http.NotFound(w, r)
		case kind == "bounded" && n%10 == 0:
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, Target(0), http.StatusFound)
		case kind == "closing" && n%100 == 0:
			panic(http.ErrAbortHandler)
		default:
			http.Redirect(w, r, Target(0), http.StatusFound) // with a body
		}
	})}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go func() { _ = server.Serve(listener) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// startServer starts the stand-in and returns its address and process.
func startServer(t *testing.T, kind string) (address string, pid int) {
	t.Helper()
	self, err := os.Executable()
	expect.OK(t, err)
	cmd := exec.Command(self, kind)
	cmd.Args[0], cmd.Stderr = serverName, io.Discard
	input, err := cmd.StdinPipe()
	expect.OK(t, err)
	out, err := cmd.StdoutPipe()
	expect.OK(t, err)
	expect.OK(t, cmd.Start())
	t.Cleanup(func() {
		input.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	expect.OK(t, err)
	return strings.TrimSpace(line), cmd.Process.Pid
}

func (s *Spec) short(address string, pid int) *Spec {
	s.Address, s.Processes, s.Links, s.WarmUp, s.Length = address, []int{pid}, 100, 20*time.Millisecond, 200*time.Millisecond
	return s
}

// runLongEnough runs a load again, for longer, if a busy machine took all of its time.
func runLongEnough(t *testing.T, s *Spec) *Report {
	t.Helper()
	for range 5 {
		r, err := Run(s)
		expect.OK(t, err)
		if r.Answers >= 32 {
			return r
		}
		s.Length *= 2
	}
	t.Fatal("five loads had no 32 answers each")
	return nil
}

func TestEveryRequestOfALoadIsAnswered(t *testing.T) {
	address, pid := startServer(t, "whole")
	for name, spec := range map[string]*Spec{
		"closed":       {Connections: 4, Pipeline: 1},
		"pipelined":    {Connections: 4, Pipeline: 16, Visitors: true},
		"open":         {Connections: 16, Pipeline: 1, Rate: 500, Visitors: true},
		"open, asleep": {Connections: 16, Pipeline: 1, Rate: 500, Sleep: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := runLongEnough(t, spec.short(address, pid))
			expect.That(t, r.Answers != 0 && r.AnswersInAll >= r.Answers && r.CPU > 0 && r.Own > 0 && r.P50 > 0 && r.P99 >= r.P50, "got %+v", r)
			expect.That(t, r.Reconnected <= 0, "connections made again: %d", r.Reconnected)
			n := uint64(spec.Pipeline)
			expect.Equal(t, r.AnswersInAll%n, 0, "%d answers are no multiple of %d", r.AnswersInAll, n)
		})
	}
}

func TestRequestsAfterTheLastAnswerAreSentAgain(t *testing.T) {
	address, pid := startServer(t, "bounded")
	for name, spec := range map[string]*Spec{
		"closed": {Connections: 4, Pipeline: 1}, "pipelined": {Connections: 4, Pipeline: 16}, "open": {Connections: 16, Pipeline: 1, Rate: 500},
	} {
		r, err := Run(spec.short(address, pid))
		expect.OK(t, err, name)
		expect.That(t, r.Reconnected != 0 && r.AnswersInAll%uint64(spec.Pipeline) == 0, "%s: %d connections made again, %d answers", name, r.Reconnected, r.AnswersInAll)
	}
}

func TestRequestsThatCouldNotBeSentCountAsLate(t *testing.T) {
	address, pid := startServer(t, "whole")
	r, err := Run((&Spec{Connections: 1, Pipeline: 1, Rate: 10_000_000}).short(address, pid))
	expect.OK(t, err)
	expect.That(t, r.Unsent >= r.Answers && r.P50 >= r.Elapsed/10 && r.P99 <= r.Elapsed+time.Second, "got %+v", r)
}

func TestAWrongAnswerEndsALoad(t *testing.T) {
	for kind, want := range map[string]string{"missing": "404 Not Found", "closing": "closed a connection"} {
		address, pid := startServer(t, kind)
		_, err := Run((&Spec{Connections: 2, Pipeline: 1}).short(address, pid))
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v, want an error with %q", kind, err, want)
	}
}

func TestChoresAreDoneBesideALoad(t *testing.T) {
	address, pid := startServer(t, "whole")
	long := "POST /long HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n" + strings.Repeat("x", 3_000_000) // more than the kernel takes at once
	for name, spec := range map[string]*Spec{
		"closed": {Connections: 4, Pipeline: 1}, "open": {Connections: 16, Pipeline: 1, Rate: 500}, "asleep": {Connections: 16, Pipeline: 1, Rate: 500, Sleep: true},
	} {
		spec.short(address, pid).Chores = []Chore{
			{Address: address, Request: []byte("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"), Status: 302, Every: time.Millisecond, Connections: 4},
			{Address: address, Request: []byte(long), Status: 302, Every: 50 * time.Millisecond, Connections: 1},
		}
		r, err := Run(spec)
		expect.OK(t, err, name)
		expect.That(t, len(r.Chores) == 2 && r.Chores[0] >= 2 && r.Chores[0] <= 220 && r.Chores[1] >= 1 && r.Chores[1] <= 4, "%s: answers to chores: %v", name, r.Chores)
	}
}

func TestAWrongAnswerToAChoreEndsALoad(t *testing.T) {
	address, pid := startServer(t, "whole")
	spec := (&Spec{Connections: 2, Pipeline: 1}).short(address, pid)
	spec.Chores = []Chore{{Address: address, Request: []byte("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"), Status: 201, Every: time.Millisecond, Connections: 1}}
	_, err := Run(spec)
	expect.That(t, err != nil && strings.Contains(err.Error(), `"HTTP/1.1 201 "`), "got %v", err)
}

func TestTheLengthOfAPlainAnswer(t *testing.T) {
	created := []byte("HTTP/1.1 201 ")
	const whole = "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc"
	for cut := range len(whole) {
		if n, _, err := answerLength([]byte(whole[:cut]), created); n != 0 || err != nil {
			t.Errorf("%q: got %d, %v", whole[:cut], n, err)
		}
	}
	n, _, err := answerLength([]byte(whole+"d"), created)
	expect.That(t, n == len(whole) && err == nil, "got %d, %v", n, err)
	if n, _, err := answerLength([]byte("HTTP/1.1 201 Created\r\n\r\n"), created); err == nil {
		t.Errorf("an answer without a length: got %d", n)
	}
}

func TestALoadWithoutServerFails(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:1": "connect", "192.0.2.1:80": "loopback", "localhost:80": "loopback", "[::1]:80": "loopback",
	} {
		_, err := Run((&Spec{Connections: 1, Pipeline: 1}).short(address, os.Getpid()))
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v, want an error with %q", address, err, want)
	}
	expect.That(t, expect.Err(Run(&Spec{Address: "127.0.0.1:1"})) != nil, "a load without connections ran")
}

func TestAProcessHasUsedTime(t *testing.T) {
	took, err := CPUTime(os.Getpid())
	expect.That(t, err == nil && took > 0, "got %v, %v", took, err)
}

func TestAQuantileIsOfTheSortedDurations(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(i))
	}
	a, b := quantile(all, 0.5), quantile(all, 0.99)
	expect.That(t, a == 500 && b == 990 && quantile(nil, 0.5) == 0, "got %d, %d", a, b)
}
