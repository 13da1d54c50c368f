package node

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/api/cluster"
	"shunt/engine"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// memberStore returns the store of a node of a cluster.
func memberStore(t *testing.T) *replicate.Rows {
	t.Helper()
	s, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem(), Replicate: replicate.New, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	rows := replicate.Of(s)
	if err := rows.JoinLog(clusterlog.ID{1}, clusterlog.Origin(clusterlog.ID{1})); err != nil {
		t.Fatal(err)
	}
	return rows
}

func nodeOf(role string, units ...string) *Node {
	n := &Node{settings: &Settings{Name: "me", Role: role}, log: slog.New(slog.DiscardHandler)}
	n.initPulls()
	n.identity.certificate = tls.Certificate{Leaf: &x509.Certificate{Subject: pkix.Name{OrganizationalUnit: units}}}
	return n
}

func TestTheRoleIsThatOfTheCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		node *Node
		want string // in the error; "": none
	}{
		"a full node":                          {nodeOf(Full), ""},
		"a full node of a department":          {nodeOf(Full, "web"), ""},
		"an edge":                              {nodeOf(Edge, "web", "edge"), ""},
		"a full node with that of an edge":     {nodeOf(Full, "edge"), "--role edge"},
		"an edge with that of a full node":     {nodeOf(Edge, "web"), "OU=edge"},
		"an edge with a unit that looks alike": {nodeOf(Edge, "Edge "), "OU=edge"},
	} {
		if err := c.node.CheckRole(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAnEdgeKnowsFullNodesTheLiveFirst(t *testing.T) {
	n := nodeOf(Edge, "edge")
	if got := n.Fulls(); got != nil {
		t.Errorf("before it was told: %v", got)
	}
	member := func(name string, role clusterlog.Role, live bool) clusterlog.Member {
		return clusterlog.Member{Node: clusterlog.Node{Name: name, Advertise: "https://" + name + ":1", Role: role}, Live: live}
	}
	n.noteFulls([]clusterlog.Member{
		member("a", clusterlog.Full, false), member("b", clusterlog.Full, true), member("me", clusterlog.Edge, true), member("e", clusterlog.Edge, true),
		{Node: clusterlog.Node{Name: "bad", Advertise: "?", Role: clusterlog.Full}, Live: true},
	})
	if got, want := n.Fulls(), []cluster.Place{{Name: "b", Address: "b:1"}, {Name: "a", Address: "a:1"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAnEdgeKeepsItsHitsUntilAFullNodeHasThem has members come and go. Nobody else has the hits of an edge,
// so without any full node nothing is dropped.
func TestAnEdgeKeepsItsHitsUntilAFullNodeHasThem(t *testing.T) {
	full, edge := clusterlog.Member{Node: clusterlog.Node{Name: "f", Role: clusterlog.Full}}, clusterlog.Member{Node: clusterlog.Node{Name: "e", Role: clusterlog.Edge}}
	s := memberStore(t)
	for name, c := range map[string]struct {
		role    string
		members []clusterlog.Member
		want    uint64
	}{
		"an edge alone":                      {Edge, nil, 0},
		"an edge beside another edge":        {Edge, []clusterlog.Member{edge}, 0},
		"an edge and a full node without it": {Edge, []clusterlog.Member{full, edge}, 0},
		"a full node alone":                  {Full, nil, s.Metrics().OutboxNext - 1},
	} {
		n := nodeOf(c.role)
		n.store = s
		if got := n.pulledByAll(c.members); got != c.want {
			t.Errorf("%s: records through %d are dropped, want %d", name, got, c.want)
		}
	}
	n := nodeOf(Edge)
	n.store = s
	n.acknowledge("f", 7)
	n.acknowledge("e", 3)
	if got, most := n.pulledByAll([]clusterlog.Member{full, edge}), s.Metrics().OutboxNext-1; got != min(7, most) {
		t.Errorf("acknowledged by the full node: %d", got)
	}
}

// TestOthersKeepWhatACopyLacks has a copy made of this node's data: what it applies afterwards of another
// node's outbox, the copy has to ask for.
func TestOthersKeepWhatACopyLacks(t *testing.T) {
	s := memberStore(t)
	n := nodeOf(Full)
	n.store = s
	a, b := [16]byte{1}, [16]byte{2}
	if got := n.kept(a, 5); got != 5 {
		t.Errorf("without a copy: %d, want 5", got)
	}
	hold := func(name string) {
		t.Helper()
		if err := n.HoldForCopy(name); err != nil {
			t.Fatal(err)
		}
	}
	hold("copy")
	if got := n.kept(a, 9); got != 5 {
		t.Errorf("after a copy: %d, want 5", got)
	}
	if got := n.kept(b, 3); got != 0 {
		t.Errorf("an outbox that is newer than the copy: %d, want 0", got)
	}
	n.acknowledge("another", 1)
	if got := n.kept(a, 9); got != 5 {
		t.Errorf("before the copy asks: %d, want 5", got)
	}
	n.acknowledge("copy", 1)
	if got := n.kept(a, 9); got != 9 {
		t.Errorf("when the copy asks itself: %d, want 9", got)
	}
	hold("never")
	if got := n.kept(a, 11); got != 9 {
		t.Errorf("after a second copy: %d, want 9", got)
	}
	n.pulls.copies[0].BegunMs -= 2 * heldForCopy.Milliseconds()
	if got := n.kept(a, 11); got != 11 {
		t.Errorf("long after a copy: %d, want 11", got)
	}
}

// flushFive leaves five records in the outbox.
func flushFive(t *testing.T, s *replicate.Rows) {
	t.Helper()
	for i := range uint64(5) {
		batch := engine.FlushBatch{Positions: engine.Positions{Epoch: 1, FlushSeq: i + 1}, Owners: func(yield func(uint32, uint32, *engine.Tally) error) error {
			return yield(100, 1, &engine.Tally{Hits: 1})
		}}
		if err := s.Store().Flush(batch); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnotherNodeOfANameHasAcknowledgedNothing replaces a node by another one of its name, which has less.
func TestAnotherNodeOfANameHasAcknowledgedNothing(t *testing.T) {
	s := memberStore(t)
	flushFive(t, s)
	n := nodeOf(Full)
	n.store = s
	member := clusterlog.Member{Node: clusterlog.Node{Name: "f", Role: clusterlog.Full, Outbox: [16]byte{1}}}
	n.pulledByAll([]clusterlog.Member{member})
	id, _ := s.OutboxID()
	ask := func(after uint64) error {
		_, err := n.Outbox("f", cluster.OutboxQuery{Known: id, After: after, Kept: after})
		return err
	}
	if err := ask(4); err != nil {
		t.Fatal(err)
	}
	if got := n.pulledByAll([]clusterlog.Member{member}); got != 4 {
		t.Errorf("records through %d are dropped, want 4", got)
	}
	if err := ask(77); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("records that never were: %v", err)
	}
	if got := n.pulledByAll([]clusterlog.Member{member}); got != 4 {
		t.Errorf("after a wrong acknowledgement, records through %d are dropped, want 4", got)
	}
	member.Outbox = [16]byte{2}
	if got := n.pulledByAll([]clusterlog.Member{member}); got != 0 {
		t.Errorf("for another node of that name, records through %d are dropped, want none", got)
	}
}
