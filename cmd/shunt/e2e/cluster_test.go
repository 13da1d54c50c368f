package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
	n := &siteNode{site: s, name: name, data: filepath.Join(s.dir, "data-"+name), advertise: freePort(s.t), program: s.options.program}
	n.url, n.adminURL = "http://"+freePort(s.t), "http://"+freePort(s.t)
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

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func (s *site) makeAuthority() {
	s.caKey, s.ca = s.sign(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, "ca")
}

func (s *site) makeCertificate(name string, units ...string) {
	s.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, OrganizationalUnit: units},
		DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, name)
}

// sign writes a certificate and its key to files of that name. The first one signs itself.
func (s *site) sign(c *x509.Certificate, name string) (*ecdsa.PrivateKey, *x509.Certificate) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	by, byKey := s.ca, s.caKey
	if by == nil {
		by, byKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
	made, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	return key, made
}

func (s *site) write(name string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
		s.t.Fatal(err)
	}
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
	args := append(n.args(), "--listen", strings.TrimPrefix(n.url, "http://"), "--admin-listen", strings.TrimPrefix(n.adminURL, "http://"),
		"--flush-interval", "100ms", "--limit-calls", "off", "--limit-creates", "off", "--limit-misses", "off")
	n.process = launchProgram(n.site.t, cmp.Or(n.program, binary), nil, n.starter, n.data, append(args, n.site.options.nodes...)...)
	n.runs = append(n.runs, n.process)
	n.waitReady()
}

// pause stops the process where it is, and resume lets it go on.
func (n *siteNode) pause()  { n.signal(syscall.SIGSTOP) }
func (n *siteNode) resume() { n.signal(syscall.SIGCONT) }

func (n *siteNode) signal(s syscall.Signal) {
	if err := n.cmd.Process.Signal(s); err != nil {
		n.site.t.Errorf("%s: %v: %v", n.name, s, err)
	}
}

// join makes the data of n from a copy of another node's.
func (s *site) join(n, from *siteNode) {
	s.t.Helper()
	args := append([]string{"join", "--data", n.data, "--from", from.name + "=https://" + from.advertise}, n.flags()...)
	if n.role != "" {
		args = append(args, "--role", n.role)
	}
	if r := shunt(s.t, "", nil, args...); r.code != exitDone {
		s.t.Fatalf("join: exit code %d: %s", r.code, r.stderr)
	}
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

// An answer is that to a request of the API.
type answer struct {
	status int
	body   map[string]any
	text   string
	header http.Header
	err    error
}

// call sends a request of the API to a node.
func (n *siteNode) call(method, path string, body any, fields ...string) (a answer) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{err: err}
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, n.url+"/api/v1"+path, sent)
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+n.site.token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := n.site.requests.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	a = answer{status: resp.StatusCode, text: string(text), header: resp.Header, err: err}
	_ = json.Unmarshal(text, &a.body) // an answer may have none
	return a
}

func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.err != nil || a.status != status {
		t.Fatalf("got status %d, %v, want %d: %s", a.status, a.err, status, a.text)
	}
	return a
}

// redirect follows a code at a node and returns the status and where it leads.
func (n *siteNode) redirect(code string) (status int, location string, err error) {
	resp, err := n.site.requests.Get(n.url + "/" + code)
	var dialing *net.OpError
	switch {
	case errors.As(err, &dialing) && dialing.Op == "dial": // nobody was asked
		return 0, "", err
	case err != nil:
		n.site.lost(code).Add(1)
		return 0, "", err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode == http.StatusFound {
		n.site.answered(code).Add(1)
	}
	return resp.StatusCode, resp.Header.Get("Location"), nil
}

// answered returns the counter of the redirects of a code that were answered.
func (s *site) answered(code string) *atomic.Int64 { return counter(&s.counts, code) }

// lost returns the counter of the redirects of a code whose answer was lost.
func (s *site) lost(code string) *atomic.Int64 { return counter(&s.losses, code) }

func counter(of *sync.Map, code string) *atomic.Int64 {
	n, _ := of.LoadOrStore(code, new(atomic.Int64))
	return n.(*atomic.Int64)
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
		if err := json.Unmarshal([]byte(r.stdout), &said); err != nil || !said.OK || said.Cluster.Hash == "" {
			s.t.Fatalf("check of %s: %v: %s%s", n.name, err, r.stdout, r.stderr)
		}
		hashes[said.Cluster.Hash] += n.name + " "
	}
	if len(hashes) != 1 {
		s.t.Errorf("the nodes have different data: %v", hashes)
	}
}

