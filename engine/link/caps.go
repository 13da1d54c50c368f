package link

import (
	"context"
	"sync"
	"time"

	"shunt/engine/caps"
	"shunt/engine/internal/errs"
)

// CapChange is a new state of the cap of a link, in a cluster.
type CapChange struct {
	ID   uint64
	Gone bool // the link is purged; Cap is unused
	Cap  caps.Cap
}

// sharedCaps is what a node of a cluster knows of caps; see package caps.
type sharedCaps struct {
	*caps.Shared

	mu    sync.Mutex         // of what only a node that leads uses
	later map[uint64]opening // caps that are to be opened, by link
	ahead map[uint64]reserve // by link; changed by who has locked its code
}

// opening is what the cap of a link waits for until it is opened.
type opening struct {
	version uint64 // of the link: with another one, it may be another cap
	after   uint64 // sequence of an entry of the log: all hits from before it must be known
}

// reserve is hits of a cap that are used in the log, and that this node has not granted yet. They are its own for ever:
// no other leader grants them.
type reserve struct{ generation, hits uint64 }

// maxOpenings bounds the caps that wait to be opened. When there are more, all begin to wait again.
const maxOpenings = 1 << 16

func (c *sharedCaps) init(shared *caps.Shared) {
	c.Shared, c.later, c.ahead = shared, make(map[uint64]opening), make(map[uint64]reserve)
	c.Asks.Init()
}

// put makes changes known.
func (c *sharedCaps) put(changes []CapChange) {
	for i := range changes {
		if changes[i].Gone {
			c.remove(changes[i].ID)
		} else {
			c.Table.Put(changes[i].ID, changes[i].Cap)
		}
	}
}

// remove forgets the cap of a link that is purged.
func (c *sharedCaps) remove(id uint64) {
	c.Table.Remove(id)
	c.reserve(id, caps.Cap{}, 0)
}

// reserved returns the reserve of a cap.
func (c *sharedCaps) reserved(id uint64, of caps.Cap) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.ahead[id]; r.generation == of.Generation {
		return r.hits
	}
	return 0
}

// reserve sets the reserve of a cap.
func (c *sharedCaps) reserve(id uint64, of caps.Cap, hits uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hits == 0 {
		delete(c.ahead, id)
		return
	}
	c.ahead[id] = reserve{of.Generation, hits}
}

// newCap returns the cap of a link that is being made; nil: it has none, or there is no cluster.
func (ls *Links) newCap(r *Record) *CapChange {
	if !ls.caps.Exists || r.Hot.MaxHits == 0 {
		return nil
	}
	return &CapChange{ID: r.Hot.ID, Cap: caps.Cap{Generation: r.Cold.Version, Used: r.Cold.ImportedHits, Open: true}}
}

// changedCap returns the cap of a link that is being edited; nil: as before. One that is given later is opened by
// the redirects that ask for it. One that changes gets the reserve back, so that a lower limit is exact, too.
func (ls *Links) changedCap(old, edited *Record) *CapChange {
	id := edited.Hot.ID
	if !ls.caps.Exists || edited.Hot.MaxHits == old.Hot.MaxHits || old.Hot.MaxHits == 0 {
		return nil
	}
	if edited.Hot.MaxHits == 0 {
		return &CapChange{ID: id, Cap: caps.Cap{Generation: edited.Cold.Version}}
	}
	c := ls.caps.Table.Of(id)
	own := ls.caps.reserved(id, c)
	if own == 0 {
		return nil
	}
	ls.caps.reserve(id, c, 0)
	c.Used -= own
	return &CapChange{ID: id, Cap: c}
}

// AskCaps has send ask the node that leads, by GrantCaps there, about redirects that wait here (HitAsked), until ctx is
// done. send must return within some seconds, with an answer to each question.
func (ls *Links) AskCaps(ctx context.Context, send func(ctx context.Context, asks []caps.Ask) ([]caps.Answer, error)) {
	ls.caps.Asks.Run(ctx, send)
}

// CapNodes is what the node that leads must know of its cluster.
type CapNodes interface {
	// Applied returns the sequence of the last entry of the log that this node has applied.
	Applied() uint64
	// Settled reports whether the counters here have all hits that any other node of the cluster has admitted before it
	// had applied the log through sequence. It has the others settle theirs (SettleHits) until that is so.
	Settled(ctx context.Context, sequence uint64) bool
}

