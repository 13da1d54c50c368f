package etcdtest

import (
	"context"
	"crypto/tls"
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
	t   testing.TB
	dir string
	options
	Members []*Member
}

// options are how the servers of a Cluster are started.
type options struct {
	apart bool        // they reach each other by way of proxies
	tls   *tls.Config // of clients; nil: they use plain HTTP
	args  []string
}

// scheme is that of the servers for clients.
func (o *options) scheme() string {
	if o.tls != nil {
		return "https://"
	}
	return "http://"
}

// A Member is one server. It is a child process, except between Kill and Start.
type Member struct {
	Endpoint string
	cluster  *Cluster
	Name     string
	peer     string // where it listens for the other servers
	shown    string // where the others reach it
	between  *Proxy // from the others to it; nil: none
	cmd      *exec.Cmd
	ended    chan struct{}
}

// Start starts n servers, with more arguments if there are any, and waits until they answer. They
// end with the test. Without servers it skips the test.
func Start(t testing.TB, n int, args ...string) *Cluster {
	t.Helper()
	return start(t, n, options{args: args})
}

// StartApart is Start for servers that reach each other by way of proxies, so that one can be cut off.
func StartApart(t testing.TB, n int, args ...string) *Cluster {
	t.Helper()
	return start(t, n, options{apart: true, args: args})
}

// StartTLS is Start for servers whose clients need a certificate. The files are a server's certificate, its
// key, and that of the authority that signs those of clients; client is used by Client and Await.
func StartTLS(t testing.TB, n int, cert, key, authority string, client *tls.Config, args ...string) *Cluster {
	t.Helper()
	return start(t, n, options{tls: client, args: append([]string{
		"--cert-file", cert, "--key-file", key, "--trusted-ca-file", authority, "--client-cert-auth",
	}, args...)})
}

func start(t testing.TB, n int, o options) *Cluster {
	t.Helper()
	if os.Getenv(Env) == "" {
		t.Skip("make cluster-test runs it: it needs etcd's server, in " + Env)
	}
	c := &Cluster{t: t, dir: t.TempDir(), options: o}
	free := freeAddresses(t, 2*n)
	for i := range n {
		m := &Member{Endpoint: free[2*i], peer: free[2*i+1], shown: free[2*i+1], Name: fmt.Sprintf("m%d", i), cluster: c}
		if o.apart {
			m.between = NewProxy(t, m.peer)
			m.shown = m.between.Endpoint
		}
		c.Members = append(c.Members, m)
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
		peers = append(peers, other.Name+"=http://"+other.shown)
	}
	args := []string{
		"--name", m.Name, "--data-dir", filepath.Join(m.cluster.dir, m.Name), "--log-level", "error",
		"--listen-client-urls", m.cluster.scheme() + m.Endpoint, "--advertise-client-urls", m.cluster.scheme() + m.Endpoint,
		"--listen-peer-urls", "http://" + m.peer, "--initial-advertise-peer-urls", "http://" + m.shown,
		"--initial-cluster", strings.Join(peers, ","), "--initial-cluster-state", "new", "--snapshot-catchup-entries", "200",
	}
	m.cmd = exec.Command(os.Getenv(Env), append(args, m.cluster.args...)...)
	log, err := os.OpenFile(m.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		m.cluster.t.Fatal(err)
	}
	defer log.Close()
	m.cmd.Stdout, m.cmd.Stderr, m.ended = log, log, make(chan struct{})
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

// Lose ends all servers and starts empty ones in their places.
func (c *Cluster) Lose() {
	c.t.Helper()
	for _, m := range c.Members {
		m.Kill()
		if err := os.RemoveAll(filepath.Join(c.dir, m.Name)); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, m := range c.Members {
		m.Start()
	}
	c.Await()
}

// log is the file of what the server says.
func (m *Member) log() string { return filepath.Join(m.cluster.dir, m.Name+".log") }

// Listens reports whether the server accepts connections of the other servers.
func (m *Member) Listens() bool {
	conn, err := net.Dial("tcp", m.peer)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// Runs reports whether the server has not ended.
func (m *Member) Runs() bool {
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// Said returns what the server has said, also before it was killed.
func (m *Member) Said() string {
	text, err := os.ReadFile(m.log())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// PID is the id of the server's process.
func (m *Member) PID() int { return m.cmd.Process.Pid }

// Pause stops the server: it keeps its connections and answers nothing.
func (m *Member) Pause() { m.signal(syscall.SIGSTOP) }

// Resume ends a pause.
func (m *Member) Resume() { m.signal(syscall.SIGCONT) }

// CutOff separates the server from the other servers, or lets it come back. It must be one of StartApart.
// Its clients reach it; those with a proxy can be cut off there.
func (m *Member) CutOff(cut bool) {
	for _, other := range m.cluster.Members {
		switch {
		case other == m:
			m.between.CutOff(cut)
		case cut:
			other.between.CutOffFrom(m.cmd.Process.Pid)
		default:
			other.between.CutOffFrom(0)
		}
	}
}

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
		c.t.Logf("%s said %s", m.Name, m.Said())
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
	return c.ClientOf(c.tls)
}

// ClientOf is Client with another certificate than that of Client.
func (c *Cluster) ClientOf(config *tls.Config) *clientv3.Client {
	c.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), TLS: config, Logger: zap.NewNop()})
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
			status, err := client.Status(ctx, c.scheme()+m.Endpoint)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				return m
			}
		}
	}
	c.t.Fatal("no server leads")
	return nil
}
