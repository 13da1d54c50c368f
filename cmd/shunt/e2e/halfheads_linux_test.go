package e2e

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

const insideEnv = "SHUNTTEST_INSIDE" // this process is in a namespace of networks that a test has made

// TestHalfHeadsHarmNobody attacks each port, from 50 IPv4 addresses and from 40 /64s of one /48: 2,000 connections a
// second that send nothing or half a head (half a handshake, if the port speaks TLS). Of 200 requests from elsewhere
// at most one may fail. It runs in a namespace of networks, where all addresses lead to this machine and none is of
// loopback.
func TestHalfHeadsHarmNobody(t *testing.T) {
	if _, asked := floodSizes[os.Getenv("SHUNTTEST_FLOOD")]; !asked {
		t.Skip("make floods runs this test; SHUNTTEST_FLOOD is short or long")
	}
	if os.Getenv(insideEnv) == "" {
		runInside(t, attackerRoutes...)
		return
	}
	dir := t.TempDir()
	plain, secure := filepath.Join(dir, "plain"), filepath.Join(dir, "secure")
	for _, data := range []string{plain, secure} {
		shunt(t, dir, nil, "token", "add", "--name", "n", "--data", data, "--init").want(t, exitDone, "shunt_", "made a store")
		shunt(t, dir, nil, "add", "http://a/", "--alias", "x", "--data", data).want(t, exitDone, "/x", "")
	}
	own := certtest.NewAuthority(t)
	cert, key := own.Issue()
	files := certtest.NewFolder(t, cert, key)
	startServer(t, plain, "--listen=[::]:8080", "--admin-listen=[::]:8081", "--base-url=http://short.example", "--max-connections=1000")
	startServer(t, secure, "--listen=[::]:8443", "--http-redirect-listen=[::]:8082", "--admin-listen=[::]:8083",
		"--base-url=https://short.example", "--tls-cert="+files.Cert, "--tls-key="+files.Key, "--max-connections=1000")
	for _, at := range []attacked{
		{"public", "8080", "/x", "HTTP/1.1 302 ", false}, {"admin", "8081", "/healthz", "HTTP/1.1 200 ", false},
		{"redirect", "8082", "/x", "HTTP/1.1 301 ", false}, {"tls", "8443", "/x", "HTTP/1.1 302 ", true},
	} {
		for name, from := range map[string]attackers{
			"50 IPv4 addresses": {"10.64.0.1", "10.99.0.1", 50, "10.65.%d.1", halfHead}, "40 IPv6 sites": {"fd00:1::1", "fd00:2::1", 40, "fd00:3:4:%x::1", halfHead},
		} {
			if at.secure {
				from.half = halfHandshake
			}
			t.Run(at.name+" from "+name, func(t *testing.T) { at.attack(t, from) })
		}
	}
}

// attackerRoutes have all addresses of attackers lead to this machine.
var attackerRoutes = []string{
	"ip route add local 10.64.0.0/10 dev lo", "ip -6 route add local fd00::/16 dev lo",
	"echo 1 >/proc/sys/net/ipv6/ip_nonlocal_bind", // to have more addresses than lo is given
}

// runInside runs the test again in a namespace, after some commands of the shell.
func runInside(t *testing.T, commands ...string) {
	ns := newNamespace(t)
	for _, command := range commands {
		ns.runInside("sh", "-c", command)
	}
	command := append(ns.starter(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"=1", binaryEnv+"="+binary)
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}

// An attacked is a port, and a request to it with the beginning of its answer.
type attacked struct {
	name, port, path, want string
	secure                 bool
}

// attackers are the server's address, that of visitors, and those from which connections come.
type attackers struct {
	server, visitor string
	n               int
	address         string // of the i-th
	half            string // what every second connection sends; the others send nothing
}

// The beginnings of a head and of a handshake (the header of TLS's first record, RFC 8446, 5.1).
const (
	halfHead      = "GET /x HTTP/1.1\r\nHost: "
	halfHandshake = "\x16\x03\x01\x02\x00"
)

func (at *attacked) attack(t *testing.T, from attackers) {
	addr := net.JoinHostPort(from.server, at.port)
	expect.OK(t, at.ask(addr, from.visitor), "before the attack")
	over := make(chan struct{})
	var h held
	var attack sync.WaitGroup
	began := time.Now()
	for part := range attackParts {
		attack.Go(func() { h.connect(addr, from, part, over) })
	}
	failed := 0
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for i := 0; i < 200 && failed < 10; i++ { // slots run out in the first half second
		if err := at.ask(addr, from.visitor); err != nil {
			failed++
			t.Log(err)
		}
		<-pace.C
	}
	close(over)
	attack.Wait()
	seconds := time.Since(began).Seconds()
	h.close()
	t.Logf("%.0f connects a second (%d in all); %d of 200 visitors failed (no more are tried after 10)", float64(h.made.Load())/seconds, h.made.Load(), failed)
	expect.That(t, failed <= 1, "%d of 200 visitors failed, want 1 at most", failed)
}

// attackParts run at once; together they connect 2,000 times a second.
const attackParts = 20

// held has the connections of an attack.
type held struct {
	made  atomic.Int64
	mu    sync.Mutex
	conns []net.Conn
}

func (h *held) connect(addr string, from attackers, part int, over chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond) // 100 a second
	defer tick.Stop()
	for i := part; ; i += attackParts {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		local := &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf(from.address, i%from.n+1))}
		c, err := dialFrom(local, addr, 200*time.Millisecond)
		if err != nil {
			continue
		}
		if h.made.Add(1); i%2 == 0 {
			_, _ = io.WriteString(c, from.half)
		}
		h.mu.Lock()
		h.conns = append(h.conns, c)
		old := h.conns[0]
		if len(h.conns) > 12_000 { // of the files that a process may open; the server has closed it long ago
			h.conns = h.conns[1:]
			_ = old.Close()
		}
		h.mu.Unlock()
	}
}

func (h *held) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// dialFrom connects from an address that this machine need not have.
func dialFrom(local *net.TCPAddr, addr string, patience time.Duration) (net.Conn, error) {
	d := net.Dialer{LocalAddr: local, Timeout: patience, Control: func(_, _ string, raw syscall.RawConn) (err error) {
		_ = raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_IP, syscall.IP_FREEBIND, 1) })
		return err
	}}
	return d.Dial("tcp", addr)
}

func (at *attacked) ask(addr, from string) error {
	c, err := dialFrom(&net.TCPAddr{IP: net.ParseIP(from)}, addr, 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if at.secure {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // whose certificate it is does not matter here
	}
	if _, err := io.WriteString(c, "GET "+at.path+" HTTP/1.1\r\nHost: short.example\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, at.want) {
		err = errors.New(line)
	}
	return err
}