func TestAnyNodeTakesWritesAndEachHasThem(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	for i, n := range s.nodes {
		code, next := fmt.Sprintf("by-%s", n.name), s.nodes[(i+1)%3]
		n.call("POST", "/shorten", map[string]any{"url": "https://example.com/" + code, "alias": code, "tags": []string{"t"}}).want(t, 201)
		if got := n.call("GET", "/links/"+code, nil).want(t, 200).body["url"]; got != "https://example.com/"+code {
			t.Errorf("%s: the node that took a link has %v", n.name, got)
		}
		s.leads(code, "https://example.com/"+code)
		next.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": code}).want(t, 409)
		next.call("PATCH", "/links/"+code, map[string]any{"url": "https://example.com/new-" + code}).want(t, 200)
		s.leads(code, "https://example.com/new-"+code)
	}
	s.nodes[1].call("DELETE", "/links/by-a", nil).want(t, 204)
	for _, n := range s.nodes {
		s.await(func() bool { status, _, _ := n.redirect("by-a"); return status == 404 }, "a deleted link is gone at "+n.name)
	}
	first := s.nodes[1].call("POST", "/shorten", map[string]any{"url": "https://example.com/once"}, "Idempotency-Key", "one").want(t, 201)
	again := s.nodes[2].call("POST", "/shorten", map[string]any{"url": "https://example.com/once"}, "Idempotency-Key", "one").want(t, 201)
	if first.body["code"] != again.body["code"] {
		t.Errorf("a request that was repeated at another node made %v and %v", first.body["code"], again.body["code"])
	}
	if r := shunt(t, "", nil, "add", "https://example.com/local", "--alias", "local", "--data", s.nodes[2].data); r.code != exitDone {
		t.Errorf("a local command at a node: exit code %d: %s", r.code, r.stderr)
	}
	s.leads("local", "https://example.com/local")
	s.alike()
}

func TestARevokedTokenIsRefusedByEveryNode(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	made := s.nodes[2].call("POST", "/tokens", map[string]any{"name": "short-lived", "scopes": []string{"links:read"}}).want(t, 201)
	secret := made.body["token"].(string)
	for _, n := range s.nodes {
		s.await(func() bool {
			return n.call("GET", "/links", nil, "Authorization", "Bearer "+secret).status == 200
		}, "the token works at "+n.name)
	}
	s.nodes[1].call("DELETE", fmt.Sprintf("/tokens/%v", made.body["id"]), nil).want(t, 204)
	revoked := time.Now()
	for _, n := range s.nodes {
		s.await(func() bool {
			return n.call("GET", "/links", nil, "Authorization", "Bearer "+secret).status == 401
		}, "the token is refused at "+n.name)
	}
	t.Logf("refused by all nodes %v after the answer", time.Since(revoked).Round(time.Millisecond))
}

