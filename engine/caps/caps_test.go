package caps

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// world is a leader, its nodes, and what is under way between them: messages and rows come late, twice,
// out of order or never. Nodes die and lose nothing that they have admitted.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	cap   Cap
	nodes []*node
	late  []Message // that the leader may get at any time, or never

	base, admitted uint64
	highest        uint64 // limit that was ever in force since the generation began
}

type node struct {
	id      NodeID
	table   Table
	session uint64
	rows    []Cap // not learned yet, oldest first
	stored  Cap   // the last that was
	used    Use
	before  uint64 // hits of earlier generations
	gone    bool
}

const linkID = 7

func (w *world) start(n *node) {
	n.session++
	n.table = Table{}
	n.table.Init(n.id, n.session)
	if n.stored.Generation != 0 {
		n.table.Load(linkID, n.stored, n.used)
	}
}

// write makes c the cap: every node learns it some time.
func (w *world) write(c Cap) {
	given := c.Base
	for _, b := range c.Blocks {
		given += b.Granted
		if b.Used > b.Granted {
			w.t.Fatalf("a node has used %d of %d", b.Used, b.Granted)
		}
	}
	if c.Open && given > max(c.Limit, c.Base) {
		w.t.Fatalf("%d of %d are given: %+v", given, c.Limit, c)
	}
	w.cap = c
	for _, n := range w.nodes {
		n.rows = append(n.rows, c)
	}
}

func (w *world) learn(n *node) {
	if len(n.rows) == 0 {
		return
	}
	c := n.rows[0]
	n.rows = n.rows[1:]
	if n.stored.Generation != c.Generation && c.Born {
		n.used = Use{Generation: c.Generation}
	}
	n.stored = c
	n.table.Put(linkID, c)
}

func (w *world) hit(n *node) bool {
	if n.gone || !n.table.Take(linkID, func() string { return "code" }) {
		return false
	}
	w.admitted++
	if n.used.Generation == n.stored.Generation {
		n.used.Hits++
	} else {
		w.t.Fatal("a hit is admitted that the store does not count")
	}
	if w.admitted > w.highest {
		w.t.Fatalf("%d hits are admitted, and the cap is %d: %+v", w.admitted, w.highest, w.cap)
	}
	return true
}

// tell has a node tell the leader, and reports whether that heard it.
func (w *world) tell(n *node, ticked, safe bool) {
	m := n.table.Message(ticked)
	if found := n.table.Unended(&m); found != nil {
		if n.used.Generation != n.stored.Generation {
			n.before += n.used.Hits
			n.used = Use{Generation: n.stored.Generation}
		}
		n.table.Ended(&m, found, 1)
	}
	switch {
	case safe || w.rng.IntN(4) > 0:
		w.hear(&m)
		if !safe && w.rng.IntN(4) == 0 { // the answer is lost
			w.late = append(w.late, m)
			n.table.Failed(&m)
		}
	default:
		w.late = append(w.late, m)
		n.table.Failed(&m)
	}
}

func (w *world) hear(m *Message) {
	if m.Node == w.nodes[0].id && w.nodes[0].gone {
		return // the leader listens only to nodes of the cluster
	}
	for i := range m.Reports {
		if after, changed := w.cap.Told(m, &m.Reports[i], len(w.nodes)); changed {
			w.write(after)
		}
	}
}

func (w *world) sessions() (all []Session) {
	for _, n := range w.nodes {
		if !n.gone {
			all = append(all, Session{Node: n.id, Number: n.session, Serial: n.table.self.Serial})
		}
	}
	return all
}

// reopen begins a new generation, which opens when all nodes know it.
func (w *world) reopen(limit uint64) {
	w.write(Closed("code", w.cap.Generation+1, limit))
	w.highest = max(w.highest, limit) // until each node has heard of it
	for _, n := range w.nodes {
		for len(n.rows) > 0 {
			if w.rng.IntN(2) == 0 {
				w.hit(n)
			}
			w.learn(n)
		}
		w.tell(n, true, true)
	}
	w.highest = max(limit, w.admitted)
	w.write(w.cap.Opened(w.admitted, w.sessions()))
}

