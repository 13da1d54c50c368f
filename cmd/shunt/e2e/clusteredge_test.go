package e2e

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// edge adds an edge to the cluster, which joins from a node and runs. It is not among s.nodes.
func (s *site) edge(name string, from *siteNode) *siteNode {
	s.t.Helper()
	n := s.newNode(name)
	n.role = "edge"
	s.makeCertificate(name, "edge")
	s.join(n, from)
	n.start()
	s.edges = append(s.edges, n)
	s.await(func() bool { return n.caughtUpWith(from) }, name+" has caught up")
	return n
}

// caughtUpWith reports whether a node has applied what another one has.
func (n *siteNode) caughtUpWith(other *siteNode) bool {
	const applied = `shunt_cluster_sequence{which="applied"}`
	at := n.metric(applied)
	return at > 0 && at == other.metric(applied)
}

// redirectAs follows a code as another visitor than redirect does.
func (n *siteNode) redirectAs(code, agent string) {
	req, err := http.NewRequest(http.MethodGet, n.url+"/"+code, nil)
	expect.OK(n.site.t, err)
	req.Header.Set("User-Agent", agent)
	resp, err := n.site.requests.Do(req)
	if err != nil {
		n.site.lost(code).Add(1)
		return
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusFound {
		n.site.answered(code).Add(1)
	}
}

// unique returns the unique visitors of a code as a node knows them.
func (n *siteNode) unique(code string) float64 {
	unique, _ := n.call("GET", "/stats/"+code, nil).want(n.site.t, 200).body["unique"].(float64)
	return unique
}

// TestAnEdgeRedirectsAndItsHitsAreOnAllFullNodes has visitors at an edge and at full nodes, while the edge
// is killed and started again. Each full node has the hits and the visitors that the clients know, and
// the edge's folder has links only.
func TestAnEdgeRedirectsAndItsHitsAreOnAllFullNodes(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	a.call("POST", "/shorten", map[string]any{"url": "https://example.com/before", "alias": "before", "title": "a-title-of-before"}).want(t, 201)
	e := s.edge("edge-1", b)
	_, location, _ := e.redirect("before")
	expect.Equal(t, location, "https://example.com/before", "a link from before the edge joined leads to")
	made := e.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot", "title": "a-title-of-hot", "tags": []string{"a-tag-of-hot"}},
		"Idempotency-Key", "once").want(t, 201)
	if again := e.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot", "title": "a-title-of-hot", "tags": []string{"a-tag-of-hot"}},
		"Idempotency-Key", "once").want(t, 201); again.body["created_at"] != made.body["created_at"] {
		t.Errorf("a repeated request made %v and %v", made.body, again.body)
	}
	if status, location, _ := e.redirect("hot"); status != 302 || location != "https://example.com/" {
		t.Errorf("the edge redirects what it was asked to make with %d to %q", status, location)
	}
	e.call("PATCH", "/links/hot", map[string]any{"url": "https://example.com/new"}).want(t, 200)
	_, location, _ = e.redirect("hot")
	expect.Equal(t, location, "https://example.com/new", "after an edit by way of the edge it redirects to")
	got := e.call("GET", "/links/hot", nil).want(t, 200).body["url"]
	expect.That(t, got == "https://example.com/new", "a read by way of the edge: %v", got)
	e.call("DELETE", "/links/before", nil).want(t, 204)
	status, _, _ := e.redirect("before")
	expect.That(t, status != 302, "the edge redirects a link that was deleted by way of it")

	const visitors = 40
	for round := range 3 {
		var clients sync.WaitGroup
		for _, n := range []*siteNode{a, b, e} {
			clients.Go(func() {
				for i := range 200 {
					n.redirectAs("hot", fmt.Sprintf("Mozilla/5.0 visitor %d", (i+round)%visitors))
				}
			})
		}
		if round == 1 {
			e.kill()
		}
		clients.Wait()
		if round == 1 {
			e.start()
		}
	}
	s.ledger("hot")
	want := a.unique("hot")
	if want < visitors || want > visitors+1 { // and that of s.requests
		t.Errorf("%v unique visitors, want %d", want, visitors)
	}
	for _, n := range []*siteNode{b, e} {
		expect.Equal(t, n.unique("hot"), want, "unique visitors at %s", n.name)
	}
	expect.That(t, e.metric(`shunt_cluster_role{role="edge"}`) == 1 && e.metric(`shunt_cluster_role{role="leader"}`) == 0,
		"the metrics of an edge do not say that it is one")
	r := shunt(t, "", nil, append([]string{"cluster"}, a.flags()...)...)
	expect.That(t, strings.Contains(r.stdout, "edge-1  edge"), "shunt cluster shows\n%s%s", r.stdout, r.stderr)
	s.await(func() bool { return e.caughtUpWith(s.leader()) }, "the edge has caught up")
	for _, args := range [][]string{{"check"}, {"backup", filepath.Join(t.TempDir(), "copy")}} { // of the edge, while it runs
		r := shunt(t, "", nil, append(args, "--data", e.data)...)
		expect.That(t, r.code == exitDone, "shunt %s at an edge: %d %s%s", args[0], r.code, r.stdout, r.stderr)
	}
	time.Sleep(3 * time.Second) // until what all full nodes have is dropped from its outbox
	e.terminate()
	s.wantLinksOnly(e, a)
}

