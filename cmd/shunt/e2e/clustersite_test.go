package e2e

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// A site is a cluster of real processes on real servers of etcd.
type site struct {
	t        *testing.T
	options  siteOptions
	etcd     *etcdtest.Cluster
	dir      string // certificates and data
	ca       *x509.Certificate
	caKey    *ecdsa.PrivateKey
	nodes    []*siteNode
	token    string
	requests *http.Client
	scheme   string            // of --cluster; "": plain HTTP
	cables   []*etcdtest.Proxy // from nodes to the servers of etcd; none: they reach them themselves
	edges    []*siteNode       // those that are not among nodes
	counts   sync.Map          // by code: redirects that were answered
	losses   sync.Map          // by code: redirects whose answer was lost
}

// siteOptions are what most sites have no need of.
type siteOptions struct {
	etcd    []string // arguments of the servers of etcd
	nodes   []string // arguments of the nodes
	program string   // of the nodes; "": the binary under test

	dial  func(ctx context.Context, network, address string) (net.Conn, error) // of clients; nil: the usual
	place func(n *siteNode)                                                    // is called with each new node; may be nil
}

// A siteNode is one node, which may be stopped and started again.
type siteNode struct {
	*process
	site      *site
	runs      []*process // all that there were, for their logs
	name      string
	role      string // "": full
	data      string
	program   string          // "": the binary under test
	starter   []string        // a command that becomes the binary; nil: none
	advertise string          // host:port
	behind    string          // host:port of its own listener for the others, if a proxy is at advertise; "": none is
	cable     *etcdtest.Proxy // that proxy

	// Addresses that stay the same over restarts.
	url, adminURL string
}

// newSite starts three servers of etcd and nodes of these names. The first begins the cluster, and the
// others join it. Without etcd's server it skips the test (make cluster-test).
func newSite(t *testing.T, names ...string) *site { return newSiteOn(t, siteOptions{}, names...) }

// newSiteOn is newSite with options.
func newSiteOn(t *testing.T, o siteOptions, names ...string) *site {
	return (&site{t: t, options: o, etcd: etcdtest.Start(t, 3, o.etcd...), dir: t.TempDir()}).begin(names)
}

// begin starts the nodes of a site.
func (s *site) begin(names []string) *site {
	t := s.t
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DialContext: s.options.dial}
	s.requests = &http.Client{
		Transport: transport, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(transport.CloseIdleConnections)
	if s.ca == nil {
		s.makeAuthority()
	}
	for i, name := range names {
		n := s.newNode(name)
		s.makeCertificate(name)
		if i > 0 {
			s.join(n, s.nodes[0])
		}
		n.start()
		s.nodes = append(s.nodes, n)
		if i == 0 {
			s.await(func() bool { return s.leader() != nil }, "a node leads")
			s.token = n.token("admin", "links:read", "links:write", "stats:read", "tokens:write")
		}
	}
	s.await(func() bool { return s.leader() != nil && s.caughtUp() }, "all nodes have caught up")
	return s
}

// newNode returns a node that does not run yet.
func (s *site) newNode(name string) *siteNode {
	n := &siteNode{site: s, name: name, data: filepath.Join(s.dir, "data-"+name), advertise: freeAddress(s.t), program: s.options.program}
	n.url, n.adminURL = "http://"+freeAddress(s.t), "http://"+freeAddress(s.t)
	switch {
	case s.options.place != nil:
		s.options.place(n)
	case len(s.cables) > 0:
		n.putBehind(etcdtest.NewProxy(s.t, n.advertise))
	}
	return n
}

// putBehind has the others reach a node by a proxy.
func (n *siteNode) putBehind(cable *etcdtest.Proxy) {
	n.cable, n.behind, n.advertise = cable, n.advertise, cable.Endpoint
}

// flags are what a node needs to reach its cluster.
func (n *siteNode) flags() []string {
	s := n.site
	return []string{
		"--cluster", cmp.Or(s.scheme, "etcd+http://") + strings.Join(s.endpoints(), ","), "--node-name", n.name,
		"--cluster-ca", filepath.Join(s.dir, "ca.crt"), "--cluster-cert", filepath.Join(s.dir, n.name+".crt"), "--cluster-key", filepath.Join(s.dir, n.name+".key"),
	}
}

func (n *siteNode) start() {
	n.site.t.Helper()
	n.launch()
	n.waitReady()
}

// launch is start without waiting until the node is ready.
func (n *siteNode) launch() {
	n.site.t.Helper()
	args := append(n.args(), "--listen", strings.TrimPrefix(n.url, "http://"), "--admin-listen", strings.TrimPrefix(n.adminURL, "http://"),
		"--flush-interval", "100ms", "--limit-calls", "off", "--limit-creates", "off", "--limit-misses", "off")
	n.process = launchProgram(n.site.t, cmp.Or(n.program, binary), nil, n.starter, n.data, append(args, n.site.options.nodes...)...)
	n.runs = append(n.runs, n.process)
}

