package etcdlog

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// roundsEnv is how often the leader is stopped.
const roundsEnv = "SHUNTTEST_ROUNDS"

func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv(roundsEnv)
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	expect.OK(t, err, roundsEnv)
	return n
}

// A leader is stopped while its appends are held in the network. Another takes over and appends. Then
// the held bytes arrive, and the first resumes. Nothing of the first may be written after the first
// entry of the second, and each of its appends must be as it said.
func TestALeaderThatWasStoppedWritesNothingLate(t *testing.T) {
	n := rounds(t)
	s := newSite(t, 3)
	for round := range n {
		s.stopALeader(round)
	}
	t.Logf("%d rounds", n)
}

func (s *site) stopALeader(round int) {
	t := s.t
	t.Helper()
	proxies, endpoints := s.Proxies(t)
	old := s.startChild("old", endpoints)
	await(t, "the child leads", old.leads)
	time.Sleep(time.Duration(100+37*round%200) * time.Millisecond)
	for _, p := range proxies {
		p.Hold(true)
	}
	time.Sleep(time.Duration(round%5) * 300 * time.Millisecond) // repeats at other servers are held, too
	expect.OK(t, old.Process.Signal(syscall.SIGSTOP))
	own := s.open()
	next := s.lead(own, "next")
	for i := range 5 {
		next.mustAppend(numbered(i))
		if i == 2 {
			for _, p := range proxies {
				p.Hold(false)
			}
		}
	}
	expect.OK(t, old.Process.Signal(syscall.SIGCONT))
	await(t, "the child ends", old.ended)
	next.mustAppend("last")
	s.compare(own, old, next)
	expect.NoError(t, next.stop())
}

func await(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("not in time: %s", what)
	}
}

// compare compares the log with what an old leader said, and with the epoch of the next.
func (s *site) compare(l *Log, old *childNode, next *reign) {
	s.t.Helper()
	written := make(map[clusterlog.BatchID]int)
	epoch := uint64(0)
	for _, e := range s.all(l) {
		written[e.Batch]++
		expect.That(s.t, e.Epoch >= epoch, "entry %d of epoch %d after one of %d", e.Sequence, e.Epoch, epoch)
		epoch = e.Epoch
	}
	counts := make(map[string]int)
	for batch, result := range old.results() {
		counts[result]++
		if want := map[string]int{"wrote": 1, "deposed": 0}; written[batch] != want[result] || result == "failed" || result == "sends" {
			s.t.Errorf("batch %x, %s: it is in the log %d times", batch, result, written[batch])
		}
	}
	s.t.Logf("the old leader: %v; next is %s", counts, describe(next))
	expect.That(s.t, counts["wrote"] != 0 && counts["deposed"] == 1, "the old leader had %v", counts)
}

func describe(r *reign) string {
	return "epoch " + strconv.FormatUint(r.Epoch(), 10) + " after entry " + strconv.FormatUint(r.Head().Sequence, 10)
}