// wantLinksOnly checks that the folder of an edge, which is stopped, has the same links as a full node, and
// nothing of accounts or figures: by its tables, and by the bytes of its files.
func (s *site) wantLinksOnly(e, full *siteNode) {
	s.t.Helper()
	full.terminate()
	links := make(map[string]bool)
	for _, n := range []*siteNode{e, full} {
		r := shunt(s.t, "", nil, "check", "--json", "--data", n.data)
		var said struct {
			OK      bool             `json:"ok"`
			Records map[string]any   `json:"records"`
			Faults  []map[string]any `json:"faults"`
			Cluster struct {
				Links string `json:"links"`
				Edge  bool   `json:"edge"`
			} `json:"cluster"`
		}
		err := json.Unmarshal([]byte(r.stdout), &said)
		expect.MustThat(s.t, err == nil && said.OK && said.Cluster.Edge == (n == e), "check of %s: %v: %s%s", n.name, err, r.stdout, r.stderr)
		links[said.Cluster.Links] = true
		left, some := said.Records["outbox"]
		expect.That(s.t, n != e || !some || left == 0.0, "the edge keeps %v records that all full nodes have", left)
		for table, rows := range said.Records {
			switch table {
			case "links", "tombstones", "deleted_records", "outbox", "pulled", "meta", "files", "file_bytes", "skipped":
			default:
				expect.That(s.t, n != e || rows == 0.0, "the edge has %v rows of %s", rows, table)
			}
		}
	}
	expect.Equal(s.t, len(links), 1, "the edge and %s have different links", full.name)
	full.start()
	err := filepath.WalkDir(e.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range []string{"a-title-of-", "a-tag-of-", "admin"} {
			expect.That(s.t, !bytes.Contains(content, []byte(secret)), "%s has %q", path, secret)
		}
		return err
	})
	expect.NoError(s.t, err)
}

// TestAnEdgeAloneRedirectsAndItsAPIIsStale kills all full nodes of an edge, one after the other.
func TestAnEdgeAloneRedirectsAndItsAPIIsStale(t *testing.T) {
	s := newSite(t, "a", "b")
	e := s.edge("edge-1", s.nodes[0])
	e.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot"}).want(t, 201)
	leader := s.leader()
	leader.kill()
	got := e.call("GET", "/links/hot", nil).want(t, 200).body["url"]
	expect.That(t, got == "https://example.com/", "a read while no node leads: %v", got)
	rest := s.without(leader)[0]
	s.await(func() bool { return rest.metric(`shunt_cluster_role{role="leader"}`) == 1 }, "the other node leads")
	e.call("POST", "/shorten", map[string]any{"url": "https://example.com/2", "alias": "two"}).want(t, 201)
	_, location, _ := e.redirect("two")
	expect.Equal(t, location, "https://example.com/2", "a link made by way of the second leader leads to")
	rest.kill()
	for _, c := range []struct{ method, path string }{{"GET", "/links/hot"}, {"POST", "/shorten"}, {"GET", "/me"}, {"POST", "/session"}} {
		var body any
		if c.method == "POST" {
			body = map[string]any{"url": "https://example.com/"}
		}
		a := e.call(c.method, c.path, body).want(t, 503)
		expect.That(t, a.body["code"] == "stale" && a.header.Get("Retry-After") != "",
			"%s %s without full nodes: %v %s", c.method, c.path, a.header, a.text)
	}
	for _, path := range []string{"/_/", "/_/sign-in"} {
		if resp, err := s.requests.Get(e.url + path); err != nil || resp.StatusCode != 503 {
			t.Errorf("%s without full nodes: %v, %v", path, resp, err)
		} else {
			resp.Body.Close()
		}
	}
	for range 100 {
		status, _, err := e.redirect("hot")
		expect.MustThat(t, err == nil && status == 302, "a redirect without full nodes: %d, %v", status, err)
	}
	for _, own := range []string{e.url + "/hot+", e.url + "/hot.svg", e.url + "/hot.png", e.adminURL + "/healthz", e.adminURL + "/readyz", e.adminURL + "/metrics"} {
		resp, err := s.requests.Get(own)
		expect.OK(t, err)
		resp.Body.Close()
		expect.Equal(t, resp.StatusCode, 200, "%s without full nodes", own)
	}
	for _, n := range s.nodes {
		n.start()
	}
	for _, n := range s.nodes {
		s.await(func() bool { return n.call("GET", "/links/hot", nil).status == 200 }, n.name+" answers again")
	}
	s.ledger("hot")
	got = e.call("GET", "/links/hot", nil).want(t, 200).body["hits"]
	expect.That(t, got.(float64) >= 100, "the edge's hits without full nodes are %v", got)
}

