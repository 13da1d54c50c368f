package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// A namespace is one of networks, with a cable to that of this test. Packets over it can be lost.
type namespace struct {
	t               *testing.T
	name            string
	outside, inside string // addresses of the two ends
	cable           string // its end outside; the one inside is eth0
}

// newNamespace makes a namespace, which ends with the test. Where that is not permitted the test fails: it
// would show nothing.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	removeLeftNamespaces()
	n := int(namespacesMade.Add(1))
	id := (os.Getpid() + n) % 16384 // two tests at the same time have different networks
	at := func(i int) string { return fmt.Sprintf("198.18.%d.%d", id/64, id%64*4+i) }
	ns := &namespace{t: t, name: fmt.Sprintf("%s%d-%d", namespacePrefix, os.Getpid(), n), outside: at(1), inside: at(2)}
	ns.cable = strings.Replace(ns.name, namespacePrefix, "sh", 1) // a name of a link has 15 bytes at most
	out, err := exec.Command("ip", "netns", "add", ns.name).CombinedOutput()
	expect.MustThat(t, err == nil, "this needs namespaces of networks, so root and ip (iproute2); -skip %s leaves it out: %v: %s", t.Name(), err, out)
	t.Cleanup(func() { removeNamespace(ns.name, ns.cable) })
	ns.run("ip", "link", "add", ns.cable, "type", "veth", "peer", "name", "eth0", "netns", ns.name)
	ns.run("ip", "address", "add", ns.outside+"/30", "dev", ns.cable)
	ns.run("ip", "link", "set", ns.cable, "up")
	ns.runInside("ip", "address", "add", ns.inside+"/30", "dev", "eth0")
	ns.runInside("ip", "link", "set", "lo", "up")
	ns.runInside("ip", "link", "set", "eth0", "up")
	return ns
}

const namespacePrefix = "shunt-test-"

var namespacesMade atomic.Int64

// removeNamespace removes the cable before the namespace, because the kernel removes the links of a namespace some time
// after it, and until then nobody can make a link of the same name. The cable may be gone already.
func removeNamespace(name, cable string) {
	_ = exec.Command("ip", "link", "delete", cable).Run()
	_ = exec.Command("ip", "netns", "delete", name).Run()
}

// removeLeftNamespaces removes those of test programs that were killed.
func removeLeftNamespaces() {
	left, _ := filepath.Glob("/run/netns/" + namespacePrefix + "*")
	for _, path := range left {
		name := filepath.Base(path)
		pid, _, _ := strings.Cut(strings.TrimPrefix(name, namespacePrefix), "-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, fs.ErrNotExist) {
			removeNamespace(name, strings.Replace(name, namespacePrefix, "sh", 1))
		}
	}
}

func (ns *namespace) run(command ...string) {
	ns.t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	expect.MustThat(ns.t, err == nil, "%q: %v: %s", command, err, out)
}

func (ns *namespace) runInside(command ...string) {
	ns.t.Helper()
	ns.run(append(ns.starter(), command...)...)
}

// starter is a command that runs another one inside.
func (ns *namespace) starter() []string { return []string{"nsenter", "--net=/run/netns/" + ns.name} }

// nobody is a hardware address that neither end has.
const nobody = "02:00:00:00:00:01"

// lose has all packets lost, in both directions: each end sends them to a hardware address that nobody has.
// Both links stay up, and nobody gets an error or a reset. mend ends that.
func (ns *namespace) lose() (mend func()) {
	ns.run("ip", "neighbour", "replace", ns.inside, "lladdr", nobody, "dev", ns.cable, "nud", "permanent")
	ns.runInside("ip", "neighbour", "replace", ns.outside, "lladdr", nobody, "dev", "eth0", "nud", "permanent")
	return func() {
		ns.run("ip", "neighbour", "delete", ns.inside, "dev", ns.cable)
		ns.runInside("ip", "neighbour", "delete", ns.outside, "dev", "eth0")
	}
}

