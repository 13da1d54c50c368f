package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	hotTarget      = "https://example.com/"
	nemesisWriters = 3
	nemesisRecent  = 20 // links with a cap that are followed: the newest ones
	nemesisRepeats = 5  // of a write with an Idempotency-Key whose outcome is not known
)

// redirectCounts are what clients that follow links saw.
type redirectCounts struct {
	good, failed, uncertain atomic.Int64 // failed: at nodes that ran; uncertain: at those that did not all the time
	slowest                 atomic.Int64 // at nodes that ran, in nanoseconds
}

func (c *redirectCounts) String() string {
	return fmt.Sprintf("%d redirects of one link, %d failed at nodes that ran, the slowest there took %v; %d at nodes that did not run",
		c.good.Load(), c.failed.Load(), time.Duration(c.slowest.Load()).Round(time.Millisecond), c.uncertain.Load())
}

// follow follows links at a node until stop.
func (m *nemesis) follow(n *siteNode, rng *rand.Rand, stop <-chan struct{}) {
	for !closed(stop) {
		if code := m.wrote.recent(rng); code != "" && rng.IntN(2) == 0 {
			_, _, _ = n.redirect(code) // the ledger counts it
		} else if !m.followHot(n) {
			time.Sleep(20 * time.Millisecond) // it does not run
		}
		time.Sleep(time.Duration(rng.IntN(4)) * time.Millisecond)
	}
}

// followHot follows the link that is never changed. That may fail only at a node that does not run.
func (m *nemesis) followHot(n *siteNode) (ok bool) {
	begun, before := time.Now(), m.disturbed[n].Load()
	status, location, err := n.redirect("hot")
	took, runs := time.Since(begun), before%2 == 0 && m.disturbed[n].Load() == before
	switch ok = err == nil && location == hotTarget; {
	case !runs:
		m.redirects.uncertain.Add(1)
	case ok:
		m.redirects.good.Add(1)
		for slowest := m.redirects.slowest.Load(); took.Nanoseconds() > slowest && !m.redirects.slowest.CompareAndSwap(slowest, took.Nanoseconds()); {
			slowest = m.redirects.slowest.Load()
		}
	default:
		m.redirects.failed.Add(1)
		m.failf("a redirect at %s, which runs: %d to %q, %v, after %v", n.name, status, location, err, took)
	}
	return ok
}

// A written is a link that one client has created, edited and deleted, and what may be so afterwards.
type written struct {
	alias, domain string // equal aliases are in all domains
	capped        bool
	may           []string // targets where it may lead; "" if it may be missing
}

// name returns how clients name the link.
func (l *written) name() string {
	if l.domain == "" {
		return l.alias
	}
	return l.alias + inDomain + l.domain
}

// target returns where the link leads, which no other link does.
func (l *written) target(edited string) string {
	return "https://example.com/" + edited + l.domain + "/" + l.alias
}

// writes are those of all clients.
type writes struct {
	mu struct {
		sync.Mutex
		links  []*written
		capped []string
	}
	created, refused, unknown, repeated atomic.Int64
}

func (w *writes) String() string {
	return fmt.Sprintf("%d writes, %d refused, %d of unknown outcome, %d of them known after a repeat", w.created.Load(), w.refused.Load(), w.unknown.Load(), w.repeated.Load())
}

// all returns what the clients have written. They must rest.
func (w *writes) all() []*written {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.mu.links)
}

func (w *writes) length() int { return len(w.all()) }

// begin returns the next link, which nobody else writes.
func (w *writes) begin() *written {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.mu.links)
	l := &written{alias: fmt.Sprintf("link-%d", n/len(historyDomains)), domain: historyDomains[n%len(historyDomains)], may: []string{""}}
	l.capped = n%50 == 0
	w.mu.links = append(w.mu.links, l)
	return l
}

// followed has clients follow a link with a cap.
func (w *writes) followed(l *written) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.capped = append(w.mu.capped, l.name())
}

// recent returns one of the newest links with a cap, "" if there is none.
func (w *writes) recent(rng *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	newest := w.mu.capped[max(0, len(w.mu.capped)-nemesisRecent):]
	if len(newest) == 0 {
		return ""
	}
	return newest[rng.IntN(len(newest))]
}