// GrantCaps answers another node, or this one, while this node leads. What it grants is durable when it returns. Hits
// of links that it could not write in time may be used up, and are not granted. Errors: ErrNotLeader, ErrLoading.
func (ls *Links) GrantCaps(ctx context.Context, nodes CapNodes, asks []caps.Ask) ([]caps.Answer, error) {
	if !ls.Ready() {
		return nil, errs.ErrLoading
	}
	if err := ls.gate.enter(); err != nil {
		return nil, err
	}
	defer ls.gate.leave()
	ctx, cancel := context.WithTimeout(ctx, grantTimeout)
	defer cancel()
	answers, writes := make([]caps.Answer, len(asks)), make([]<-chan error, len(asks))
	for i := range asks {
		answers[i], writes[i] = ls.grantCap(ctx, nodes, &asks[i])
	}
	for i, write := range writes {
		if write == nil {
			continue
		}
		select {
		case err := <-write:
			if err != nil {
				answers[i] = caps.Answer{}
			}
		case <-ctx.Done():
			answers[i] = caps.Answer{}
		}
	}
	return answers, nil
}

// grantTimeout bounds GrantCaps. A node that asks waits longer for its answer.
const grantTimeout = 2 * time.Second

// grantCap answers a with the code locked: so there is no other grant of the link meanwhile, and no edit. If it writes,
// the answer counts only when write has said nil.
func (ls *Links) grantCap(ctx context.Context, nodes CapNodes, a *caps.Ask) (answer caps.Answer, write <-chan error) {
	if !a.Key().View().Valid() {
		return answer, nil
	}
	l, err := ls.lockCodeToWrite(ctx, a.Key())
	if err != nil {
		return answer, nil
	}
	limit, before := ls.capNow(a), ls.caps.Table.Of(a.ID)
	c := before
	if limit != 0 && !c.Open {
		c = ls.opened(ctx, nodes, a)
	}
	if limit == 0 || !c.Open {
		l.unlock()
		return answer, nil
	}
	own := ls.caps.reserved(a.ID, c)
	n := min(a.Hits, limit-min(limit, c.Used-own))
	answer = caps.Answer{Granted: n, Generation: c.Generation, Spent: n < a.Hits}
	if n <= own && c == before {
		ls.caps.reserve(a.ID, c, own-n)
		l.unlock()
		return answer, nil
	}
	ls.caps.reserve(a.ID, c, 0)
	c.Used += n - min(n, own)
	ahead := min((limit-min(limit, c.Used))/aheadShare, aheadAsks*n)
	c.Used += ahead
	return answer, ls.applyCap(l, a.ID, c, ahead)
}

// A write reserves at most one in aheadShare of the hits that are left, and as many as aheadAsks questions like the one
// that needs it ask for. So most questions need no write, and a change of leaders uses up little.
const (
	aheadShare = 100
	aheadAsks  = 16
)

// capNow returns the cap of the link that a is about; 0: its cap is gone, which the node that asks is about to
// learn.
func (ls *Links) capNow(a *caps.Ask) uint64 {
	l, ok := ls.Resolve(a.Key().View())
	if !ok {
		return 0
	}
	defer l.Release()
	if l.ID() != a.ID {
		return 0
	}
	return l.MaxHits()
}

// applyCap writes the cap of a link, whose code the caller has locked by l. Then ahead is the reserve.
func (ls *Links) applyCap(l codeLock, id uint64, c caps.Cap, ahead uint64) <-chan error {
	done := make(chan error, 1)
	m := Mutation{Cap: &CapChange{ID: id, Cap: c}}
	ls.store.Apply(m, func(err error) {
		if err == nil {
			err = ls.publishMutation(&m)
			ls.caps.reserve(id, c, ahead)
		}
		l.unlock()
		done <- err
	})
	return done
}

// opened returns the cap of a link, with the hits from before it, if these are known: only then it is open. The caller
// has locked the code.
func (ls *Links) opened(ctx context.Context, nodes CapNodes, a *caps.Ask) caps.Cap {
	rec, err := ls.readLive(a.Key())
	if err != nil {
		return caps.Cap{}
	}
	after := ls.caps.opens(a.ID, rec.Cold.Version, nodes.Applied())
	if !nodes.Settled(ctx, after) || ls.hits.FoldNow(ctx) != nil { // hits of this node are folded
		return caps.Cap{}
	}
	return caps.Cap{Generation: rec.Cold.Version, Used: ls.index.Hits(a.ID), Open: true}
}

// opens returns the entry of the log that the cap of a link waits for: applied, if nobody has asked for it before.
func (c *sharedCaps) opens(id, version, applied uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, waits := c.later[id]
	if waits && o.version == version {
		return o.after
	}
	if len(c.later) >= maxOpenings {
		clear(c.later)
	}
	c.later[id] = opening{version, applied}
	return applied
}

// SettleHits makes every hit durable in the store that this node has admitted while it did not know of what the
// cluster's log says by now. It fails while this node leads, or has writes of an earlier leadership: of these,
// the log may know more than the index. Run must be running.
func (ls *Links) SettleHits(ctx context.Context) error {
	if open, used := ls.gate.state(); open || used {
		return errs.ErrOverloaded
	}
	return ls.hits.FlushRecorded(ctx)
}