// dialInside connects to an address from inside. The thread that does is in the namespace, and ends with its goroutine.
func (ns *namespace) dialInside(ctx context.Context, network, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var file *os.File
		if file, err = os.Open("/run/netns/" + ns.name); err != nil {
			return
		}
		defer file.Close()
		if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err == nil {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
		}
	}()
	<-done
	return conn, err
}

// insideHost is an address of loopback that only clients inside use.
const insideHost = "127.77.0.1"

// newSiteWithin is newSite with the last node in a namespace. Its clients are in there as well, so they reach it in
// any case. The others and etcd are outside, and it reaches them by proxies on the cable's other end.
func newSiteWithin(t *testing.T, ns *namespace, names ...string) *site {
	s := &site{t: t, etcd: etcdtest.Start(t, 3), dir: t.TempDir()}
	s.cables, _ = s.etcd.ProxiesAt(t, ns.outside)
	s.options.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, insideHost) {
			return ns.dialInside(ctx, network, address)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	s.options.place = func(n *siteNode) {
		if n.name != names[len(names)-1] {
			n.putBehind(etcdtest.NewProxyAt(t, ns.outside, n.advertise))
			return
		}
		n.starter, n.advertise = ns.starter(), ns.inside+":8443"
		n.url, n.adminURL = "http://"+insideHost+":8080", "http://"+insideHost+":8081"
	}
	return s.begin(names)
}

// TestANodeWhosePacketsAreLostRedirectsAndComesBack has a node in a namespace of its own lose all packets to and from
// the others and etcd, as with a cable that is pulled: no connection is reset, and what is sent is sent again ever more
// seldom. That happens to it as the leader and as a follower. It fails if a redirect does at any node, that one too, or
// if what it answered to a write is not so afterwards, and says how long writes took to come back at the others.
func TestANodeWhosePacketsAreLostRedirectsAndComesBack(t *testing.T) {
	if os.Getenv(etcdtest.Env) == "" {
		t.Skip("make cluster-test runs it: it needs etcd's server, in " + etcdtest.Env)
	}
	ns := newNamespace(t)
	s := newSiteWithin(t, ns, "a", "b", "c")
	lost := s.nodes[2]
	s.shorten("hot", hotTarget)
	for round := range 2 {
		s.makeLead(lost)
		s.losePackets(ns, lost, fmt.Sprintf("leader-%d", round), 6*time.Second)
		expect.That(t, s.leader() != lost, "%s, whose packets were lost, leads", lost.name)
		s.losePackets(ns, lost, fmt.Sprintf("follower-%d", round), 15*time.Second)
	}
	s.ledger("hot")
	s.alike()
}

// makeLead stops the others until a node leads.
func (s *site) makeLead(n *siteNode) {
	s.t.Helper()
	for _, other := range s.without(n) {
		other.terminate()
	}
	s.await(func() bool { return s.leader() == n }, n.name+" leads")
	for _, other := range s.without(n) {
		other.start()
	}
	s.await(s.caughtUp, "all nodes have caught up")
}

// losePackets has the packets of a node lost for a while, and judges redirects and its writes.
func (s *site) losePackets(ns *namespace, n *siteNode, round string, lasts time.Duration) {
	s.t.Helper()
	stop := make(chan struct{})
	done := s.hammer("hot", hotTarget, new(atomic.Pointer[siteNode]), stop)
	answered := n.writeDuring(round)
	time.Sleep(20 * time.Millisecond)
	begun := time.Now()
	mend := ns.lose()
	took := s.writesAfter(begun, s.without(n)...)
	status := n.call("POST", "/shorten", map[string]any{"url": hotTarget}).status
	expect.That(s.t, status != 201, "%s: a node whose packets are lost answered a write with %d", round, status)
	time.Sleep(lasts - time.Since(begun))
	mend()
	mended := time.Now()
	s.judge(answered())
	back := time.Since(mended)
	close(stop)
	good, failed := done()
	s.t.Logf("%s, packets lost for %v: writes at the others after %v; it had all again %v after their return; %d redirects, %d failed",
		round, lasts, took.Round(time.Millisecond), back.Round(time.Millisecond), good, failed)
	expect.That(s.t, failed <= 0 && good >= 1000, "%s: %d redirects failed, of %d", round, failed, good+failed)
}
