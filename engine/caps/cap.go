package caps

import "slices"

// NodeID is the id of a node's outbox of hits, which a node has as long as its folder.
type NodeID = [16]byte

// Cap is how the cap of a link is shared out.
type Cap struct {
	Code       string
	Generation uint64 // the version of the link with which this way to count began; 0: there is no row yet
	Born       bool   // it began with the link, so no hit was before it
	Open       bool
	Spent      bool   // all hits are used
	Limit      uint64 // the link's cap
	Base       uint64 // hits that are in no block; unknown unless Open
	Blocks     []Block
}

// Block is what a node may admit.
type Block struct {
	Node    NodeID
	Session uint64 // only the process with this session may use it
	Serial  uint64 // of the last report of the session that the block takes into account
	Granted uint64 // hits in all, since the generation began
	Used    uint64 // of them, as far as the leader has been told
}

// MaxBlocks bounds the blocks of a cap. It is more than a cluster has nodes.
const MaxBlocks = 1024

// Free returns how many hits nobody may admit yet.
func (c *Cap) Free() uint64 {
	given := c.Base
	for i := range c.Blocks {
		given += c.Blocks[i].Granted
	}
	if !c.Open || given > c.Limit {
		return 0
	}
	return c.Limit - given
}

// block returns the block of a node; nil if it has none.
func (c *Cap) block(node NodeID) *Block {
	for i := range c.Blocks {
		if c.Blocks[i].Node == node {
			return &c.Blocks[i]
		}
	}
	return nil
}

// Session is a process that may be given blocks.
type Session struct {
	Node   NodeID
	Number uint64 // higher than those of the node's earlier processes
	Serial uint64 // of its last message
}

// New returns the cap of a link that is being made, with a block for each session. Hits that it brings
// along are in base.
func New(code string, generation, limit, base uint64, sessions []Session) Cap {
	c := Cap{Code: code, Generation: generation, Born: true, Limit: limit}
	c.open(base, sessions)
	return c
}

// Closed returns the cap of a link with hits that nobody has added up yet.
func Closed(code string, generation, limit uint64) Cap {
	return Cap{Code: code, Generation: generation, Limit: limit}
}

// open opens c. Each session gets an equal part of a quarter of what is free, and one hit at least while
// there is any.
func (c *Cap) open(base uint64, sessions []Session) {
	c.Open, c.Base = true, base
	if n := uint64(len(sessions)); n > 0 {
		part := max(1, c.Free()/(4*n))
		for _, s := range sessions {
			c.Blocks = append(c.Blocks, Block{Node: s.Node, Session: s.Number, Serial: s.Serial, Granted: min(part, c.Free())})
		}
	}
	c.settle()
}

// Opened returns c, which is closed, after all nodes have said where their hits end, and base is their sum.
func (c *Cap) Opened(base uint64, sessions []Session) Cap {
	after := c.clone()
	after.open(base, sessions)
	return after
}

// WithLimit returns c with another limit. ok is false if more than that may have been admitted: then it
// must begin again, closed.
func (c *Cap) WithLimit(limit uint64) (after Cap, ok bool) {
	after = c.clone()
	given := c.Base
	for i := range c.Blocks {
		given += c.Blocks[i].Granted
	}
	if c.Open && given > limit {
		return after, false
	}
	after.Limit, after.Spent = limit, false
	after.settle()
	return after, true
}

// WrittenOff returns c without the block of a node that will never come back: it counts as used.
func (c *Cap) WrittenOff(node NodeID) Cap {
	after := c.clone()
	after.Blocks = slices.DeleteFunc(after.Blocks, func(b Block) bool {
		if b.Node == node {
			after.Base += b.Granted
		}
		return b.Node == node
	})
	after.settle()
	return after
}

// settle notes whether all hits are used.
func (c *Cap) settle() {
	used := c.Base
	for i := range c.Blocks {
		used += c.Blocks[i].Used
	}
	c.Spent = c.Open && used >= c.Limit
}

func (c *Cap) clone() Cap {
	after := *c
	after.Blocks = slices.Clone(c.Blocks)
	return after
}

// Message is what a node tells the leader. Its reports are of different links.
type Message struct {
	Node    NodeID
	Session uint64
	Serial  uint64 // higher than those of the session's earlier messages
	Reports []Report
}

// Report is what a node tells of one link.
type Report struct {
	ID         uint64
	Code       string // only with Generation 0: the node knows the cap from the link alone
	Generation uint64
	Used       uint64 // hits that the node has admitted in this generation
	Limit      uint64 // with Releases: hits that it will admit at most
	Position   uint64 // with Ended: the hits before this generation are in records of its outbox before it

	Wants    bool // more
	Releases bool // what is beyond Limit
	Ended    bool // it has ended the generation before
}

// MaxReports bounds a message.
const MaxReports = 1000

// Told returns c after a report about it, of a message whose header is m. nodes is the number of nodes
// that share it. changed is false if c says it all already.
func (c *Cap) Told(m *Message, r *Report, nodes int) (after Cap, changed bool) {
	if !c.Open || r.Generation != c.Generation {
		return *c, false
	}
	after = c.clone()
	b := after.block(m.Node)
	switch {
	case b == nil && len(after.Blocks) >= MaxBlocks, b != nil && (m.Session < b.Session || m.Session == b.Session && m.Serial <= b.Serial):
		return *c, false
	case b == nil:
		if r.Used > c.Free() {
			return *c, false // no node has admitted what was never given
		}
		after.Blocks = append(after.Blocks, Block{Node: m.Node, Session: m.Session, Granted: r.Used})
		b = &after.Blocks[len(after.Blocks)-1]
	case m.Session > b.Session: // what an earlier process has not used goes back
		b.Session, b.Granted = m.Session, min(b.Granted, max(b.Used, r.Used))
	}
	b.Used = min(max(b.Used, r.Used), b.Granted)
	if r.Releases {
		b.Granted = min(b.Granted, max(r.Limit, b.Used))
	}
	if r.Wants {
		if free := after.Free(); free > 0 {
			b.Granted += min(free, max(1, free/uint64(2*max(1, nodes))))
		}
	}
	after.settle()
	old := c.block(m.Node)
	changed = old == nil || old.Session != b.Session || old.Granted != b.Granted || old.Used != b.Used && c.Free() == 0 || r.Releases || after.Spent != c.Spent
	b.Serial = m.Serial
	return after, changed
}
