package node

import (
	"log/slog"
	"testing"

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
	if got := n.kept(other, 5); got != 5 {
		t.Fatalf("without a copy it may need the records after %d, want 5", got)
	}
	if err := n.HoldForCopy("new"); err != nil {
		t.Fatal(err)
	}
	flushFive(t, s)
	for _, when := range []string{"at once", "after a restart"} {
		if got := n.kept(other, 20); got != 5 {
			t.Errorf("%s: it says that it may need the other's records after %d, want 5", when, got)
		}
		if through := n.pulledByAll(members); through != 0 {
			t.Errorf("%s: it drops its own records through %d", when, through)
		}
		n = restarted(s)
	}
	n.acknowledge("new", 0)
	for _, when := range []string{"at once", "after a restart"} {
		if got := n.kept(other, 20); got != 20 {
			t.Errorf("the node has begun, %s: it may need the records after %d, want 20", when, got)
		}
		if through := n.pulledByAll(members); through != 5 {
			t.Errorf("the node has begun, %s: it drops its own records through %d, want 5", when, through)
		}
		n = restarted(s)
	}
}
