package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// A nodeFault is what happens to a node, a serverFault to a server of etcd, or to what nodes and etcd say to
// each other.
type (
	nodeFault   int
	serverFault int
)

const (
	nodeKilled nodeFault = iota
	nodeStopped
	nodePaused
	nodeCutOff
	nodeCutOffEtcd
	nodePausedWithAppends // on their way to etcd, which arrive before it goes on
	nodeFaults            // how many there are
)

const (
	serverKilled serverFault = iota
	serverPaused
	serverCutOff
	serverAlone  // all others are paused
	requestsHeld // those of all nodes to all servers
	answersLost  // those of all servers to all nodes
	allKilled    // and started again together
	serverFaults // how many there are
)

const none = -1 // instead of a fault

var (
	nodeFaultNames = [nodeFaults]string{
		"killed", "stopped", "paused", "cut off from all", "cut off from etcd", "paused with appends on their way",
	}
	serverFaultNames = [serverFaults]string{
		"killed", "paused", "cut off", "alone, the others are paused", "all requests are held", "all answers are lost",
		"all are killed",
	}
)

// A fault happens to a node, to etcd, or to both at the same time.
type fault struct {
	node         nodeFault   // or none
	toLeader     bool        // of the nodes
	which        int         // otherwise, of all nodes; the last one is the edge
	server       serverFault // or none
	toEtcdLeader bool
	member       int // otherwise
	lasts, calm  time.Duration
	etcdFirst    bool // is mended
}

// A faultPlan draws faults. They depend on the seed only.
type faultPlan struct{ rng *rand.Rand }

func newFaultPlan(seed uint64) *faultPlan { return &faultPlan{rand.New(rand.NewPCG(seed, 18))} }

func (p *faultPlan) next() fault {
	f := fault{node: none, server: none}
	kind := p.rng.IntN(10)
	if kind < 5 || kind >= 8 {
		f.node = nodeFault(p.rng.IntN(int(nodeFaults)))
		f.toLeader, f.which = p.rng.IntN(5) < 2, p.rng.IntN(4)
	}
	if kind >= 5 {
		f.server = serverFault(p.rng.IntN(int(serverFaults)))
		f.toEtcdLeader, f.member = p.rng.IntN(2) == 0, p.rng.IntN(3)
	}
	f.lasts = time.Duration(200+p.rng.IntN(3000)) * time.Millisecond
	if p.rng.IntN(4) == 0 { // longer than leases
		f.lasts += 3 * time.Second
	}
	f.calm = time.Duration(p.rng.IntN(1500)) * time.Millisecond
	f.etcdFirst = p.rng.IntN(2) == 0
	return f
}

func (f fault) String() string {
	var parts []string
	if f.node != none {
		who := fmt.Sprintf("node %d", f.which)
		if f.toLeader {
			who = "our leader"
		}
		parts = append(parts, who+": "+nodeFaultNames[f.node])
	}
	if f.server != none {
		who := fmt.Sprintf("etcd %d", f.member)
		if f.toEtcdLeader {
			who = "etcd's leader"
		}
		parts = append(parts, who+": "+serverFaultNames[f.server])
	}
	return fmt.Sprintf("%s, for %v", strings.Join(parts, "; "), f.lasts)
}

func TestTheSameSeedMakesTheSameFaults(t *testing.T) {
	drawn := func(seed uint64) (all []string) {
		p := newFaultPlan(seed)
		for range 2000 {
			all = append(all, p.next().String())
		}
		return all
	}
	one := drawn(1)
	expect.Slices(t, one, drawn(1), "a seed makes other faults the second time")
	expect.That(t, !slices.Equal(one, drawn(2)), "two seeds make the same faults")
	for _, name := range slices.Concat(nodeFaultNames[:], serverFaultNames[:]) {
		expect.That(t, slices.ContainsFunc(one, func(f string) bool { return strings.Contains(f, name) }), "none of 2000 faults is %q", name)
	}
}

// disturbance counts the beginnings and the ends of what may make redirects of a node fail: odd while
// something does.
type disturbance struct{ atomic.Int64 }

// next has the next fault happen, and ends it.
func (m *nemesis) next() {
	f := m.faults.next()
	m.done++
	timeout := time.AfterFunc(faultTimeout, func() {
		m.failf("fault %d does not end: %v", m.done, f)
		for _, n := range m.all() {
			_ = n.cmd.Process.Kill() // it may have ended
		}
	})
	defer timeout.Stop()
	m.notef("fault %d: %v", m.done, f)
	mendEtcd, mendNode := func() {}, func() {}
	if f.server != none {
		mendEtcd = m.disturbEtcd(f)
	}
	if f.node != none {
		mendNode = m.disturbNode(f)
	}
	time.Sleep(f.lasts)
	if f.etcdFirst {
		mendEtcd()
		mendNode()
	} else {
		mendNode()
		mendEtcd()
	}
	time.Sleep(f.calm)
}

// disturbNode begins the fault of a node, and returns what ends it.
func (m *nemesis) disturbNode(f fault) (mend func()) {
	n := m.all()[f.which]
	if leader := m.leader(); f.toLeader && leader != nil {
		n = leader
	}
	if f.node == nodeCutOff || f.node == nodeCutOffEtcd { // it must go on redirecting
		return map[nodeFault]func() func(){nodeCutOff: n.cutOff, nodeCutOffEtcd: n.cutOffEtcd}[f.node]()
	}
	m.disturbed[n].Add(1)
	var end func()
	switch f.node {
	case nodeKilled:
		n.kill()
		end = n.start
	case nodeStopped:
		n.terminate()
		end = n.start
	case nodePaused:
		n.pause()
		end = n.resume
	case nodePausedWithAppends:
		mendEtcd := n.cutOffEtcd()
		time.Sleep(20 * time.Millisecond) // for appends to be on their way
		n.pause()
		end = func() { mendEtcd(); time.Sleep(20 * time.Millisecond); n.resume() }
	}
	return func() { end(); m.disturbed[n].Add(1) }
}

// disturbEtcd begins the fault of etcd, and returns what ends it.
func (m *nemesis) disturbEtcd(f fault) (mend func()) {
	server := m.etcd.Members[f.member]
	if f.toEtcdLeader {
		server = m.etcd.Leader()
	}
	switch f.server {
	case serverKilled:
		server.Kill()
		return server.Start
	case serverPaused:
		server.Pause()
		return server.Resume
	case serverCutOff:
		return m.cutOffServer(server)
	case serverAlone:
		return m.leaveAlone(server)
	case allKilled:
		for _, one := range m.etcd.Members {
			one.Kill()
		}
		return func() {
			for _, one := range m.etcd.Members {
				one.Start()
			}
			m.etcd.Await()
		}
	case requestsHeld:
		return m.onCables((*etcdtest.Proxy).Hold)
	default:
		return m.onCables((*etcdtest.Proxy).DropAnswers)
	}
}

func (m *nemesis) leaveAlone(server *etcdtest.Member) (mend func()) {
	others := slices.DeleteFunc(slices.Clone(m.etcd.Members), func(other *etcdtest.Member) bool { return other == server })
	for _, other := range others {
		other.Pause()
	}
	return func() {
		for _, other := range others {
			other.Resume()
		}
	}
}

// onCables does something with all that nodes and servers of etcd say to each other.
func (m *nemesis) onCables(set func(cable *etcdtest.Proxy, on bool)) (mend func()) {
	for _, cable := range m.cables {
		set(cable, true)
	}
	return func() {
		for _, cable := range m.cables {
			set(cable, false)
		}
	}
}
