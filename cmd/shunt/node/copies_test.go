package node

import (
	"log/slog"
	"testing"
	"time"

	"shunt/api/cluster"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// restarted returns what a node is after a restart with the same store.
func restarted(s *replicate.Rows) *Node {
	n := &Node{settings: &Settings{Name: "me", Role: Full}, log: slog.New(slog.DiscardHandler), store: s}
	n.initPulls()
	n.pulls.began = s.Metrics().OutboxNext
	n.readCopies()
	return n
}

// TestACopyIsHeldOverARestartOfItsSender until the node that it is for has begun.
func TestACopyIsHeldOverARestartOfItsSender(t *testing.T) {
	s, other := memberStore(t), [16]byte{7}
	members := []clusterlog.Member{{Node: clusterlog.Node{Name: "me", Role: clusterlog.Full}}}
	n := restarted(s)
	expect.MustEqual(t, n.kept(other, 5), 5, "without a copy it may need the records after")
	expect.OK(t, n.HoldForCopy("new"))
	flushFive(t, s)
	for _, when := range []string{"at once", "after a restart"} {
		expect.Equal(t, n.kept(other, 20), 5, "%s: it says that it may need the other's records after", when)
		expect.Equal(t, n.pulledByAll(members), 0, "%s: it drops its own records through", when)
		n = restarted(s)
	}
	n.acknowledge("new", 0)
	for _, when := range []string{"at once", "after a restart"} {
		expect.Equal(t, n.kept(other, 20), 20, "the node has begun, %s: it may need the records after", when)
		expect.Equal(t, n.pulledByAll(members), 5, "the node has begun, %s: it drops its own records through", when)
		n = restarted(s)
	}
}

// TestHitsAreKeptForNodesThatEtcdHasLost: a node that is down when the log is lost is in no list afterwards.
func TestHitsAreKeptForNodesThatEtcdHasLost(t *testing.T) {
	n := &Node{}
	n.initPulls()
	n.pulls.copies = []replicate.Copy{{Name: "down", BegunMs: time.Now().Add(heldAfterLoss - heldForCopy).UnixMilli(), Own: 7, Lost: true}}
	own := func() uint64 {
		n.pulls.mu.Lock()
		defer n.pulls.mu.Unlock()
		held := n.pulls.heldLocked()
		expect.MustEqual(t, len(held), 1, "nodes that hits are held for")
		return held[0].Own
	}
	expect.Equal(t, own(), 7)
	n.acknowledge("other", 9)
	expect.Equal(t, own(), 7, "after another node has pulled")
	n.acknowledge("down", 8)
	expect.Equal(t, own(), 8, "after it has pulled some")
	n.acknowledge("down", 3)
	expect.Equal(t, own(), 8, "after a late question of it")
	expect.Equal(t, n.kept([16]byte{1}, 100), 100, "what this node needs of others")
	n.pulls.copies[0].BegunMs = time.Now().Add(-heldForCopy - time.Second).UnixMilli()
	n.pulls.mu.Lock()
	defer n.pulls.mu.Unlock()
	expect.Equal(t, len(n.pulls.heldLocked()), 0, "nodes that hits are held for after a day")
}

// TestANodeThatWasRolledBackBeginsAnotherOutbox has another node ask for records after one that an outbox never had.
// The new outbox has only the hits that this process has counted, because the other nodes have the rest.
// Acknowledgements of the old outbox do not count for the new one.
func TestANodeThatWasRolledBackBeginsAnotherOutbox(t *testing.T) {
	members := []clusterlog.Member{
		{Node: clusterlog.Node{Name: "me", Role: clusterlog.Full}}, {Node: clusterlog.Node{Name: "b", Role: clusterlog.Full}},
	}
	for name, counted := range map[string]bool{"before its start": false, "since its start": true} {
		s := memberStore(t)
		n := restarted(s)
		flushFive(t, s)
		if !counted {
			n = restarted(s)
		}
		old, _ := s.OutboxID()
		n.acknowledge("b", 3)
		if part, err := n.Outbox("b", cluster.OutboxQuery{Known: old, After: 4, Kept: 4}); err != nil || part.ID != old || len(part.Records) != 1 {
			t.Errorf("%s: the outbox as it was: %d records, %v", name, len(part.Records), err)
		}
		part, err := n.Outbox("b", cluster.OutboxQuery{Known: old, After: 9, Kept: 9})
		expect.OK(t, err)
		want := 0
		if counted {
			want = 5
		}
		renewed, _ := s.OutboxID()
		expect.That(t, part.ID == renewed && renewed != old && part.First == 1 && len(part.Records) == want,
			"%s: records from %d on, of another outbox: %t: %d, want %d", name, part.First, renewed != old, len(part.Records), want)
		expect.Equal(t, n.pulledByAll(members), 0, "%s: it drops records of the new outbox through", name)
		again, err := n.Outbox("b", cluster.OutboxQuery{Known: old, After: 9, Kept: 9})
		expect.That(t, err == nil && again.ID == renewed, "%s: a node that asks late gets yet another outbox, %v", name, err)
		expect.OK(t, expect.Err(n.Outbox("b", cluster.OutboxQuery{Known: renewed, After: uint64(want), Kept: uint64(want)})))
		expect.Equal(t, n.pulledByAll(members), uint64(want), "%s: when the other node has all, it drops through", name)
	}
}