// cappedOf returns those that are followed.
func (w *writes) cappedOf(links []*written) (codes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range links {
		if slices.Contains(w.mu.capped, l.name()) {
			codes = append(codes, l.name())
		}
	}
	return codes
}

// write creates, edits and deletes links by way of any node until stop.
func (m *nemesis) write(rng *rand.Rand, stop <-chan struct{}) {
	for rest(stop, time.Duration(rng.IntN(100))*time.Millisecond) {
		l := m.wrote.begin()
		known := m.create(l, rng)
		switch {
		case l.capped && known && l.may[0] != "":
			m.wrote.followed(l)
		case l.capped || !known || l.may[0] == "":
		case rng.IntN(3) == 0:
			target := l.target("edited-")
			if m.change(l, target, m.anyNode(rng).call("PATCH", "/links/"+l.name(), map[string]any{"url": target}), 200) && rng.IntN(2) == 0 {
				m.change(l, "", m.anyNode(rng).call("DELETE", "/links/"+l.name(), nil), 204)
			}
		}
	}
}

func (m *nemesis) anyNode(rng *rand.Rand) *siteNode {
	all := m.all()
	return all[rng.IntN(len(all))]
}

// create creates a link, and reports whether what became of that is known. A third of such writes has a key,
// and is repeated elsewhere while that is not so.
func (m *nemesis) create(l *written, rng *rand.Rand) (known bool) {
	target := l.target("")
	fields := map[string]any{"url": target, "alias": l.alias}
	if l.domain != "" {
		fields["domain"] = l.domain
	}
	if l.capped {
		fields["max_hits"] = nemesisCap
	}
	if rng.IntN(3) > 0 {
		return m.change(l, target, m.anyNode(rng).call("POST", "/shorten", fields), 201)
	}
	if m.change(l, target, m.anyNode(rng).call("POST", "/shorten", fields, "Idempotency-Key", l.name()), 201) {
		return true
	}
	for range nemesisRepeats {
		a := m.anyNode(rng).call("POST", "/shorten", fields, "Idempotency-Key", l.name())
		switch {
		case a.err == nil && a.status == 201:
			m.wrote.repeated.Add(1)
			return m.change(l, target, a, 201)
		case a.err == nil && a.status != 503:
			m.failf("%s was created again with its key: %d %s", l.name(), a.status, a.text)
			return false
		}
	}
	return false
}

// change notes what the answer to a write says of its link, which leads to target if it was done (want): and
// reports whether that is known.
func (m *nemesis) change(l *written, target string, a answer, want int) (known bool) {
	switch {
	case a.err == nil && a.status == want:
		m.wrote.created.Add(1)
		l.may = []string{target}
	case a.err == nil && a.status == 503 && a.body["code"] != "outcome_unknown":
		m.wrote.refused.Add(1)
	case a.err != nil || a.body["code"] == "outcome_unknown":
		m.wrote.unknown.Add(1)
		l.may = append(l.may, target)
		return false
	default:
		m.failf("a write of %s was answered with %d, want %d: %s", l.name(), a.status, want, a.text)
		return false
	}
	return true
}

// judgeWrites checks that each link is at each node as the answers say, and at all nodes the same.
func (m *nemesis) judgeWrites(links []*written) {
	found := make([][]string, len(m.all()))
	var nodes sync.WaitGroup
	for i, n := range m.all() {
		nodes.Go(func() { found[i] = m.targets(n, links) })
	}
	nodes.Wait()
	for j, l := range links {
		for i, n := range m.all() {
			if at := found[i][j]; at != found[0][j] || !l.capped && !slices.Contains(l.may, at) {
				m.failf("%s leads to %q at %s and to %q at %s; by the answers to its writes it may lead to %q", l.name(), at, n.name, found[0][j], m.nodes[0].name, l.may)
			}
		}
	}
}

// targets returns where links lead at a node; "" for those with a cap, which may be used up.
func (m *nemesis) targets(n *siteNode, links []*written) (found []string) {
	for _, l := range links {
		location := ""
		if !l.capped {
			var err error
			if _, location, err = n.redirect(l.name()); err != nil {
				m.failf("%s at %s: %v", l.name(), n.name, err)
			}
		}
		found = append(found, location)
	}
	return found
}