// ask sends a request to the cluster listener of a node, as a node with a certificate does.
func (n *siteNode) ask(as *siteNode, method, path, body string, fields ...string) (status int, text string) {
	s := n.site
	s.t.Helper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(s.dir, as.name+".crt"), filepath.Join(s.dir, as.name+".key"))
	expect.OK(s.t, err)
	authority := x509.NewCertPool()
	authority.AddCert(s.ca)
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: authority, ServerName: n.name, MinVersion: tls.VersionTLS13},
	}}
	req, err := http.NewRequest(method, "https://"+n.advertise+path, strings.NewReader(body))
	expect.OK(s.t, err)
	for field, value := range map[string]string{"Shunt-Client": "unix", "Shunt-Plain": "0", "Shunt-Local": "0"} {
		req.Header.Set(field, value)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := client.Do(req)
	expect.OK(s.t, err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	expect.OK(s.t, err)
	return resp.StatusCode, string(said)
}

// TestAnEdgeMayNotReadOutboxesOrChangeAccounts does with the certificate of an edge what it must not be
// able to, at a leader and at a follower, directly and by way of the edge itself.
func TestAnEdgeMayNotReadOutboxesOrChangeAccounts(t *testing.T) {
	s := newSite(t, "a", "b")
	e := s.edge("edge-1", s.nodes[0])
	s.token = s.nodes[0].token("admin", "links:read", "links:write", "stats:read", "tokens:write")
	bearer := []string{"Authorization", "Bearer " + s.token, "Content-Type", "application/json"}
	made := s.nodes[0].call("POST", "/tokens", map[string]any{"name": "victim", "scopes": []string{"links:read"}}).want(t, 201)
	s.await(s.caughtUp, "all nodes have caught up")
	token := fmt.Sprintf("/tokens/%v", made.body["id"])
	for _, n := range s.nodes {
		for _, c := range []struct {
			what, method, path, body string
			fields                   []string
		}{
			{"the outbox", "GET", "/cluster/outbox?id=00000000000000000000000000000000&after=0&hash=0000000000000000", "", nil},
			{"a backup", "GET", "/cluster/backup", "", nil},
			{"a local command", "GET", "/api/v1/users", "", []string{"Shunt-Local", "1"}},
			{"a local command that makes a token", "POST", "/api/v1/tokens", `{"name":"x","scopes":["admin"]}`, []string{"Shunt-Local", "1", "Content-Type", "application/json"}},
			{"a token", "POST", "/api/v1/tokens", `{"name":"x","scopes":["links:read"]}`, bearer},
			{"the end of a token", "DELETE", "/api/v1" + token, "", bearer},
			{"a user", "POST", "/api/v1/users", `{"email":"x@example.com","role":"member"}`, bearer},
			{"a role", "PATCH", "/api/v1/users/1", `{"role":"member"}`, bearer},
			{"a user as another edge", "POST", "/api/v1/users", `{"email":"x@example.com","role":"member"}`, append([]string{"Shunt-Edge", ""}, bearer...)},
		} {
			status, text := n.ask(e, c.method, c.path, c.body, c.fields...)
			expect.Equal(t, status, 403, "%s of %s, with the certificate of an edge %s", c.what, n.name, text)
		}
		status, text := n.ask(e, "GET", "/api/v1/links", "", bearer...)
		expect.Equal(t, status, 200, "links of %s, with the certificate of an edge and a token %s", n.name, text)
		status, _ = n.ask(s.nodes[0], "GET", "/cluster/outbox?id=00000000000000000000000000000000&after=0&hash=0000000000000000", "")
		expect.Equal(t, status, 200, "the outbox of %s, with the certificate of a full node", n.name)
	}
	e.call("POST", "/tokens", map[string]any{"name": "x", "scopes": []string{"links:read"}}).want(t, 403)
	e.call("DELETE", token, nil).want(t, 403)
	e.call("POST", "/users", map[string]any{"email": "x@example.com", "role": "member"}).want(t, 403)
	e.call("GET", "/users", nil).want(t, 200)
	r := shunt(t, "", nil, "token", "add", "--name", "x", "--data", e.data)
	expect.That(t, r.code != exitDone, "a local command made a token at an edge: %s", r.stdout)
	status, _ := e.ask(s.nodes[0], "GET", "/cluster/backup", "")
	expect.Equal(t, status, 403, "an edge gives a backup")
	status, _ = e.ask(e, "GET", "/cluster/outbox?id=00000000000000000000000000000000&after=0&hash=0000000000000000", "")
	expect.Equal(t, status, 403, "an edge gives its outbox to an edge")
	users := s.nodes[0].call("GET", "/users", nil).want(t, 200).body["data"].([]any)
	expect.Equal(t, len(users), 1, "users")
}

// TestMistakesWithAnEdgeAreClearAndChangeNothing starts nodes with another role than their folder or their
// certificate has.
func TestMistakesWithAnEdgeAreClearAndChangeNothing(t *testing.T) {
	s := newSite(t, "a")
	a := s.nodes[0]
	e := s.edge("edge-1", a)
	e.terminate()
	s.makeCertificate("edge-full")
	withFull := append([]string{}, e.args()...)
	withFull = replaced(withFull, "--cluster-cert", filepath.Join(s.dir, "edge-full.crt"))
	withFull = replaced(withFull, "--cluster-key", filepath.Join(s.dir, "edge-full.key"))
	withFull = replaced(withFull, "--node-name", "edge-full")
	full := &siteNode{site: s, name: "c", data: filepath.Join(s.dir, "data-c"), advertise: freeAddress(t)}
	s.makeCertificate("c")
	s.join(full, a)
	s.makeCertificate("fresh", "edge")
	fresh := &siteNode{site: s, name: "fresh", role: "edge", data: filepath.Join(s.dir, "fresh"), advertise: freeAddress(t)}
	fullAsEdge := &siteNode{site: s, name: "edge-1", role: "edge", data: full.data, advertise: full.advertise}
	edgeAsFull := &siteNode{site: s, name: "c", data: e.data, advertise: full.advertise}
	for _, c := range []struct {
		mistake string
		node    *siteNode
		args    []string
		want    string
	}{
		{"an edge's certificate for a full node", e, replaced(e.args(), "--role", "full"), "start with --role edge"},
		{"a full node's certificate for an edge", e, withFull, "organizational unit edge"},
		{"a full node's folder for an edge", fullAsEdge, fullAsEdge.args(), "that of a full node"},
		{"an edge's folder for a full node", edgeAsFull, edgeAsFull.args(), "that of an edge"},
		{"no folder for an edge", fresh, fresh.args(), "shunt join"},
		{"an edge without its cluster", e, nil, "with --cluster and --role edge"},
	} {
		expect.Contains(t, c.node.refused(c.args...), c.want, "%s: it says", c.mistake)
	}
	expect.That(t, expect.Err(os.Stat(fresh.data)) != nil, "an edge without a folder made one")
	r := shunt(t, "", nil, "cluster", "leave", "--data", e.data)
	expect.That(t, r.code != exitDone && strings.Contains(r.stderr, "that of an edge"), "an edge leaves its cluster: %d %s", r.code, r.stderr)
	for _, from := range []*siteNode{a} { // as a full node, with the certificate of an edge
		args := append([]string{"join", "--data", filepath.Join(s.dir, "never"), "--from", from.name + "=https://" + from.advertise}, e.flags()...)
		r := shunt(t, "", nil, args...)
		expect.That(t, r.code != exitDone && strings.Contains(r.stderr, "--role edge"), "an edge joins as a full node: %d %s", r.code, r.stderr)
	}
	for _, n := range []*siteNode{e, full} {
		shunt(t, "", nil, "check", "--data", n.data).done(t)
	}
	e.start()
	s.await(func() bool { return e.caughtUpWith(a) }, "the edge has caught up")
}

// event returns the data of the next event of a stream, or "event: end".
func event(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		expect.OK(t, err, "the stream broke")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "data: ") || strings.HasPrefix(line, "event: end") {
			return line
		}
	}
}

