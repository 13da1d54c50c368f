package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"shunt/bench/compare/load"
	"shunt/engine/expect"
)

// costLinks is how many links are followed where it is not one.
const costLinks = 100_000

// TestFiguresOfARedirectInACluster compares a node of a cluster of three, which does not lead, with the
// same program without a cluster: the CPU time and the latency of redirects, in turns. All processes run
// all the time. The other nodes pull and apply what is measured, on the same two cores.
func TestFiguresOfARedirectInACluster(t *testing.T) {
	turn := figureSeconds(t) / 4
	s := figureSite(t, "a", "b", "c")
	member := s.without(s.leader())[0]
	alone := startServer(t, filepath.Join(t.TempDir(), "alone"), "--base-url", "http://sho.rt", "--flush-interval", "1s",
		"--limit-calls", "off", "--limit-creates", "off", "--limit-misses", "off")
	plant(t, s.leader().url, s.token, costLinks)
	plant(t, alone.public, alone.token("links:write"), costLinks)
	s.await(s.caughtUp, "all nodes have caught up")
	time.Sleep(3 * time.Second) // so that what the links have started ends

	rest := make(map[*process]float64) // what each uses without requests, in CPU-s a second
	for _, n := range append(s.nodes, &siteNode{process: alone, name: "without a cluster"}) {
		before := clockOf(t, n.cmd.Process.Pid)
		time.Sleep(turn)
		rest[n.process] = (clockOf(t, n.cmd.Process.Pid) - before).Seconds() / turn.Seconds()
		t.Logf("at rest, %s: %.2f %% of a core", n.name, 100*rest[n.process])
	}
	for _, c := range []struct {
		what string
		load.Spec
	}{
		{"one link, as fast as 64 connections can", load.Spec{Connections: 64, Links: 1}},
		{"100,000 links by popularity, 5,000/s", load.Spec{Connections: 64, Links: costLinks, Visitors: true, Rate: 5_000, Sleep: true}},
		{"100,000 links by popularity, 15,000/s", load.Spec{Connections: 64, Links: costLinks, Visitors: true, Rate: 15_000, Sleep: true}},
	} {
		c.Length = turn
		compareTurns(t, c.what, c.Spec, member, alone, rest)
	}
}

// compareTurns loads a member and a process alone in turns, and reports the ratios of pairs: of all CPU time,
// and of what is more than at rest.
func compareTurns(t *testing.T, what string, spec load.Spec, member *siteNode, alone *process, rest map[*process]float64) {
	t.Helper()
	const pairs = 6
	var of [2]struct{ cpu, p50, p99 spread }
	var ratios, more spread
	for pair := range pairs {
		var cpu, added [2]float64
		for i := range 2 {
			which := (i + pair) % 2 // who begins takes turns, too
			p, url := member.process, member.url
			if which == 1 {
				p, url = alone, alone.public
			}
			spec.Seed = uint64(pair + 1)
			report, err := generate(p, url, spec)
			expect.OK(t, err)
			cpu[which] = report.CPU.Seconds() * 1e6 / float64(report.Answers)
			added[which] = cpu[which] - rest[p]*report.Elapsed.Seconds()*1e6/float64(report.Answers)
			of[which].cpu = append(of[which].cpu, cpu[which])
			of[which].p50 = append(of[which].p50, report.P50.Seconds()*1e6)
			of[which].p99 = append(of[which].p99, report.P99.Seconds()*1e6)
		}
		ratios = append(ratios, cpu[0]/cpu[1])
		more = append(more, added[0]/added[1])
	}
	t.Logf("%s: CPU of a redirect as a multiple of that without a cluster: %v in %d pairs; without what both use at rest: %v", what, ratios, pairs, more)
	for which, name := range []string{"in a cluster", "without"} {
		t.Logf("  %s: CPU %v µs, p50 %v µs, p99 %v µs", name, of[which].cpu, of[which].p50, of[which].p99)
	}
}