func (w *world) step() {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	switch x := w.rng.IntN(100); {
	case x < 15:
		for range w.rng.IntN(4) {
			w.hit(n)
		}
	case x < 45:
		w.learn(n)
	case x < 80:
		w.tell(n, w.rng.IntN(4) > 0, false)
	case x < 93:
		if len(w.late) > 0 {
			w.hear(&w.late[max(0, len(w.late)-1-w.rng.IntN(6))])
		}
	case x < 95:
		w.start(n)
	case x < 96:
		limit := w.cap.Limit + uint64(w.rng.IntN(200)) - uint64(w.rng.IntN(int(min(100, w.cap.Limit))))
		if after, ok := w.cap.WithLimit(limit); ok {
			w.write(after)
			w.highest = max(w.highest, limit)
		} else if w.rng.IntN(3) == 0 {
			w.reopen(limit)
		}
	}
}

// TestACapIsNeverExceededAndUsedUpInTheEnd has three nodes share caps while messages and rows are late,
// lost or repeated, nodes restart, and the cap changes. At the end, when the rest of the nodes can talk,
// they use all but what a node holds that never comes back.
func TestACapIsNeverExceededAndUsedUpInTheEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 18))
		w := &world{t: t, rng: rng, base: uint64(rng.IntN(5))}
		for i := range 3 {
			n := &node{id: NodeID{byte(i + 1)}}
			w.nodes = append(w.nodes, n)
			w.start(n)
		}
		limit := uint64(1 + rng.IntN(100))
		w.admitted, w.highest = w.base, max(limit, w.base)
		w.write(New("code", 1, limit, w.base, w.sessions()))
		for range 600 {
			w.step()
		}
		w.finish(seed)
	}
}

// finish lets one node die for ever, and the others use what is left.
func (w *world) finish(seed uint64) {
	dead := w.nodes[0]
	dead.gone = true
	w.write(w.cap.WrittenOff(dead.id))
	for round := range 10000 {
		for _, n := range w.nodes[1:] {
			for len(n.rows) > 0 {
				w.learn(n)
			}
			w.hit(n)
			w.tell(n, round%5 == 0, true)
			if len(w.late) > 0 && w.rng.IntN(5) == 0 {
				w.hear(&w.late[w.rng.IntN(len(w.late))])
			}
		}
		if w.cap.Spent {
			break
		}
	}
	var blocks uint64
	for _, b := range w.cap.Blocks {
		blocks += b.Granted
	}
	if !w.cap.Spent {
		w.t.Fatalf("seed %d: it is not used up: %d admitted, %+v", seed, w.admitted, w.cap)
	}
	for _, n := range w.nodes[1:] {
		for len(n.rows) > 0 {
			w.learn(n)
		}
		if !n.table.Spent(linkID) || n.table.Holding() != 0 {
			w.t.Fatalf("seed %d: a node does not know that it is used up, or holds %d links", seed, n.table.Holding())
		}
	}
	if lost := max(w.cap.Limit, w.cap.Base) - min(w.cap.Limit, w.admitted); lost > w.cap.Base {
		w.t.Fatalf("seed %d: %d are lost, and %d were written off: %+v", seed, lost, w.cap.Base, w.cap)
	}
}

// TestACapIsUsedWholeByOneNode has all redirects come to one node, while the others hold blocks.
func TestACapIsUsedWholeByOneNode(t *testing.T) {
	for _, limit := range []uint64{1, 2, 3, 10, 1000, 1 << 40} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(1, limit)), highest: limit}
			for i := range 3 {
				n := &node{id: NodeID{byte(i + 1)}}
				w.nodes = append(w.nodes, n)
				w.start(n)
			}
			w.write(New("code", 1, limit, 0, w.sessions()))
			hot, want := w.nodes[2], min(limit, 5000)
			for round := range 400 {
				for _, n := range w.nodes {
					for len(n.rows) > 0 {
						w.learn(n)
					}
				}
				for w.admitted < want && w.hit(hot) {
				}
				for _, n := range w.nodes {
					w.tell(n, round%3 == 0, true)
				}
			}
			if w.admitted != want {
				t.Errorf("%d of %d hits are admitted: %+v", w.admitted, want, w.cap)
			}
			if limit == want != w.cap.Spent {
				t.Errorf("spent: %v", w.cap.Spent)
			}
		})
	}
}

func TestAHitOfABlockAllocatesNothing(t *testing.T) {
	var table Table
	table.Init(NodeID{1}, 1)
	table.Put(linkID, New("code", 1, 1<<40, 0, []Session{{Node: NodeID{1}, Number: 1}}))
	code := func() string { return "code" }
	if n := testing.AllocsPerRun(100, func() {
		if !table.May(linkID, code) || !table.Take(linkID, code) {
			t.Fatal("a hit is refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