// TestStreamsSessionsAndExportsPassAnEdge reads live figures and an export at an edge, signs in there, and
// stops the edge while a stream is open.
func TestStreamsSessionsAndExportsPassAnEdge(t *testing.T) {
	s := newSite(t, "a", "b")
	a := s.nodes[0]
	e := s.edge("edge-1", a)
	s.token = a.token("admin", "links:read", "links:write", "stats:read", "tokens:write")
	links := make([]map[string]any, 1000)
	for i := range links {
		links[i] = map[string]any{"url": fmt.Sprintf("https://example.com/%d", i)}
	}
	for range 3 {
		e.call("POST", "/shorten/bulk", links).want(t, 200)
	}
	e.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot"}).want(t, 201)
	lines := strings.Count(e.call("GET", "/export", nil).want(t, 200).text, "\n")
	expect.That(t, lines >= 3001, "an export by way of an edge has %d lines, want 3001 or more", lines)

	a.call("POST", "/users", map[string]any{"email": "person@example.com", "role": "member", "password": "a long password 123"}).want(t, 201)
	jar, err := cookiejar.New(nil)
	expect.OK(t, err)
	person := &http.Client{Jar: jar, CheckRedirect: s.requests.CheckRedirect, Timeout: 20 * time.Second}
	login, err := person.Post(e.url+"/api/v1/session", "application/json", strings.NewReader(`{"email":"person@example.com","password":"a long password 123"}`))
	expect.OK(t, err)
	said, _ := io.ReadAll(login.Body)
	login.Body.Close()
	expect.MustEqual(t, login.StatusCode/100, 2, "signing in at an edge: %s %s", login.Status, said)
	for _, path := range []string{"/_/", "/_/account", "/_/links", "/api/v1/me"} {
		resp, err := person.Get(e.url + path)
		expect.OK(t, err)
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		expect.That(t, resp.StatusCode == 200 && bytes.Contains(page, []byte("person@example.com")),
			"%s for who signed in at an edge: %s %.300s", path, resp.Status, page)
	}

	for round := range 2 {
		req, err := http.NewRequest(http.MethodGet, e.url+"/api/v1/stats/hot/live", nil)
		expect.OK(t, err)
		req.Header.Set("Authorization", "Bearer "+s.token)
		resp, err := (&http.Client{}).Do(req)
		expect.MustThat(t, err == nil && resp.StatusCode == 200, "live figures at an edge: %v, %v", resp, err)
		r := bufio.NewReader(resp.Body)
		first := event(t, r)
		e.redirect("hot")
		next := event(t, r)
		expect.That(t, next != first, "after a redirect the event is %q again", next)
		if round == 1 {
			ended := make(chan struct{})
			go func() { e.terminate(); close(ended) }()
			for event(t, r) != "event: end" {
			}
			<-ended
		}
		resp.Body.Close()
	}
}

// TestAnEdgeAsksAboutCaps has clients at an edge and at full nodes follow links with caps, while the edge is
// killed. The cap of one is set when the link has hits at the edge.
func TestAnEdgeAsksAboutCaps(t *testing.T) {
	s := newSite(t, "a", "b")
	e := s.edge("edge-1", s.nodes[0])
	const limit = 300
	e.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "born", "max_hits": limit}).want(t, 201)
	e.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "late"}).want(t, 201)
	for range 20 {
		status, _, err := e.redirect("late")
		expect.MustEqual(t, status, 302, "an uncapped link, %v", err)
	}
	s.setCap("late", limit)
	codes, all := []string{"born", "late"}, append(s.nodes, e)
	rest := s.followCapped(codes, 8, all...)
	time.Sleep(500 * time.Millisecond)
	e.kill()
	e.start()
	s.awaitUsedUp(codes, all...)
	rest()
	for _, code := range codes {
		s.ledger(code)
		if hits := s.nodes[0].hits(code); hits > limit || hits+float64(s.lost(code).Load()) < limit {
			t.Errorf("%s has %v hits, its cap is %d, and %d answers were lost or 503", code, hits, limit, s.lost(code).Load())
		}
	}
}
