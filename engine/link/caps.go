package link

import (
	"context"
	"errors"
	"sync"
	"time"

	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// CapChange is a new state of how the cap of a link is shared out.
type CapChange struct {
	ID   uint64
	Gone bool // it is not shared out any more; Cap is unused
	Cap  caps.Cap
}

// sharedCaps is what a node of a cluster knows of caps; see package caps.
type sharedCaps struct {
	exists bool // this is a node of a cluster
	table  *caps.Table

	mu struct { // of what only the leader uses
		sync.Mutex
		sessions map[caps.NodeID]liveSession
		ended    map[uint64]endings   // of links whose cap is closed
		nodes    map[caps.NodeID]bool // of the cluster, when that was asked the last time
		looked   time.Time            // when that was
	}
}

// liveSession is the process of a node, and when it was last heard of.
type liveSession struct {
	caps.Session
	heard time.Time
}

// endings are the positions at which the hits before a generation end, by node.
type endings struct {
	generation uint64
	at         map[caps.NodeID]uint64
}

// init begins with the caps in table; nil: there is no cluster.
func (c *sharedCaps) init(table *caps.Table) {
	c.exists, c.table = table != nil, table
	c.mu.sessions, c.mu.ended = make(map[caps.NodeID]liveSession), make(map[uint64]endings)
}

// put makes changes known.
func (c *sharedCaps) put(changes []CapChange) {
	if !c.exists {
		return
	}
	for i := range changes {
		if changes[i].Gone {
			c.table.Remove(changes[i].ID)
		} else {
			c.table.Put(changes[i].ID, changes[i].Cap)
		}
	}
}

// CapBlocks returns the number of links of whose cap this node holds hits.
func (ls *Links) CapBlocks() int {
	if !ls.caps.exists {
		return 0
	}
	return ls.caps.table.Holding()
}

// newCap returns how the cap of a link that is being made is shared out; nil: it has none, or there is no
// cluster.
func (ls *Links) newCap(r *Record) *CapChange {
	if !ls.caps.exists || r.Hot.MaxHits == 0 {
		return nil
	}
	return &CapChange{ID: r.Hot.ID, Cap: caps.New(r.Hot.Code, r.Cold.Version, r.Hot.MaxHits, r.Cold.ImportedHits, ls.liveSessions())}
}

// changedCap returns how the cap of a link that is being edited is shared out from now on; nil: as before.
func (ls *Links) changedCap(old, edited *Record) *CapChange {
	id, limit := edited.Hot.ID, edited.Hot.MaxHits
	if !ls.caps.exists || limit == old.Hot.MaxHits {
		return nil
	}
	if limit == 0 {
		return &CapChange{ID: id, Gone: true}
	}
	if c, ok := ls.caps.table.Cap(id); ok && old.Hot.MaxHits != 0 {
		if after, ok := c.WithLimit(limit); ok {
			return &CapChange{ID: id, Cap: after}
		}
	}
	return &CapChange{ID: id, Cap: caps.Closed(edited.Hot.Code, edited.Cold.Version, limit)}
}

// sessionLives is how long after its last message a process is given blocks of new links.
const sessionLives = 5 * time.Second

// liveSessions returns the processes of nodes that have been heard of lately, this one first.
func (ls *Links) liveSessions() []caps.Session {
	c := &ls.caps
	c.mu.Lock()
	defer c.mu.Unlock()
	var live []caps.Session
	for node, s := range c.mu.sessions {
		if time.Since(s.heard) > sessionLives {
			continue
		}
		if live = append(live, s.Session); node == ls.options.CapNode {
			live[0], live[len(live)-1] = live[len(live)-1], live[0]
		}
	}
	return live
}

// CapNodes is what the leader must know of the nodes of its cluster. Nodes are named by the ids of their
// outboxes.
type CapNodes interface {
	// All returns all nodes that the cluster has, live or not.
	All(ctx context.Context) ([]caps.NodeID, error)
	// Shown returns the position in a node's outbox before which all hits are in the counters here.
	Shown(node caps.NodeID) (uint64, error)
}

const (
	capsPause = 50 * time.Millisecond             // between two messages
	capsTick  = time.Second / caps.LooksPerSecond // between two messages without a reason

	capsPatience = 10 * time.Second // until a log line says that no message arrives: a new leader takes three seconds
)

// ShareCaps tells the leader what this node uses of caps, by send, until ctx is done. Run must be running.
// While this node leads, it also opens caps, and writes off what nodes hold that are in no cluster any more.
func (ls *Links) ShareCaps(ctx context.Context, nodes CapNodes, send func(ctx context.Context, m *caps.Message) error) {
	tick := time.NewTicker(capsTick)
	defer tick.Stop()
	told, said := time.Now(), false
	for leads := false; ; {
		ticked := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			ticked = true
		case <-ls.caps.table.Wake():
		}
		m := ls.caps.table.Message(ticked)
		if ticked || len(m.Reports) > 0 {
			err := ls.tellCaps(ctx, &m, send)
			switch {
			case err == nil:
				told, said = time.Now(), false
			case !said && ctx.Err() == nil && time.Since(told) > capsPatience:
				said = true
				ls.log.Warn("the node that leads does not hear what this one uses of caps; links with a cap may soon be refused here", "error", err)
			}
			if err != nil {
				ls.caps.table.Failed(&m)
			}
		}
		if ticked {
			leads = ls.openCaps(ctx, nodes, leads)
		}
		select {
		case <-time.After(capsPause):
		case <-ctx.Done():
		}
	}
}

