package node

import (
	"log/slog"
	"testing"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// restarted returns what a node is after a restart with the same store.
func restarted(s *replicate.Rows) *Node {
	n := &Node{settings: &Settings{Name: "me", Role: Full}, log: slog.New(slog.DiscardHandler), store: s}
	n.initPulls()
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
