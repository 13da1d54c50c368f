package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/storage/etcdlog/etcdtest"
)

// nemesisCap is the cap of each capped link: clients use it up in some seconds.
const nemesisCap = 400

// nemesis is a site to which anything may happen.
type nemesis struct {
	*site
	edge  *siteNode
	rng   *rand.Rand
	codes sync.Map // of links with a cap: bool
	made  atomic.Int64
}

// TestAnythingAtRandom has clients create links, some with caps, and follow them at three full nodes and an edge, while
// nodes and servers of etcd are killed, stopped, paused and started at random, several at a time. At the end the ledger
// of the clients must agree with all full nodes, no cap may be exceeded, and the nodes must have the same data.
// SHUNTTEST_NEMESIS is the number of seconds, SHUNTTEST_SEED that of the faults.
func TestAnythingAtRandom(t *testing.T) {
	seconds, seed := numberFrom("SHUNTTEST_NEMESIS", 30), numberFrom("SHUNTTEST_SEED", uint64(time.Now().UnixNano())%1_000_000)
	t.Logf("SHUNTTEST_SEED=%d", seed)
	s := newSite(t, "a", "b", "c")
	m := &nemesis{site: s, edge: s.edge("edge-1", s.nodes[0]), rng: rand.New(rand.NewPCG(seed, 18))}
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot"}).want(t, 201)
	s.leads("hot", "https://example.com/")
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for _, n := range m.all() {
		for c := range 4 {
			clients.Go(func() { m.follow(n, stop, rand.New(rand.NewPCG(seed, uint64(c)))) })
		}
	}
	clients.Go(func() { m.create(stop) })
	faults := 0
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); faults++ {
		m.fault()
	}
	s.etcd.Await()
	took := s.writesAfter(time.Now(), s.nodes...)
	close(stop)
	clients.Wait()
	total, capped := s.ledger("hot"), 0
	s.await(s.caughtUp, "all nodes have caught up")
	m.codes.Range(func(code, _ any) bool {
		capped++
		s.ledger(code.(string))
		if hits := s.nodes[0].hits(code.(string)); hits > nemesisCap {
			t.Errorf("%s has %v hits, and its cap is %d", code, hits, nemesisCap)
		}
		return true
	})
	t.Logf("%d faults in %d s; %d links made, %d of them with a cap; %d redirects of one link, %d answers lost; writes again after %v",
		faults, seconds, m.made.Load(), capped, total, s.lost.Load(), took.Round(time.Millisecond))
	s.alike()
}

func (m *nemesis) all() []*siteNode { return append(slices.Clone(m.nodes), m.edge) }

func numberFrom(env string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(env), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// fault does something to nodes or servers, lets it last, and ends it.
func (m *nemesis) fault() {
	lasts := time.Duration(200+m.rng.IntN(3000)) * time.Millisecond
	n := m.all()[m.rng.IntN(len(m.nodes)+1)]
	if leader := m.leader(); leader != nil && m.rng.IntN(3) == 0 {
		n = leader
	}
	server := m.etcd.Members[m.rng.IntN(len(m.etcd.Members))]
	switch m.rng.IntN(7) {
	case 0, 1:
		n.kill()
		time.Sleep(lasts)
		n.start()
	case 2:
		n.terminate()
		n.start()
	case 3:
		n.pause()
		time.Sleep(lasts)
		n.resume()
	case 4:
		server.Kill()
		time.Sleep(lasts)
		server.Start()
	case 5:
		server.Pause()
		n.kill()
		time.Sleep(lasts)
		n.start()
		server.Resume()
	case 6: // without a majority
		m.withoutMajority(server, lasts)
	}
	time.Sleep(time.Duration(m.rng.IntN(1500)) * time.Millisecond)
}

func (m *nemesis) withoutMajority(but *etcdtest.Member, lasts time.Duration) {
	for _, server := range m.etcd.Members {
		if server != but {
			server.Pause()
			defer server.Resume()
		}
	}
	time.Sleep(lasts)
}

// follow follows links at a node until stop.
func (m *nemesis) follow(n *siteNode, stop <-chan struct{}, rng *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		code := "hot"
		if rng.IntN(2) == 0 {
			skip := rng.IntN(20)
			m.codes.Range(func(c, _ any) bool {
				code = c.(string)
				skip--
				return skip > 0
			})
		}
		if _, _, err := n.redirect(code); err != nil {
			time.Sleep(20 * time.Millisecond) // it does not run
		}
		time.Sleep(time.Duration(rng.IntN(4)) * time.Millisecond)
	}
}

// create makes links by way of any node until stop: those whose creation is certain are followed.
func (m *nemesis) create(stop <-chan struct{}) {
	nodes := m.all()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
		fields := map[string]any{"url": fmt.Sprintf("https://example.com/%d", i)}
		if i%50 == 0 {
			fields["max_hits"] = nemesisCap
		}
		a := nodes[i%len(nodes)].call("POST", "/shorten", fields)
		if a.status != 201 {
			continue
		}
		m.made.Add(1)
		if code, ok := a.body["code"].(string); ok && i%50 == 0 {
			m.codes.Store(code, true)
		}
	}
}
