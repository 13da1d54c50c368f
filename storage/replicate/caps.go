package replicate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// In a cluster the caps of links are shared out among the nodes: see package engine/caps. How they are is
// in shared rows. How much this node has used is in rows of its own, which a flush writes in the same batch
// as the hits. So after a crash, and the replay of the journal, a node knows exactly what it has used.
//
// A flush counts a link's hits as used if the generation of the cap began with the link, or if this node
// has ended the generation before (EndGenerations). So hits from before a cap are in none.

// capUses are the links whose hits are counted as used.
type capUses struct {
	mu      sync.Mutex
	links   map[uint64]engine.CapUse
	flushed map[uint64]engine.CapUse // by the running flush, of the one who has hits.Turn
}

// readCaps reads what is counted as used.
func (s *Rows) readCaps() (err error) {
	uses, links := make(map[uint64]engine.CapUse), make(map[uint64]engine.CapUse)
	s.capUses.links, s.capUses.flushed = links, make(map[uint64]engine.CapUse)
	err = s.eachRow(row.TableCapUses, func(key, value []byte) error {
		id, err := row.SplitCapUseKey(key)
		if err != nil {
			return err
		}
		uses[id], err = row.DecodeCapUse(value)
		return err
	})
	if err != nil {
		return err
	}
	return s.eachCap(func(id uint64, c engine.Cap) error {
		if use := uses[id]; use.Generation == c.Generation {
			links[id] = use
		} else if c.Born {
			links[id] = engine.CapUse{Generation: c.Generation}
		}
		return nil
	})
}

func (s *Rows) eachCap(fn func(id uint64, c engine.Cap) error) error {
	return s.eachRow(row.TableCaps, func(key, value []byte) error {
		id, err := row.SplitCapKey(key)
		if err != nil {
			return err
		}
		c, err := row.DecodeCap(value)
		if err != nil {
			return err
		}
		return fn(id, c)
	})
}

// eachRow calls fn with all rows of a table, which are valid only during the call.
func (s *Rows) eachRow(table byte, fn func(key, value []byte) error) (err error) {
	keys := row.TableRange(table)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := fn(it.Key(), value); err != nil {
			return fmt.Errorf("row %x: %w", it.Key(), err)
		}
	}
	return it.Error()
}

// LoadCaps implements engine.Store.
func (s *Rows) LoadCaps(ctx context.Context, fn func(id uint64, c engine.Cap, use engine.CapUse)) error {
	if !s.shared.exists {
		return nil
	}
	err := s.eachCap(func(id uint64, c engine.Cap) error {
		fn(id, c, s.capUses.of(id))
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("storage: reading caps: %w", err)
	}
	return nil
}

func (u *capUses) of(id uint64) engine.CapUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.links[id]
}

// learned notes changes of caps that are committed.
func (u *capUses) learned(changes []engine.CapChange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range changes {
		switch c := &changes[i]; {
		case c.Gone:
			delete(u.links, c.ID)
		case u.links[c.ID].Generation == c.Cap.Generation:
		case c.Cap.Born:
			u.links[c.ID] = engine.CapUse{Generation: c.Cap.Generation}
		default:
			delete(u.links, c.ID)
		}
	}
}

// anyGone reports whether a cap is not shared out any more.
func anyGone(changes []engine.CapChange) bool {
	for i := range changes {
		if changes[i].Gone {
			return true
		}
	}
	return false
}

// count counts hits of a link in the running flush, if they are hits of a cap.
func (u *capUses) count(id, hits uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	use, counted := u.flushed[id]
	if !counted {
		if use, counted = u.links[id]; !counted {
			return
		}
	}
	use.Hits += hits
	u.flushed[id] = use
}

// putFlushed adds to the batch of the running flush what it has counted.
func (u *capUses) putFlushed(b *pebble.Batch) {
	var key, value []byte
	for id, use := range u.flushed {
		key, value = row.AppendCapUseKey(key[:0], id), row.AppendCapUse(value[:0], use)
		kv.Set(b, key, value)
	}
}

// ended notes whether the running flush is durable.
func (u *capUses) ended(durable bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, use := range u.flushed {
		if now, counted := u.links[id]; durable && counted && now.Generation == use.Generation {
			u.links[id] = use
		}
	}
	clear(u.flushed)
}

// EndGenerations implements engine.Store.
func (s *Rows) EndGenerations(generations map[uint64]uint64) (position uint64, err error) {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	begun := make(map[uint64]uint64)
	for id, generation := range generations {
		if s.capUses.of(id).Generation != generation {
			begun[id] = generation
			kv.Set(b, row.AppendCapUseKey(nil, id), row.AppendCapUse(nil, engine.CapUse{Generation: generation}))
		}
	}
	if len(begun) > 0 {
		if err := s.writer.Sync(b, "storage: ending generations of caps"); err != nil {
			return 0, err
		}
		s.capUses.begin(begun)
	}
	return s.outbox.next.Load(), nil
}

func (u *capUses) begin(generations map[uint64]uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, generation := range generations {
		u.links[id] = engine.CapUse{Generation: generation}
	}
}

// leaveCaps adds rows to b that remove all caps.
func leaveCaps(b *pebble.Batch) {
	for _, table := range []byte{row.TableCaps, row.TableCapUses} {
		keys := row.TableRange(table)
		kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	}
}
