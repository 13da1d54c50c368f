package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/absent"
	"shunt/engine/expect"
)

// TestAFreshLinkRedirectsAtAnyNodeAtOnce makes links at each node of a cluster and follows each at the other nodes
// right after the answer, without waiting until they have read the log: a node that does not know a code asks the one
// that leads. A question may take as long as visitors wait, on a machine that is slow.
func TestAFreshLinkRedirectsAtAnyNodeAtOnce(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	var clients sync.WaitGroup
	var lates atomic.Int64
	for _, n := range s.nodes {
		clients.Go(func() {
			for i := range 100 {
				code := fmt.Sprintf("fresh-%s-%d", n.name, i)
				a := n.call("POST", "/shorten", map[string]any{"url": "https://example.com/" + code, "alias": code})
				expect.That(t, a.status == 201, "%s: %d, %v: %s", code, a.status, a.err, a.text)
				for _, other := range s.without(n) {
					asked := time.Now()
					status, location, err := other.redirect(code)
					took := time.Since(asked)
					late := status == 404 && took >= absent.Patience
					expect.That(t, err == nil && (late || status == 302 && location == "https://example.com/"+code),
						"%s, made at %s, at %s: %d %q after %v, %v", code, n.name, other.name, status, location, took, err)
					if late {
						lates.Add(1)
					}
				}
			}
		})
	}
	clients.Wait()
	expect.That(t, lates.Load() <= 60, "%d of 600 fresh links were misses at other nodes", lates.Load())
	begun := time.Now()
	for i := range 20 {
		expect.Equal(t, s.nodes[i%3].redirects(fmt.Sprintf("nobodys-%d", i)), 404, "a code that nobody has")
	}
	expect.That(t, time.Since(begun) < 20*absent.Patience, "20 questions about codes that nobody has took %v", time.Since(begun))
	s.alike()
}

// TestAnyNodeThatIsCutOffFromEtcdKnowsWhatItAnswers cuts one node at a time off from etcd only: it still reaches the
// one that leads, which writes for it. Whatever it answers with 201 it knows then and there, and so do all others
// afterwards; else the outcome is unknown. Once it is stale it refuses writes, and goes on redirecting.
func TestAnyNodeThatIsCutOffFromEtcdKnowsWhatItAnswers(t *testing.T) {
	s := newSiteApartOn(t, siteOptions{nodes: []string{"--stale-after", "2s"}}, "a", "b", "c")
	s.shorten("hot", "https://example.com/hot")
	s.leads("hot", "https://example.com/hot")
	refused := func(a answer) bool { return a.status == 503 && a.body["code"] == "stale" }
	for round := range 2 {
		s.await(func() bool { return s.leader() != nil && s.caughtUp() }, "a node leads, and all have caught up")
		n := s.without(s.leader())[round]
		before := n.writeDuring(fmt.Sprintf("before-%d", round))
		time.Sleep(20 * time.Millisecond)
		mend := n.cutOffEtcd()
		writes, cut := before(), time.Now()
		for i := 0; ; i++ {
			expect.MustThat(t, time.Since(cut) < 25*time.Second, "%s, which is cut off from etcd, still takes writes", n.name)
			code := fmt.Sprintf("cut-%d-%d", round, i)
			a := n.call("POST", "/shorten", map[string]any{"url": "https://example.com/" + code, "alias": code})
			writes = append(writes, aWrite{code, a})
			if refused(a) {
				break
			}
		}
		for _, w := range writes {
			if w.answer.status == 201 {
				status, location, err := n.redirect(w.alias)
				expect.That(t, err == nil && status == 302 && location == "https://example.com/"+w.alias, "%s was answered with 201 and leads to %q: %d, %v", w.alias, location, status, err)
			}
		}
		edited, deleted := n.call("PATCH", "/links/hot", map[string]any{"title": "new"}), n.call("DELETE", "/links/hot", nil)
		expect.That(t, refused(edited) && refused(deleted), "a stale node answered an edit with %d, a deletion with %d", edited.status, deleted.status)
		expect.Equal(t, n.redirects("hot"), 302, "a stale node redirects")
		mend()
		s.judge(writes)
	}
	s.ledger("hot")
	s.alike()
}

// TestANodeThatRunsWithoutAUserOfEtcdSaysSo takes the user of a node away before it starts again. It says so at once,
// and is not ready until somebody makes the user again; then it is, without a command.
func TestANodeThatRunsWithoutAUserOfEtcdSaysSo(t *testing.T) {
	s := newSiteTLS(t)
	s.restrict("", "", "a", "b")
	s.begin([]string{"a", "b"})
	n := s.nodes[1]
	s.leader().call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "x"}).want(t, 201)
	s.leads("x", "https://example.com/")
	n.terminate()
	root := s.etcd.Client()
	defer root.Close()
	expect.OK(t, expect.Err(root.UserDelete(t.Context(), n.name)))
	began := time.Now()
	n.launch()
	s.await(func() bool {
		return strings.Contains(n.stderr(), "refuse the user of this node, whose name is that of its certificate")
	}, "the node says that it has no user")
	said := time.Since(began)
	expect.That(t, said < 6*time.Second, "it said so after %v", said)
	ready := func() bool {
		resp, err := s.requests.Get(n.adminURL + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == 200
	}
	for ; time.Since(began) < 12*time.Second; time.Sleep(200 * time.Millisecond) {
		expect.MustThat(t, !ready(), "a node without a user of etcd is ready after %v:\n%s", time.Since(began), n.lastWords())
	}
	s.control("user add --no-password b\nuser grant-role b shunt\n")
	if closed(n.ended) { // it gave up: what supervises it starts it again
		n.launch()
	}
	s.await(ready, "it is ready once it has its user again")
	s.leads("x", "https://example.com/")
	s.alike()
}

