package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	nemesisCap   = 400             // of each capped link: clients use it up in some seconds
	nemesisRound = 2 * time.Minute // at most; then the clients rest, what they know is judged, and an accident happens
	faultTimeout = 2 * time.Minute // of one fault; then all nodes are killed, so that the test ends
)

// nemesis is a site to which anything may happen.
type nemesis struct {
	*site
	edge   *siteNode
	seed   uint64
	faults *faultPlan
	begun  time.Time

	done, accidents int // faults, and accidents

	disturbed map[*siteNode]*disturbance
	redirects redirectCounts
	wrote     writes

	mu struct {
		sync.Mutex
		notes []string // what happened, with its time
	}
}

// TestAnythingAtRandom has clients create, edit and delete links of equal codes in three domains, some with caps, and
// follow them at three full nodes and an edge. Meanwhile nodes and servers of etcd are killed, stopped, paused, cut off
// from each other and started at random, at most one of each kind at a time, and what nodes and etcd say to each other
// is held back or lost. At the end of each round, of two minutes, all is mended, and the ledger of the clients must
// agree with all nodes: no redirect failed at a node that ran, what was answered to writes is so, hits and visitors are
// equal and exact, no cap is exceeded. Then an accident happens, and all that must be so again. At the end the nodes
// must have the same data.
//
// SHUNTTEST_NEMESIS is the number of seconds, SHUNTTEST_SEED that of the faults: the same seed, the same faults in the
// same order. A run that fails says when, and leaves its logs and data in a folder.
func TestAnythingAtRandom(t *testing.T) {
	seconds, seed := numberFrom("SHUNTTEST_NEMESIS", 30), numberFrom("SHUNTTEST_SEED", uint64(time.Now().UnixNano())%1_000_000)
	m := newNemesis(t, seed)
	m.notef("SHUNTTEST_SEED=%d SHUNTTEST_NEMESIS=%d", seed, seconds)
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end) && !t.Failed(); {
		m.round(min(time.Until(end), nemesisRound))
		if !t.Failed() {
			m.accident()
		}
	}
	m.judgeWrites(m.wrote.all())
	m.notef("%d faults and %d accidents in %v; %s; %s", m.done, m.accidents, time.Since(m.begun).Round(time.Second), m.wrote.String(), m.redirects.String())
	m.alike()
}

func newNemesis(t *testing.T, seed uint64) *nemesis {
	s := newSiteApartOn(t, siteOptions{etcd: smallQuota}, "a", "b", "c")
	m := &nemesis{site: s, edge: s.edge("edge-1", s.nodes[0]), seed: seed, faults: newFaultPlan(seed), begun: time.Now()}
	t.Cleanup(m.keepIfFailed)
	m.disturbed = make(map[*siteNode]*disturbance)
	for _, n := range m.all() {
		m.disturbed[n] = new(disturbance)
	}
	m.addHistoryDomains()
	m.shorten("hot", hotTarget)
	m.await(func() bool { _, location, _ := m.edge.redirect("hot"); return location == hotTarget }, "the edge has the first link")
	return m
}

// round has clients and faults for some time, and judges what was answered.
func (m *nemesis) round(lasts time.Duration) {
	first := m.wrote.length()
	rest := m.clients(first)
	defer rest() // if a node does not start
	for end := time.Now().Add(lasts); time.Now().Before(end) && !m.t.Failed(); {
		m.next()
	}
	m.etcd.Await()
	took := m.writesAfter(time.Now(), m.nodes...)
	rest()
	m.notef("calm; writes again after %v", took.Round(time.Millisecond))
	m.await(m.caughtUp, "all nodes have caught up")
	m.await(func() bool { return m.edge.caughtUpWith(m.nodes[0]) }, "the edge has caught up")
	written := m.wrote.all()[first:]
	m.judgeWrites(written)
	capped := m.wrote.cappedOf(written)
	m.ledgers(append(capped, "hot"))
	for _, code := range capped {
		if hits := m.nodes[0].hits(code); hits > nemesisCap {
			m.failf("%s has %v hits, and its cap is %d", code, hits, nemesisCap)
		}
	}
	m.notef("judged: %d links written in this round, %d of them with a cap; hits of one link: %d (and %d answers lost)",
		len(written), len(capped), m.answered("hot").Load(), m.lost("hot").Load())
}

// clients begin with what they do. rest ends that, and returns when all have been answered.
func (m *nemesis) clients(round int) (rest func()) {
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for i, n := range m.all() {
		for c := range 4 {
			rng := rand.New(rand.NewPCG(m.seed+uint64(round), uint64(4*i+c)))
			clients.Go(func() { m.follow(n, rng, stop) })
		}
	}
	for w := range nemesisWriters {
		rng := rand.New(rand.NewPCG(m.seed+uint64(round), uint64(100+w)))
		clients.Go(func() { m.write(rng, stop) })
	}
	return sync.OnceFunc(func() { close(stop); clients.Wait() })
}

func (m *nemesis) all() []*siteNode { return append(slices.Clone(m.nodes), m.edge) }

// notef notes what happened, with the time since the beginning.
func (m *nemesis) notef(format string, args ...any) {
	note := m.since() + fmt.Sprintf(format, args...)
	m.t.Log(note)
	m.note(note)
}

// failf is notef for what must not happen. Its first call ends the faults.
func (m *nemesis) failf(format string, args ...any) {
	note := m.since() + fmt.Sprintf("seed %d: ", m.seed) + fmt.Sprintf(format, args...)
	m.t.Error(note)
	m.note(note)
}

func (m *nemesis) since() string { return fmt.Sprintf("%8.3f s: ", time.Since(m.begun).Seconds()) }

func (m *nemesis) note(note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.notes = append(m.mu.notes, note)
}

func numberFrom(env string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(env), 10, 64); err == nil {
		return n
	}
	return otherwise
}
