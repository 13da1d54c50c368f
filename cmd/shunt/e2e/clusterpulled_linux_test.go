package e2e

import (
	"sync"
	"testing"
	"time"

	"shunt/bench/compare/load"
)

// pulledLinks are followed evenly: the worst case for whoever applies hits.
const pulledLinks = 1 << 20

// TestFiguresOfPulledHits measures what it costs a full node to pull and apply the hits of two others,
// 50,000/s each, over a million links, beside its own. The two are edges, so that the machine needs not do
// the same work three times: a full node pulls from an edge as from a full one. Requests come by HTTP,
// 16 at a time on a connection, so that clients and the front door cost little.
func TestFiguresOfPulledHits(t *testing.T) {
	turn := figureSeconds(t)
	s := figureSite(t, "a")
	a := s.nodes[0]
	plant(t, a.url, s.token, pulledLinks)
	edges := []*siteNode{s.edge("edge-1", a), s.edge("edge-2", a)}
	time.Sleep(3 * time.Second)
	s.pulledTurn("nothing", turn/2, 0)
	s.pulledTurn("2 × 50,000 hits/s at others", turn, 50_000, edges...)
	s.pulledTurn("50,000 hits/s of its own", turn, 50_000, a)
	s.pulledTurn("3 × 50,000 hits/s, its own and those of others", 3*turn, 50_000, a, edges[0], edges[1])
}

// pulledTurn loads nodes at a rate each, and reports what the first node of the site uses meanwhile.
func (s *site) pulledTurn(what string, turn time.Duration, rate float64, nodes ...*siteNode) {
	const together, warmUp = 16, 4 * time.Second
	a := s.nodes[0]
	spec := load.Spec{
		Connections: 32, Pipeline: together, Links: pulledLinks, Evenly: true, Visitors: true,
		Rate: rate / together, Sleep: true, Length: warmUp + turn,
	}
	reports := make([]*load.Report, len(nodes))
	var loads sync.WaitGroup
	for i, n := range nodes {
		spec.Seed = uint64(i + 1)
		loads.Go(func() {
			var err error
			if reports[i], err = generate(n.process, n.url, spec); err != nil {
				s.t.Error(err)
			}
		})
	}
	time.Sleep(warmUp)
	pid := a.cmd.Process.Pid
	before, begun, behind := clockOf(s.t, pid), time.Now(), a.behindBytes()
	time.Sleep(turn - time.Since(begun))
	used, passed := clockOf(s.t, pid)-before, time.Since(begun)
	grown := a.behindBytes() - behind
	loads.Wait()
	hits := 0.
	for _, r := range reports {
		if r != nil {
			hits += float64(r.Answers) / r.Elapsed.Seconds()
		}
	}
	s.t.Logf("%s: a full node uses %.3f CPU-s a second; %.0f hits/s answered in all; %+.1f MB behind after %v",
		what, used.Seconds()/passed.Seconds(), hits, grown/1e6, passed.Round(time.Millisecond))
	s.await(func() bool { return a.behindBytes() == 0 }, "all hits are pulled")
	time.Sleep(2 * time.Second)
}

// behindBytes returns how much a node has not pulled of the edges' hits.
func (n *siteNode) behindBytes() float64 {
	return n.metric(`shunt_cluster_pull_behind_bytes{node="edge-1"}`) + n.metric(`shunt_cluster_pull_behind_bytes{node="edge-2"}`)
}
