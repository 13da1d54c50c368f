package e2e

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/cluster"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/etcdlog"
	"shunt/storage/replicate"
	"shunt/storage/row"
)

// TestACopyOfTheDataNeedsAnAdmission asks a leader and a follower for copies, with certificates of the authority that
// were never a node's.
func TestACopyOfTheDataNeedsAnAdmission(t *testing.T) {
	s := newSite(t, "a", "b")
	full, edge := &siteNode{site: s, name: "stranger"}, &siteNode{site: s, name: "far", role: "edge"}
	s.makeCertificate("stranger")
	s.makeCertificate("far", "edge")
	for _, n := range s.nodes {
		for _, c := range []struct {
			as         *siteNode
			path, what string
		}{{full, cluster.BackupPath, "everything"}, {full, cluster.LinksPath, "links"}, {edge, cluster.LinksPath, "links"}} {
			if status, said := n.ask(c.as, "GET", c.path, ""); status != 403 || !strings.Contains(said, "shunt cluster admit "+c.as.name) {
				t.Errorf("%s of %s, never admitted, as %s: %d %.300q", c.path, n.name, c.as.name, status, said)
			}
			s.admit(c.as, n)
			before := s.copiesNoted(c.as.name, c.what)
			status, said := n.ask(c.as, "GET", c.path, "")
			expect.That(t, status == 200 && len(said) >= 512, "%s of %s, admitted, as %s: %d, %d bytes", c.path, n.name, c.as.name, status, len(said))
			status, _ = n.ask(c.as, "GET", c.path, "")
			expect.Equal(t, status, 403, "%s of %s, a second time, as %s", c.path, n.name, c.as.name)
			expect.Equal(t, s.copiesNoted(c.as.name, c.what)-before, 1, "the audit log entries of the copy that %s took at %s", c.as.name, n.name)
		}
	}
	for _, proof := range []string{"", cluster.ProofOf([16]byte{1}, "stranger"), cluster.ProofOf([16]byte{1}, "b")} {
		for as, want := range map[*siteNode]string{full: "no node stranger", edge: "no node far", s.nodes[1]: "has not proved"} {
			status, said := s.nodes[0].ask(as, "GET", cluster.SharedPath, "", cluster.ProofHeader, proof)
			expect.That(t, status == 403 && strings.Contains(said, want), "what all nodes share, as %s, with the proof %q: %d %.300q", as.name, proof, status, said)
		}
	}
	wrong := cluster.ProofOf([16]byte{1}, "b")
	for as, want := range map[*siteNode]string{full: "no node stranger", edge: "certificate of an edge", s.nodes[1]: "has not proved"} {
		status, said := s.nodes[0].ask(as, "GET", cluster.BackupPath, "", cluster.ProofHeader, wrong)
		expect.That(t, status == 403 && strings.Contains(said, want), "everything, as %s, with a wrong proof: %d %.300q", as.name, status, said)
	}
	fresh := s.newNode("stranger")
	args := append([]string{"join", "--data", fresh.data, "--from", "a=https://" + s.nodes[0].advertise}, fresh.flags()...)
	if r := shunt(t, "", nil, args...); r.code == exitDone || !strings.Contains(r.stderr, "run 'shunt cluster admit stranger' at a full node") {
		t.Errorf("join without an admission: %d %s", r.code, r.stderr)
	}
}

// copiesNoted returns how many copies of a kind to a node the audit log has.
func (s *site) copiesNoted(node, what string) (n int) {
	s.t.Helper()
	r := shunt(s.t, "", nil, "audit", "--all", "--json", "--data", s.leader().data)
	expect.MustEqual(s.t, r.code, exitDone, "audit: %s", r.stderr)
	for line := range strings.Lines(r.stdout) {
		if strings.Contains(line, "copy.given") && strings.Contains(line, `"`+node+`"`) && strings.Contains(line, `"`+what+`"`) {
			n++
		}
	}
	return n
}

// TestARefusedCertificateGetsNothing refuses a node's name, and then a serial number, while connections with the
// certificate are open to each node.
func TestARefusedCertificateGetsNothing(t *testing.T) {
	s := newSite(t, "a", "b")
	e := s.edge("edge-1", s.nodes[0])
	all := []*siteNode{s.nodes[0], s.nodes[1], e}
	s.makeCertificate("thief")
	thief := s.tlsOf("thief")
	serial := "serial=" + strings.ToUpper(cluster.Serial(thief.Certificates[0].Leaf))
	for _, what := range []string{"thief", serial} {
		open := make([]*tls.Conn, len(all))
		for i, n := range all {
			expect.OK(t, n.talks(thief, &open[i]), "%s does not talk to a certificate that is in service", n.name)
		}
		s.refuse(what)
		for i, n := range all {
			s.await(func() bool { return answers(open[i], n.name) != nil }, n.name+" closes an open connection of "+what)
			var fresh *tls.Conn
			expect.That(t, n.talks(thief, &fresh) != nil, "%s talks to %s, which is refused", n.name, what)
		}
		s.refuse(what, "--undo")
		for _, n := range all {
			s.await(func() bool {
				var again *tls.Conn
				return n.talks(thief, &again) == nil
			}, n.name+" talks to "+what+" again")
		}
	}
}