// pause stops the process where it is, and resume lets it go on.
func (n *siteNode) pause()  { n.signal(syscall.SIGSTOP) }
func (n *siteNode) resume() { n.signal(syscall.SIGCONT) }

func (n *siteNode) signal(s syscall.Signal) {
	expect.NoError(n.site.t, n.cmd.Process.Signal(s), "%s: %v", n.name, s)
}

// join makes the data of n from a copy of another node's.
func (s *site) join(n, from *siteNode) {
	s.t.Helper()
	args := append([]string{"join", "--data", n.data, "--from", from.name + "=https://" + from.advertise}, n.flags()...)
	if n.role != "" {
		args = append(args, "--role", n.role)
	}
	s.admit(n, from)
	shunt(s.t, "", nil, args...).done(s.t)
}

// admit lets n take a copy once.
func (s *site) admit(n, by *siteNode) {
	s.t.Helper()
	shunt(s.t, "", nil, append([]string{"cluster", "admit", n.name}, by.flags()...)...).done(s.t)
}

// await waits for what, which ok reports.
func (s *site) await(ok func() bool, what string) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, n := range s.nodes {
				s.t.Logf("%s said:\n%s", n.name, n.lastWords())
			}
			s.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// metric returns the value of a metric of a node; -1 if it has none or does not answer.
func (n *siteNode) metric(name string) float64 {
	resp, err := n.site.requests.Get(n.adminURL + "/metrics")
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			var value float64
			if _, err := fmt.Sscan(rest, &value); err == nil {
				return value
			}
		}
	}
	return -1
}

// leader returns the node that leads, or nil.
func (s *site) leader() *siteNode {
	for _, n := range s.nodes {
		if n.metric(`shunt_cluster_role{role="leader"}`) == 1 {
			return n
		}
	}
	return nil
}

// caughtUp reports whether all nodes have applied what the leader has.
func (s *site) caughtUp() bool {
	applied := make(map[float64]bool)
	for _, n := range s.nodes {
		applied[n.metric(`shunt_cluster_sequence{which="applied"}`)] = true
	}
	return len(applied) == 1 && !applied[-1]
}

// leads waits until a code leads to a target at each node.
func (s *site) leads(code, target string) {
	s.t.Helper()
	for _, n := range s.nodes {
		s.await(func() bool {
			_, location, _ := n.redirect(code)
			return location == target
		}, fmt.Sprintf("%s leads to %q at %s", code, target, n.name))
	}
}

// alike checks that the data of all nodes, which it stops, is equal.
func (s *site) alike() {
	s.t.Helper()
	s.await(s.caughtUp, "all nodes have caught up")
	hashes := make(map[string]string)
	s.requests.CloseIdleConnections() // a node that stops waits for them
	for _, n := range s.nodes {
		n.terminate()
	}
	for _, n := range s.nodes {
		r := shunt(s.t, "", nil, "check", "--json", "--data", n.data)
		var said struct {
			OK      bool `json:"ok"`
			Cluster struct {
				Hash string `json:"hash"`
			} `json:"cluster"`
		}
		err := json.Unmarshal([]byte(r.stdout), &said)
		expect.MustThat(s.t, err == nil && said.OK && said.Cluster.Hash != "", "check of %s: %v: %s%s", n.name, err, r.stdout, r.stderr)
		hashes[said.Cluster.Hash] += n.name + " "
	}
	expect.Equal(s.t, len(hashes), 1, "the nodes have different data: %v", hashes)
}

// without returns the nodes but one.
func (s *site) without(gone *siteNode) (rest []*siteNode) {
	for _, n := range s.nodes {
		if n != gone {
			rest = append(rest, n)
		}
	}
	return rest
}

// smallQuota are servers of etcd in whose eighth there is room for some bulks.
var smallQuota = []string{"--quota-backend-bytes", "33554432"}

// passFloor writes until the log is trimmed past what it has now: an eighth of smallQuota.
func (s *site) passFloor() {
	s.t.Helper()
	head := s.leader().metric(`shunt_cluster_sequence{which="applied"}`)
	var bulk []map[string]string
	for i := range 100 {
		bulk = append(bulk, map[string]string{"url": fmt.Sprintf("https://example.com/%d?x=%0500d", i, i)})
	}
	for made := 0; s.floor() <= uint64(head)+1; made++ {
		expect.MustThat(s.t, made < 1000, "the log is not trimmed past a node that is not there; it begins with entry %d", s.floor())
		s.nodes[0].call("POST", "/shorten/bulk", bulk) // a slow machine may not answer in time
	}
}

// floor returns the first entry that the log has.
func (s *site) floor() (floor uint64) {
	_, _ = fmt.Sscanf(s.keys()["/shunt/floor"], "%x", &floor)
	return floor
}
