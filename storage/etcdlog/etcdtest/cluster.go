// Package etcdtest runs real etcd servers as child processes, and proxies that hold, drop and change
// what goes between them and their clients. Only tests may use it. The servers come from
// make cluster-test; without them tests are skipped.
package etcdtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Env names the file of etcd's server.
const Env = "SHUNTTEST_ETCD"

// A Cluster is etcd servers on loopback. It belongs to one test.
type Cluster struct {
	t       testing.TB
	dir     string
	args    []string
	Members []*Member
}

// A Member is one server. It is a child process, except between Kill and Start.
type Member struct {
	Endpoint string
	cluster  *Cluster
	name     string
	peer     string
	cmd      *exec.Cmd
	said     *bytes.Buffer
	ended    chan struct{}
}

// Start starts n servers, with more arguments if there are any, and waits until they answer. They
// end with the test. Without servers it skips the test.
func Start(t testing.TB, n int, args ...string) *Cluster {
	t.Helper()
	if os.Getenv(Env) == "" {
		t.Skip("make cluster-test runs it: it needs etcd's server, in " + Env)
	}
	c := &Cluster{t: t, dir: t.TempDir(), args: args}
	free := freeAddresses(t, 2*n)
	for i := range n {
		c.Members = append(c.Members, &Member{Endpoint: free[2*i], peer: free[2*i+1], name: fmt.Sprintf("m%d", i), cluster: c})
	}
	t.Cleanup(func() {
		for _, m := range c.Members {
			m.Kill()
		}
	})
	for _, m := range c.Members {
		m.Start()
	}
	c.Await()
	return c
}

// freeAddresses returns n addresses that nobody listens on. All are held until the last is chosen, so
// that none comes twice.
func freeAddresses(t testing.TB, n int) (free []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		free = append(free, l.Addr().String())
	}
	return free
}

// Endpoints are those of all servers.
func (c *Cluster) Endpoints() (endpoints []string) {
	for _, m := range c.Members {
		endpoints = append(endpoints, m.Endpoint)
	}
	return endpoints
}

// Start starts the server, again if it has been killed.
func (m *Member) Start() {
	m.cluster.t.Helper()
	var peers []string
	for _, other := range m.cluster.Members {
		peers = append(peers, other.name+"=http://"+other.peer)
	}
	args := []string{
		"--name", m.name, "--data-dir", filepath.Join(m.cluster.dir, m.name), "--log-level", "error",
		"--listen-client-urls", "http://" + m.Endpoint, "--advertise-client-urls", "http://" + m.Endpoint,
		"--listen-peer-urls", "http://" + m.peer, "--initial-advertise-peer-urls", "http://" + m.peer,
		"--initial-cluster", strings.Join(peers, ","), "--initial-cluster-state", "new", "--snapshot-catchup-entries", "200",
	}
	m.cmd = exec.Command(os.Getenv(Env), append(args, m.cluster.args...)...)
	m.said, m.ended = &bytes.Buffer{}, make(chan struct{})
	m.cmd.Stdout, m.cmd.Stderr = m.said, m.said
	if err := m.cmd.Start(); err != nil {
		m.cluster.t.Fatal(err)
	}
	go func() { _ = m.cmd.Wait(); close(m.ended) }()
}

// Kill ends the server at once, and returns when it has ended.
func (m *Member) Kill() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill() // it may have ended
		<-m.ended
	}
}

// PID is the id of the server's process.
func (m *Member) PID() int { return m.cmd.Process.Pid }

// Pause stops the server: it keeps its connections and answers nothing.
func (m *Member) Pause() { m.signal(syscall.SIGSTOP) }

// Resume ends a pause.
func (m *Member) Resume() { m.signal(syscall.SIGCONT) }

func (m *Member) signal(s syscall.Signal) {
	m.cluster.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.cluster.t.Fatal(err)
	}
}

// Await waits until most servers answer a read.
func (c *Cluster) Await() {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if c.answers() {
			return
		}
	}
	for _, m := range c.Members {
		c.t.Logf("%s said %s", m.name, m.said)
	}
	c.t.Fatal("the servers do not answer")
}

func (c *Cluster) answers() bool {
	client := c.Client()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := client.Get(ctx, "x")
	return err == nil
}

// Client returns a client of all servers, which the caller closes.
func (c *Cluster) Client() *clientv3.Client {
	c.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// Leader returns the server that leads the others, as soon as one does.
func (c *Cluster) Leader() *Member {
	c.t.Helper()
	client := c.Client()
	defer client.Close()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, m := range c.Members {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			status, err := client.Status(ctx, "http://"+m.Endpoint)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				return m
			}
		}
	}
	c.t.Fatal("no server leads")
	return nil
}