// hammer follows a code at all nodes that are not left out, until stop, and counts what fails.
func (s *site) hammer(code, target string, out *atomic.Pointer[siteNode], stop <-chan struct{}) (done func() (good, failed int64)) {
	var wg sync.WaitGroup
	var good, failed atomic.Int64
	for _, n := range s.nodes {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if out.Load() == n {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				_, location, err := n.redirect(code)
				switch {
				case err == nil && location == target:
					good.Add(1)
				case out.Load() != n:
					failed.Add(1)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	return func() (int64, int64) { wg.Wait(); return good.Load(), failed.Load() }
}

// writesAfter returns how long after a moment a write succeeds by way of one of the nodes.
func (s *site) writesAfter(since time.Time, nodes ...*siteNode) time.Duration {
	s.t.Helper()
	for time.Since(since) < 30*time.Second {
		for _, n := range nodes {
			if n.call("POST", "/shorten", map[string]any{"url": "https://example.com/after"}).status == 201 {
				return time.Since(since)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("no write for 30 s")
	return 0
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

// TestWritesComeBackAndRedirectsNeverStop kills, stops and pauses the leaders of shunt and of etcd. It
// fails if a redirect does at a node that runs, and says how long writes took to come back.
func TestWritesComeBackAndRedirectsNeverStop(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot"}).want(t, 201)
	s.leads("hot", "https://example.com/")
	stop := make(chan struct{})
	var out atomic.Pointer[siteNode]
	done := s.hammer("hot", "https://example.com/", &out, stop)
	acknowledged := 0
	for range 2 {
		leader := s.leader()
		out.Store(leader)
		killed := time.Now()
		leader.kill()
		t.Logf("our leader killed: writes after %v", s.writesAfter(killed, s.without(leader)...))
		acknowledged++
		leader.start()
		out.Store(nil)
		s.await(s.caughtUp, "the killed node has caught up")

		leader = s.leader()
		out.Store(leader)
		stopped := time.Now()
		ended := make(chan struct{})
		go func() { leader.terminate(); close(ended) }()
		t.Logf("our leader stopped: writes after %v", s.writesAfter(stopped, s.without(leader)...))
		acknowledged++
		<-ended
		leader.start()
		out.Store(nil)
		s.await(s.caughtUp, "the stopped node has caught up")

		member := s.etcd.Leader()
		killed = time.Now()
		member.Kill()
		t.Logf("etcd's leader killed: writes after %v", s.writesAfter(killed, s.nodes...))
		acknowledged++
		member.Start()
		s.etcd.Await()

		member = s.etcd.Leader()
		paused := time.Now()
		member.Pause()
		t.Logf("etcd's leader paused: writes after %v", s.writesAfter(paused, s.nodes...))
		acknowledged++
		member.Resume()
	}
	close(stop)
	good, failed := done()
	t.Logf("%d redirects, %d failed", good, failed)
	if failed > 0 || good < 1000 {
		t.Errorf("%d redirects failed at nodes that ran, of %d", failed, good+failed)
	}
	s.ledger("hot") // with nodes that were killed
	s.alike()
}

// TestAnAliasHasOneWinnerAcrossFailovers claims aliases by racing clients on all nodes while leaders are
// killed. Each alias has one winner, and it is the same at each node.
func TestAnAliasHasOneWinnerAcrossFailovers(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	const aliases, racers = 1000, 6
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Second):
			}
			if leader := s.leader(); leader != nil {
				leader.kill()
				time.Sleep(500 * time.Millisecond)
				leader.start()
			}
		}
	})
	winners := make([]atomic.Int32, aliases)
	owners := make([]atomic.Pointer[string], aliases)
	var racing sync.WaitGroup
	for r := range racers {
		racing.Go(func() {
			for i := range aliases {
				target := fmt.Sprintf("https://example.com/racer-%d", r)
				for try := range 200 {
					a := s.nodes[(r+try)%3].call("POST", "/shorten", map[string]any{"url": target, "alias": fmt.Sprintf("alias-%d", i)},
						"Idempotency-Key", fmt.Sprintf("racer-%d-%d", r, i))
					if a.status == 201 {
						winners[i].Add(1)
						owners[i].Store(&target)
						break
					}
					if a.status == 409 {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	racing.Wait()
	close(stop)
	chaos.Wait()
	s.await(s.caughtUp, "all nodes have caught up")
	for i := range aliases {
		if n := winners[i].Load(); n != 1 {
			t.Errorf("alias %d has %d winners", i, n)
			continue
		}
		for _, n := range s.nodes {
			if _, location, err := n.redirect(fmt.Sprintf("alias-%d", i)); err != nil || location != *owners[i].Load() {
				t.Errorf("alias %d was given to %s and leads to %s at %s, %v", i, *owners[i].Load(), location, n.name, err)
			}
		}
	}
	s.alike()
}
