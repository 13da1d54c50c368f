package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// caughtRounds is how often each case of catching up is measured.
const caughtRounds = 3

// maxMissed is how many entries a node misses, and maxMissedBytes about how large they are.
const maxMissed, maxMissedBytes = 900, 48 << 20

// A fill writes at the leader for a moment, and returns how many links it made, and about how many bytes.
type fill func(s *site, leader *siteNode) (links, size int64)

// TestFiguresOfCatchingUp stops a node that follows (SIGSTOP) while others write, lets it go on, and
// measures how long it takes until it has applied everything. Nobody writes meanwhile.
func TestFiguresOfCatchingUp(t *testing.T) {
	figureSeconds(t)
	s := figureSite(t, "a", "b", "c")
	for _, c := range []struct {
		what string
		fill fill
	}{
		{"by one writer", fillByWriters(1)},
		{"by 128 writers", fillByWriters(128)},
		{"by 4 writers of 1,000 links at a time", fillByBulks},
	} {
		for range caughtRounds {
			s.catchUp(c.what, c.fill)
		}
	}
	s.alike()
}

// catchUp measures once.
func (s *site) catchUp(what string, fill fill) {
	const applied = `shunt_cluster_sequence{which="applied"}`
	leader := s.leader()
	behind := s.without(leader)[0]
	s.await(func() bool { return behind.caughtUpWith(leader) }, "the node has caught up")
	from := leader.metric(applied)
	behind.pause()
	var links, size int64
	begun := time.Now()
	for leader.metric(applied) < from+maxMissed && size < maxMissedBytes {
		l, b := fill(s, leader)
		links, size = links+l, size+b
	}
	writing := time.Since(begun)
	entries := leader.metric(applied) - from
	pid := behind.cmd.Process.Pid
	before := clockOf(s.t, pid)
	behind.resume()
	begun = time.Now()
	for !behind.caughtUpWith(leader) {
		expect.MustThat(s.t, time.Since(begun) <= time.Minute, "a node does not catch up")
	}
	took := time.Since(begun)
	s.t.Logf("%s: %.0f entries with %d links, written in %v, are applied after %v: %.0f entries/s, %.0f links/s, %v of CPU",
		what, entries, links, writing.Round(time.Millisecond), took.Round(time.Millisecond),
		entries/took.Seconds(), float64(links)/took.Seconds(), (clockOf(s.t, pid) - before).Round(time.Millisecond))
}

func fillByWriters(writers int) fill {
	return func(s *site, leader *siteNode) (links, size int64) {
		links, _ = s.load(leader, writers, 0, 500*time.Millisecond)
		return links, links * 300
	}
}

// fillByBulks has four clients make 1,000 links each.
func fillByBulks(s *site, leader *siteNode) (links, size int64) {
	const clients, bulk = 4, 1000
	body := bulkOf(bulk)
	var joined sync.WaitGroup
	for range clients {
		joined.Go(func() { postBulk(s.t, http.DefaultClient, leader.url, s.token, body) })
	}
	joined.Wait()
	return clients * bulk, clients * bulk * 300
}

// bulkOf returns the body of a request for n links.
func bulkOf(n int) []byte {
	var body bytes.Buffer
	body.WriteByte('[')
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"url":"https://example.com/some/page/of/a/site?n=%d"}`, i)
	}
	body.WriteByte(']')
	return body.Bytes()
}