// tellCaps ends the generations that a message is about, and sends it.
func (ls *Links) tellCaps(ctx context.Context, m *caps.Message, send func(ctx context.Context, m *caps.Message) error) error {
	if found := ls.caps.table.Unended(m); found != nil {
		if err := ls.hits.FlushRecorded(ctx); err != nil {
			return err
		}
		position, err := ls.store.EndGenerations(found)
		if err != nil {
			return err
		}
		ls.caps.table.Ended(m, found, position)
	}
	return send(ctx, m)
}

// TakeCapMessage handles the message of a node while this one leads. It returns when what follows from it is
// durable. The caller has checked that it is the node's own, and that the cluster has nodes nodes. Errors:
// ErrNotLeader, ErrLoading, and those of Update.
func (ls *Links) TakeCapMessage(ctx context.Context, m *caps.Message, nodes int) error {
	if !ls.Ready() {
		return errs.ErrLoading
	}
	if err := ls.gate.enter(); err != nil {
		return err
	}
	defer ls.gate.leave()
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	ls.hear(m)
	done, writes := make(chan error, len(m.Reports)), 0
	var failed []error
	for i := range m.Reports {
		wrote, err := ls.takeReport(ctx, m, &m.Reports[i], nodes, done)
		if wrote {
			writes++
		}
		if err != nil {
			failed = append(failed, err)
			break
		}
	}
	for range writes {
		select {
		case err := <-done:
			failed = append(failed, err)
		case <-ctx.Done():
			return errs.ErrOutcomeUnknown
		}
	}
	return errors.Join(failed...)
}

// hear notes that a process lives, and which generations it has ended.
func (ls *Links) hear(m *caps.Message) {
	c := &ls.caps
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.mu.sessions[m.Node]; m.Session < s.Number || m.Session == s.Number && m.Serial <= s.Serial {
		return
	}
	c.mu.sessions[m.Node] = liveSession{caps.Session{Node: m.Node, Number: m.Session, Serial: m.Serial}, time.Now()}
	for i := range m.Reports {
		r := &m.Reports[i]
		if !r.Ended || !c.closed(r.ID, r.Generation) {
			continue
		}
		x := c.mu.ended[r.ID]
		if x.generation != r.Generation {
			x = endings{r.Generation, make(map[caps.NodeID]uint64)}
			c.mu.ended[r.ID] = x
		}
		x.at[m.Node] = r.Position
	}
}

// closed reports whether a generation of a link's cap waits to be opened.
func (c *sharedCaps) closed(id, generation uint64) bool {
	now, known := c.table.Cap(id)
	return known && !now.Open && now.Generation == generation
}

// takeReport writes what follows from a report, if anything does; done gets the outcome then.
func (ls *Links) takeReport(ctx context.Context, m *caps.Message, r *caps.Report, nodes int, done chan<- error) (wrote bool, err error) {
	c, known := ls.caps.table.Cap(r.ID)
	code := c.Code
	if !known {
		if code = r.Code; !index.ValidCode([]byte(code)) {
			return false, nil
		}
	} else if !c.Open {
		return false, nil
	}
	return ls.changeCap(ctx, r.ID, code, done, func(c caps.Cap, known bool) (caps.Cap, bool) {
		if known {
			return c.Told(m, r, nodes)
		}
		return ls.missingCap(r.ID, code)
	})
}

// missingCap returns the cap of a link that has none although it is capped: it was made before there was a
// cluster. The caller has the lock of its code.
func (ls *Links) missingCap(id uint64, code string) (caps.Cap, bool) {
	rec, err := ls.readLive(code)
	if err != nil || rec.Hot.ID != id || rec.Hot.MaxHits == 0 {
		return caps.Cap{}, false
	}
	return caps.Closed(code, rec.Cold.Version, rec.Hot.MaxHits), true
}

// changeCap has change change the cap of a link, with its code locked. done gets the outcome if wrote.
func (ls *Links) changeCap(
	ctx context.Context, id uint64, code string, done chan<- error, change func(c caps.Cap, known bool) (caps.Cap, bool),
) (wrote bool, err error) {
	l, err := ls.lockCodeToWrite(ctx, code)
	if err != nil {
		return false, err
	}
	after, changed := change(ls.caps.table.Cap(id))
	if !changed {
		l.unlock()
		return false, nil
	}
	m := Mutation{Cap: &CapChange{ID: id, Cap: after}}
	ls.store.Apply(m, func(err error) {
		if err == nil {
			err = ls.publishMutation(&m)
		}
		l.unlock()
		done <- err
	})
	return true, nil
}