// refuse runs shunt cluster refuse.
func (s *site) refuse(what string, more ...string) {
	s.t.Helper()
	args := append([]string{"cluster", "refuse", what}, append(s.nodes[0].flags(), more...)...)
	shunt(s.t, "", nil, args...).done(s.t)
}

// talks opens a connection to a node's listener for the others, and asks over it.
func (n *siteNode) talks(config *tls.Config, to **tls.Conn) error {
	config = config.Clone()
	config.ServerName = n.name
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", n.advertise, config)
	if err != nil {
		return err
	}
	n.site.t.Cleanup(func() { conn.Close() })
	*to = conn
	return answers(conn, n.name)
}

// answers asks for a path that no node has. Any answer will do but that of a node which has not closed the connection
// yet.
func answers(conn *tls.Conn, name string) error {
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET /cluster/nothing HTTP/1.1\r\nHost: %s\r\n\r\n", name); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 404 {
		return errors.New(resp.Status)
	}
	_, err = resp.Body.Read(make([]byte, 4096))
	if err != nil && resp.ContentLength > 0 && !strings.Contains(err.Error(), "EOF") {
		return err
	}
	return nil
}

// TestForgettingANodeRefusesItsCertificate until it is admitted again.
func TestForgettingANodeRefusesItsCertificate(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	b.terminate()
	s.nodes = s.nodes[:1]
	s.forget(b, a)
	talks := func() bool {
		var conn *tls.Conn
		return a.talks(s.tlsOf("b"), &conn) == nil
	}
	s.await(func() bool { return !talks() }, "a refuses b")
	s.admit(b, a)
	s.await(talks, "a talks to b again")
}

// TestAnEdgeCannotHaveTheHitsOfOthersSkipped has a peer with an edge's certificate answer under b's outbox, with 500
// empty records: as a node that says in etcd that it has its own outbox, and as one that says that it has b's.
func TestAnEdgeCannotHaveTheHitsOfOthersSkipped(t *testing.T) {
	for _, says := range []string{"its own", "that of b"} {
		t.Run(says, func(t *testing.T) {
			s := newSite(t, "a", "b")
			a, b := s.nodes[0], s.nodes[1]
			s.shorten("hot", "https://example.com/")
			s.makeCertificate("evil", "edge")
			own := [16]byte{1, 2, 3}
			asked := s.answerAs("b", func(victim [16]byte) [16]byte {
				if says == "its own" {
					return own
				}
				return victim
			})
			s.await(func() bool { return asked.Load() >= 4 }, "the nodes pull from the edge")
			for range 100 {
				status, _, err := b.redirect("hot")
				expect.MustEqual(t, status, 302, "a redirect, %v", err)
			}
			s.ledger("hot") // a has the hits of b, too
			expect.Equal(t, strings.Count(a.stderr(), "claims the hits of another one"), 1, "a reports the edge times")
		})
	}
}

// answerAs announces an edge that answers under the outbox of victim, and counts how often it was asked. says is what
// it says in etcd.
func (s *site) answerAs(victim string, says func(victim [16]byte) [16]byte) (asked *atomic.Int64) {
	s.t.Helper()
	log := s.openLog(etcdlog.Options{})
	members, err := log.Nodes(s.t.Context())
	expect.OK(s.t, err)
	var id [16]byte
	for _, m := range members {
		if m.Name == victim {
			id = m.Outbox
		}
	}
	address := freeAddress(s.t)
	asked = new(atomic.Int64)
	empty := cluster.Outbox{ID: id, First: 1, Records: emptyRecords(500)}
	config := s.tlsOf("evil")
	server := &http.Server{Addr: address, TLSConfig: config, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(empty.AppendTo(nil))
	})}
	go func() { _ = server.ListenAndServeTLS("", "") }()
	s.t.Cleanup(func() { _ = server.Close() })
	s.announce(log, clusterlog.Node{
		Name: "evil", Advertise: "https://" + address, Role: clusterlog.Edge, Outbox: says(id), Reads: replicate.ReadsEntries,
	})
	return asked
}

// emptyRecords returns records of no hits.
func emptyRecords(n int) (all [][]byte) {
	var o row.OutboxRecord
	for i := range n {
		o.Begin(row.OutboxHead{Position: uint64(i) + 1, MadeMs: 1, Sequence: 1})
		o.Add(row.OutboxRow{Table: row.TableLinkHours, Hour: 1, ID: 1, Tally: row.AppendTally(nil, &engine.Tally{})})
		all = append(all, append([]byte(nil), o.End()...))
	}
	return all
}
