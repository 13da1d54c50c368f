package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// CapChange is a new state of how the cap of a link is shared out.
type CapChange struct {
	ID   uint64
	Gone bool // it is not shared out any more; Cap is unused
	Cap  Cap
}

// sharedCaps is what a node of a cluster knows of caps; see package caps.
type sharedCaps struct {
	exists bool // this is a node of a cluster
	table  caps.Table

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

// initCaps begins with no caps. Its session is that of the journal, whose epoch has just begun.
func (e *Engine) initCaps() {
	c := &e.caps
	c.table.Init(e.options.CapNode, e.flusher.positions.Epoch)
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

// admit is index.Admit, or in a cluster, where a cap is shared out, what replaces it. Bots and the like use
// nothing up, and are admitted until the cap is.
func (e *Engine) admit(l index.Link, raise bool) bool {
	id := l.ID()
	switch {
	case !e.caps.exists:
		return e.index.Admit(l, id, raise)
	case e.index.AdmitUncapped(l, id, raise):
		return true
	case !raise:
		return !e.UsedUp(l)
	case !e.caps.table.Take(id, func() string { return string(l.AppendCode(nil)) }):
		return false
	}
	e.index.AddHits(id, 1)
	return true
}

// hitShared is hitAtOnce in a cluster. It reserves the slot of the record first: what a node has admitted
// must be in the records that it flushes when it ends a generation of a cap. A ring that is full makes an
// exception, as in countAtOnce.
func (e *Engine) hitShared(l index.Link, v journal.Visit) bool {
	if l.Flags()&index.FlagCapped != 0 && !e.mayAdmit(l, v.Class == tally.ClassHit) {
		return false // without a void record in the journal
	}
	for r := e.journal.RingOf(l.ID()); ; {
		switch seq, ok := r.Reserve(); {
		case ok:
			w := v.Words(l.ID(), l.Owner())
			admitted := e.admit(l, v.Class == tally.ClassHit)
			if admitted {
				w.SetCounted()
			} else {
				w = journal.Void()
			}
			r.Put(seq, &w)
			return admitted
		case r.Full(seq):
			return e.admit(l, v.Class == tally.ClassHit) && e.recordCounted(l, v)
		}
	}
}

// mayAdmit reports whether admit is worth a try for a link that was capped when it was resolved.
func (e *Engine) mayAdmit(l index.Link, raise bool) bool {
	if !raise {
		return !e.UsedUp(l)
	}
	return e.caps.table.May(l.ID(), func() string { return string(l.AppendCode(nil)) })
}

// CapElsewhere reports whether a hit of l was refused only because this node has no block of its cap.
func (e *Engine) CapElsewhere(l index.Link) bool { return e.caps.exists && !e.UsedUp(l) }

// CapBlocks returns the number of links of whose cap this node holds hits.
func (e *Engine) CapBlocks() int { return e.caps.table.Holding() }

// newCap returns how the cap of a link that is being made is shared out; nil: it has none, or there is no
// cluster.
func (e *Engine) newCap(r *Record) *CapChange {
	if !e.caps.exists || r.Hot.MaxHits == 0 {
		return nil
	}
	return &CapChange{ID: r.Hot.ID, Cap: caps.New(r.Hot.Code, r.Cold.Version, r.Hot.MaxHits, r.Cold.ImportedHits, e.liveSessions())}
}

// changedCap returns how the cap of a link that is being edited is shared out from now on; nil: as before.
func (e *Engine) changedCap(old, edited *Record) *CapChange {
	id, limit := edited.Hot.ID, edited.Hot.MaxHits
	if !e.caps.exists || limit == old.Hot.MaxHits {
		return nil
	}
	if limit == 0 {
		return &CapChange{ID: id, Gone: true}
	}
	if c, ok := e.caps.table.Cap(id); ok && old.Hot.MaxHits != 0 {
		if after, ok := c.WithLimit(limit); ok {
			return &CapChange{ID: id, Cap: after}
		}
	}
	return &CapChange{ID: id, Cap: caps.Closed(edited.Hot.Code, edited.Cold.Version, limit)}
}

// sessionLives is how long after its last message a process is given blocks of new links.
const sessionLives = 5 * time.Second

// liveSessions returns the processes of nodes that have been heard of lately, this one first.
func (e *Engine) liveSessions() []caps.Session {
	c := &e.caps
	c.mu.Lock()
	defer c.mu.Unlock()
	var live []caps.Session
	for node, s := range c.mu.sessions {
		if time.Since(s.heard) > sessionLives {
			continue
		}
		if live = append(live, s.Session); node == e.options.CapNode {
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
func (e *Engine) ShareCaps(ctx context.Context, nodes CapNodes, send func(ctx context.Context, m *CapMessage) error) {
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
		case <-e.caps.table.Wake():
		}
		m := e.caps.table.Message(ticked)
		if ticked || len(m.Reports) > 0 {
			err := e.tellCaps(ctx, &m, send)
			switch {
			case err == nil:
				told, said = time.Now(), false
			case !said && ctx.Err() == nil && time.Since(told) > capsPatience:
				said = true
				e.log.Warn("the node that leads does not hear what this one uses of caps; links with a cap may soon be refused here", "error", err)
			}
			if err != nil {
				e.caps.table.Failed(&m)
			}
		}
		if ticked {
			leads = e.openCaps(ctx, nodes, leads)
		}
		select {
		case <-time.After(capsPause):
		case <-ctx.Done():
		}
	}
}

// tellCaps ends the generations that a message is about, and sends it.
func (e *Engine) tellCaps(ctx context.Context, m *CapMessage, send func(ctx context.Context, m *CapMessage) error) error {
	if found := e.caps.table.Unended(m); found != nil {
		if err := e.FlushRecorded(ctx); err != nil {
			return err
		}
		position, err := e.store.EndGenerations(found)
		if err != nil {
			return err
		}
		e.caps.table.Ended(m, found, position)
	}
	return send(ctx, m)
}

// TakeCapMessage handles the message of a node while this one leads. It returns when what follows from it is
// durable. The caller has checked that it is the node's own, and that the cluster has nodes nodes. Errors:
// ErrNotLeader, ErrLoading, and those of Update.
func (e *Engine) TakeCapMessage(ctx context.Context, m *CapMessage, nodes int) error {
	if !e.Ready() {
		return ErrLoading
	}
	if err := e.gate.enter(); err != nil {
		return err
	}
	defer e.gate.leave()
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	e.hear(m)
	done, writes := make(chan error, len(m.Reports)), 0
	var errs []error
	for i := range m.Reports {
		wrote, err := e.takeReport(ctx, m, &m.Reports[i], nodes, done)
		if wrote {
			writes++
		}
		if err != nil {
			errs = append(errs, err)
			break
		}
	}
	for range writes {
		select {
		case err := <-done:
			errs = append(errs, err)
		case <-ctx.Done():
			return ErrOutcomeUnknown
		}
	}
	return errors.Join(errs...)
}

// hear notes that a process lives, and which generations it has ended.
func (e *Engine) hear(m *CapMessage) {
	c := &e.caps
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
func (e *Engine) takeReport(ctx context.Context, m *CapMessage, r *CapReport, nodes int, done chan<- error) (wrote bool, err error) {
	c, known := e.caps.table.Cap(r.ID)
	code := c.Code
	if !known {
		if code = r.Code; !index.ValidCode([]byte(code)) {
			return false, nil
		}
	} else if !c.Open {
		return false, nil
	}
	return e.changeCap(ctx, r.ID, code, done, func(c Cap, known bool) (Cap, bool) {
		if known {
			return c.Told(m, r, nodes)
		}
		return e.missingCap(r.ID, code)
	})
}

// missingCap returns the cap of a link that has none although it is capped: it was made before there was a
// cluster. The caller has the lock of its code.
func (e *Engine) missingCap(id uint64, code string) (Cap, bool) {
	rec, err := e.readLive(code)
	if err != nil || rec.Hot.ID != id || rec.Hot.MaxHits == 0 {
		return Cap{}, false
	}
	return caps.Closed(code, rec.Cold.Version, rec.Hot.MaxHits), true
}

// changeCap has change change the cap of a link, with its code locked. done gets the outcome if wrote.
func (e *Engine) changeCap(
	ctx context.Context, id uint64, code string, done chan<- error, change func(c Cap, known bool) (Cap, bool),
) (wrote bool, err error) {
	l, err := e.lockCodeToWrite(ctx, code)
	if err != nil {
		return false, err
	}
	after, changed := change(e.caps.table.Cap(id))
	if !changed {
		l.unlock()
		return false, nil
	}
	m := Mutation{Cap: &CapChange{ID: id, Cap: after}}
	e.store.Apply(m, func(err error) {
		if err == nil {
			err = e.publishMutation(&m)
		}
		l.unlock()
		done <- err
	})
	return true, nil
}