// TestAnyNodeWithTheLogOfYesterdayIsMendedByRenew gives the servers of etcd an older state of the log, as a backup has
// it. The command refuses to replace that log unless it is told to; then all nodes go on, with all links and hits.
func TestAnyNodeWithTheLogOfYesterdayIsMendedByRenew(t *testing.T) {
	s := newSite(t, "a", "b")
	s.shorten("old", "https://example.com/old")
	s.leads("old", "https://example.com/old")
	yesterday := s.keys()
	s.shorten("new", "https://example.com/new")
	s.leads("new", "https://example.com/new")
	a := s.nodes[0]
	for _, n := range s.nodes {
		n.kill()
	}
	s.restoreKeys(yesterday)
	renew := append([]string{"cluster", "renew", "--data", a.data}, a.flags()...)
	refused := shunt(t, "", nil, renew...)
	expect.That(t, refused.code == exitFailed && strings.Contains(refused.stderr, "--replace"), "renew: exit code %d: %s", refused.code, refused.stderr)
	done := shunt(t, "", nil, append(renew, "--replace")...)
	done.done(t)
	expect.Contains(t, done.stderr, "goes on after entry")
	for _, n := range s.nodes {
		n.start()
	}
	s.await(func() bool { return s.leader() != nil && s.caughtUp() }, "a node leads again")
	s.shorten("later", "https://example.com/later")
	for code, target := range map[string]string{"old": "https://example.com/old", "new": "https://example.com/new", "later": "https://example.com/later"} {
		s.leads(code, target)
	}
	s.ledgers([]string{"old", "new", "later"})
	s.alike()
}

// TestAnyNodeBecomesAServerOfItsOwnAgain goes back to one machine as OPERATORS.md says it: the node that stays leaves
// the cluster when all are stopped, and starts without it. It has all links, accounts and hits, and takes writes.
func TestAnyNodeBecomesAServerOfItsOwnAgain(t *testing.T) {
	s := newSite(t, "a", "b", "c")
	for _, n := range s.nodes {
		n.call("POST", "/shorten", map[string]any{"url": "https://example.com/by-" + n.name, "alias": "by-" + n.name}).want(t, 201)
	}
	codes := []string{"by-a", "by-b", "by-c"}
	for _, code := range codes {
		for range 5 {
			s.leads(code, "https://example.com/"+code)
		}
	}
	s.ledgers(codes)
	keep := s.nodes[2]
	s.alike() // stops all
	leave := []string{"cluster", "leave", "--data", keep.data}
	left := shunt(t, "", nil, leave...)
	if left.code != exitDone { // the others were stopped before it heard that they have its hits
		expect.Contains(t, left.stderr, "hits of this node wait")
		left = shunt(t, "", nil, append(leave, "--lose-hits")...)
	}
	left.done(t)
	expect.Contains(t, left.stderr, "no longer belongs to a cluster")
	again := shunt(t, "", nil, leave...)
	expect.That(t, again.code == exitFailed && strings.Contains(again.stderr, "belongs to no cluster"), "leave again: exit code %d: %s", again.code, again.stderr)
	expect.Contains(t, keep.refused(keep.args()...), "cluster")

	p := startServer(t, keep.data, "--listen", strings.TrimPrefix(keep.url, "http://"), "--base-url", "http://sho.rt")
	for _, code := range codes {
		got := keep.call("GET", "/links/"+code, nil).want(t, 200).body // with a token of the cluster
		expect.Equal(t, got["hits"], any(float64(s.answered(code).Load())), "hits of %s", code)
		status, location, err := keep.redirect(code)
		expect.That(t, err == nil && status == 302 && location == "https://example.com/"+code, "%s: %d %q, %v", code, status, location, err)
	}
	keep.call("POST", "/shorten", map[string]any{"url": "https://example.com/own", "alias": "own"}).want(t, 201)
	p.kill()
	p = startServer(t, keep.data, "--listen", strings.TrimPrefix(keep.url, "http://"), "--base-url", "http://sho.rt")
	for _, code := range append(codes, "own") {
		expect.That(t, keep.hits(code) == float64(s.answered(code).Load()), "%s after a kill: %v hits, %d answered", code, keep.hits(code), s.answered(code).Load())
		expect.Equal(t, keep.redirects(code), 302, code)
	}
	p.terminate()
	shunt(t, "", nil, "check", "--data", keep.data).done(t)
}
