package node

import (
	"errors"
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
		if part, err := n.Outbox("b", cluster.OutboxQuery{Known: old, After: 4, Hash: hashOf(t, s, 4), Kept: 4}); err != nil || part.ID != old || len(part.Records) != 1 {
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
		expect.That(t, s.LacksHits(), "%s: the next start takes no copy", name)
		expect.OK(t, expect.Err(n.Outbox("b", cluster.OutboxQuery{Known: renewed, After: uint64(want), Hash: hashOf(t, s, uint64(want)), Kept: uint64(want)})))
		expect.Equal(t, n.pulledByAll(members), uint64(want), "%s: when the other node has all, it drops through", name)
	}
}

// hashOf returns the hash of a record of a store's outbox.
func hashOf(t *testing.T, s *replicate.Rows, position uint64) [8]byte {
	t.Helper()
	h, err := s.RecordHash(position)
	expect.OK(t, err)
	return h
}

// TestARecordThatIsAnotherOneBeginsAnotherOutbox has another node ask with the hash of a record that this node has
// otherwise: its folder was rolled back, and has counted as much since. So it is with the last record that was dropped.
func TestARecordThatIsAnotherOneBeginsAnotherOutbox(t *testing.T) {
	for name, dropped := range map[string]uint64{"none is dropped": 0, "those before are dropped": 2, "it is dropped": 3} {
		for _, role := range []string{Full, Edge} {
			s := memberStore(t)
			n := restarted(s)
			n.settings.Role = role
			flushFive(t, s)
			_, err := s.DropOutbox(dropped)
			expect.OK(t, err)
			old, _ := s.OutboxID()
			part, err := n.Outbox("b", cluster.OutboxQuery{Known: old, After: 3, Hash: hashOf(t, s, 3)})
			expect.That(t, err == nil && part.ID == old && len(part.Records) == 2, "%s: the same record: %d records, %v", name, len(part.Records), err)
			other := hashOf(t, s, 3)
			other[7] ^= 1
			part, err = n.Outbox("b", cluster.OutboxQuery{Known: old, After: 3, Hash: other})
			expect.That(t, err == nil && part.ID != old && part.First == 1 && len(part.Records) == int(5-dropped), "%s: another record: %d records, %v", name, len(part.Records), err)
			expect.Equal(t, s.LacksHits(), role == Full, "%s, as %s: figures lack hits", name, role)
		}
	}
}

// TestARestartedNodeIsAskedAnew for what it has: its folder may be an older one.
func TestARestartedNodeIsAskedAnew(t *testing.T) {
	s := memberStore(t)
	flushFive(t, s)
	n := restarted(s)
	b := clusterlog.Member{Node: clusterlog.Node{Name: "b", Role: clusterlog.Full, SinceMs: 1}}
	n.pulledByAll([]clusterlog.Member{b})
	n.acknowledge("b", 4)
	expect.Equal(t, n.pulledByAll([]clusterlog.Member{b}), 4, "it drops through")
	b.SinceMs = 2
	expect.Equal(t, n.pulledByAll([]clusterlog.Member{b}), 0, "after a restart of the other node it drops through")
	n.acknowledge("b", 3)
	expect.Equal(t, n.pulledByAll([]clusterlog.Member{b}), 3, "when that has asked, it drops through")
}

// TestANodeIsAnnouncedWhenEtcdSaysWhatItIs and not what an earlier process was.
func TestANodeIsAnnouncedWhenEtcdSaysWhatItIs(t *testing.T) {
	s := memberStore(t)
	n := restarted(s)
	n.sinceMs = 7
	id, _ := s.OutboxID()
	for _, c := range []struct {
		said clusterlog.Node
		want bool
	}{
		{clusterlog.Node{Name: "me", Outbox: id, SinceMs: 7}, true}, {clusterlog.Node{Name: "me", Outbox: id, SinceMs: 6}, false},
		{clusterlog.Node{Name: "me", Outbox: [16]byte{1}, SinceMs: 7}, false}, {clusterlog.Node{Name: "b", Outbox: id, SinceMs: 7}, false},
	} {
		expect.Equal(t, n.isAnnounced([]clusterlog.Member{{Node: clusterlog.Node{Name: "c"}}, {Node: c.said}}), c.want, "%+v", c.said)
	}
}

// TestOnlyWholeFiguresAreCopied from a full node that runs, and has read the log as far.
func TestOnlyWholeFiguresAreCopied(t *testing.T) {
	member := func(name string, applied uint64, change func(*clusterlog.Member)) clusterlog.Member {
		m := clusterlog.Member{Node: clusterlog.Node{Name: name, Role: clusterlog.Full, Applied: applied}, Live: true}
		change(&m)
		return m
	}
	as := func(*clusterlog.Member) {}
	unfit := []clusterlog.Member{
		member("me", 99, as), member("down", 99, func(m *clusterlog.Member) { m.Live = false }),
		member("edge", 99, func(m *clusterlog.Member) { m.Role = clusterlog.Edge }), member("lacks", 99, func(m *clusterlog.Member) { m.LacksHits = true }),
	}
	found, err := wholeOf(unfit, "me", 7)
	expect.That(t, len(found) == 0 && errors.Is(err, errAlone), "of none that can: %v, %v", found, err)
	found, err = wholeOf(append(unfit, member("behind", 6, as)), "me", 7)
	expect.That(t, len(found) == 0 && err != nil && !errors.Is(err, errAlone), "of one that can soon: %v, %v", found, err)
	found, err = wholeOf(append(unfit, member("b", 7, as), member("behind", 6, as), member("c", 9, as)), "me", 7)
	expect.That(t, err == nil && len(found) == 2 && found[0].Name == "c" && found[1].Name == "b", "of two: %v, %v", found, err)
}
