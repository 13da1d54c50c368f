package e2e

import (
	"fmt"
	"path/filepath"

	"shunt/engine/expect"
)

// After each round, while the clients rest, a node or etcd has one of these accidents, in turn. They are seldom, and
// each takes longer than a fault.
var accidents = []struct {
	name   string
	happen func(m *nemesis, n *siteNode)
}{
	{"its folder is rolled back", (*nemesis).rollBack},
	{"it is away until the log no longer has what it missed", (*nemesis).goAway},
	{"etcd loses everything, and the log is renewed", (*nemesis).loseEtcd},
}

// accident has the next accident happen, and judges what all nodes have afterwards.
func (m *nemesis) accident() {
	n := m.all()[1+m.faults.rng.IntN(len(m.nodes))] // the first one takes writes meanwhile
	a := accidents[m.accidents%len(accidents)]
	m.accidents++
	m.notef("accident %d, %s: %s", m.accidents, n.name, a.name)
	a.happen(m, n)
	m.await(func() bool { return m.leader() != nil && m.caughtUp() }, "all nodes have caught up after an accident")
	m.await(func() bool { return m.edge.caughtUpWith(m.nodes[0]) }, "the edge has caught up after an accident")
	m.visitAll(20)
	m.ledger("hot")
	m.judgeWrites(m.wrote.all())
	m.notef("mended")
}

// visitAll follows a link at all nodes.
func (m *nemesis) visitAll(times int) {
	for range times {
		for _, n := range m.all() {
			status, _, err := n.redirect("hot")
			expect.MustEqual(m.t, status, 302, "a redirect at %s, %v", n.name, err)
		}
	}
}

// rollBack puts an older state of a folder in its place, as a snapshot of the machine does. The others have the links
// and the hits that it lacks.
func (m *nemesis) rollBack(n *siteNode) {
	snapshot := filepath.Join(m.dir, "snapshot")
	n.snapshot(snapshot)
	m.visitAll(50)
	m.shorten(fmt.Sprint("accident-", m.accidents), hotTarget)
	m.await(func() bool { return m.caughtUp() && m.edge.caughtUpWith(m.nodes[0]) }, "all nodes have what the folder will lack")
	m.ledger("hot")
	n.rollBack(snapshot)
	n.start()
}

// goAway kills a node with hits that nobody has pulled, and starts it when the log no longer has what it missed.
func (m *nemesis) goAway(n *siteNode) {
	m.visitAll(20)
	n.kill()
	all := m.nodes
	m.nodes = m.without(n)
	m.await(func() bool { return m.leader() != nil }, "another node leads")
	m.passFloor()
	m.nodes = all
	n.start()
}

// loseEtcd loses all that etcd has, and renews the log as the runbook says.
func (m *nemesis) loseEtcd(*siteNode) {
	m.etcd.Lose()
	m.visitAll(20)
	first := m.nodes[0]
	first.terminate()
	shunt(m.t, "", nil, append([]string{"cluster", "renew", "--data", first.data}, first.flags()...)...).done(m.t)
	first.start()
}
