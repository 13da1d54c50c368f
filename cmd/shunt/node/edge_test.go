package node

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/api/cluster"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// memberStore returns the store of a node of a cluster.
func memberStore(t *testing.T) *replicate.Rows {
	t.Helper()
	s, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem(), Replicate: replicate.New, Logger: slog.New(slog.DiscardHandler)})
	expect.OK(t, err)
	t.Cleanup(func() {
		expect.NoError(t, s.Close())
	})
	rows := replicate.Of(s)
	expect.OK(t, rows.JoinLog(clusterlog.ID{1}, clusterlog.Origin(clusterlog.ID{1})))
	return rows
}

func nodeOf(role string, units ...string) *Node {
	n := &Node{settings: &Settings{Name: "me", Role: role}, log: slog.New(slog.DiscardHandler)}
	n.initPulls()
	n.identity.certificate = func() *tls.Certificate {
		return &tls.Certificate{Leaf: &x509.Certificate{Subject: pkix.Name{OrganizationalUnit: units}}}
	}
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
		err := c.node.CheckRole()
		expect.That(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)), "%s: %v, want %q", name, err, c.want)
	}
}

func TestAnEdgeKnowsFullNodesTheLiveFirst(t *testing.T) {
	n := nodeOf(Edge, "edge")
	got := n.Fulls()
	expect.That(t, got == nil, "before it was told: %v", got)
	member := func(name string, role clusterlog.Role, live bool) clusterlog.Member {
		return clusterlog.Member{Node: clusterlog.Node{Name: name, Advertise: "https://" + name + ":1", Role: role}, Live: live}
	}
	n.noteFulls([]clusterlog.Member{
		member("a", clusterlog.Full, false), member("b", clusterlog.Full, true), member("me", clusterlog.Edge, true), member("e", clusterlog.Edge, true),
		{Node: clusterlog.Node{Name: "bad", Advertise: "?", Role: clusterlog.Full}, Live: true},
	})
	got, want := n.Fulls(), []cluster.Place{{Name: "b", Address: "b:1"}, {Name: "a", Address: "a:1"}}
	expect.Slices(t, got, want)
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
		expect.Equal(t, n.pulledByAll(c.members), c.want, "%s: records through are dropped", name)
	}
	n := nodeOf(Edge)
	n.store = s
	n.acknowledge("f", 7)
	n.acknowledge("e", 3)
	got, most := n.pulledByAll([]clusterlog.Member{full, edge}), s.Metrics().OutboxNext-1
	expect.Equal(t, got, min(7, most), "acknowledged by the full node")
}

// TestOthersKeepWhatACopyLacks has a copy made of this node's data: what it applies afterwards of another
// node's outbox, the copy has to ask for.
func TestOthersKeepWhatACopyLacks(t *testing.T) {
	s := memberStore(t)
	n := nodeOf(Full)
	n.store = s
	a, b := [16]byte{1}, [16]byte{2}
	expect.Equal(t, n.kept(a, 5), 5, "without a copy")
	hold := func(name string) {
		t.Helper()
		expect.OK(t, n.HoldForCopy(name))
	}
	hold("copy")
	expect.Equal(t, n.kept(a, 9), 5, "after a copy")
	expect.Equal(t, n.kept(b, 3), 0, "an outbox that is newer than the copy")
	n.acknowledge("another", 1)
	expect.Equal(t, n.kept(a, 9), 5, "before the copy asks")
	n.acknowledge("copy", 1)
	expect.Equal(t, n.kept(a, 9), 9, "when the copy asks itself")
	hold("never")
	expect.Equal(t, n.kept(a, 11), 9, "after a second copy")
	n.pulls.copies[0].BegunMs -= 2 * heldForCopy.Milliseconds()
	expect.Equal(t, n.kept(a, 11), 11, "long after a copy")
}

// flushFive leaves five records in the outbox.
func flushFive(t *testing.T, s *replicate.Rows) {
	t.Helper()
	for i := range uint64(5) {
		batch := engine.FlushBatch{Positions: engine.Positions{Epoch: 1, FlushSeq: i + 1}, Owners: func(yield func(uint32, uint32, *engine.Tally) error) error {
			return yield(100, 1, &engine.Tally{Hits: 1})
		}}
		expect.OK(t, s.Store().Flush(batch))
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
		_, err := n.Outbox("f", cluster.OutboxQuery{Known: id, After: after, Hash: hashOf(t, s, after), Kept: after})
		return err
	}
	expect.OK(t, ask(4))
	expect.Equal(t, n.pulledByAll([]clusterlog.Member{member}), 4, "records through are dropped")
	member.Outbox = [16]byte{2}
	expect.Equal(t, n.pulledByAll([]clusterlog.Member{member}), 0, "for another node of that name, records through are dropped")
}
