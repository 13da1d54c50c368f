package storage

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

const (
	// flushRetainBytes is the largest buffer of a flush that is kept for the next one: that of
	// about a million rows. (Pebble itself keeps the buffer of a batch over half a memtable.)
	flushRetainBytes = 32 << 20
)

// maxFlushBytes bounds a flush. Pebble panics at 4 GiB; 1 GiB holds 30 million rows without
// visitors and breakdowns. It is a variable only for tests.
var maxFlushBytes = 1 << 30

// flusher is the state of the one goroutine that flushes and rolls up.
type flusher struct {
	batch      *pebble.Batch
	key, value []byte
	hour       uint32 // of the previous row, if hourKnown: rows come sorted
	hourKnown  bool

	// turn is held by whoever writes tally rows of links that have some already: Flush, RollUp,
	// ApplyPulled, and in a cluster a purge; and by DropOutbox. Each holds it from before it looks at the
	// mark, the set of hours, the outbox or what is purged until its batch is durable, so that all of
	// these are as the batch assumes. Each commits one bounded batch, so a flush never waits long. It
	// is taken after shared.turn and before the locks of the set of hours and of the writer.
	turn sync.Mutex

	mark  row.Mark  // as last committed; written by RollUp, which holds turn
	sweep row.Sweep // as last committed

	nextReceipt []byte // where the sweep of receipts continues; nil: at the first

	rolledUp atomic.Uint64 // rows since Open; read by metrics
	markHour atomic.Uint32 // hour of mark; read by metrics
}

func (f *flusher) init(db *pebble.DB) {
	f.batch = db.NewBatch(pebble.WithMaxRetainedSizeBytes(flushRetainBytes))
}

// Flush implements engine.Store. It allocates nothing for a row; a row with a few visitors costs
// about 0.2 µs before its commit. A row of an hour that is rolled up is added to its day and its life at
// once.
func (s *Store) Flush(b engine.FlushBatch) error {
	f := &s.flusher
	f.turn.Lock()
	defer f.turn.Unlock()
	defer f.batch.Reset()
	durable := false
	defer func() { s.capUses.ended(durable) }()
	s.beginPosting()
	if err := s.collect(&b); err != nil {
		return fmt.Errorf("storage: flush %d: %w", b.Positions.FlushSeq, err)
	}
	s.putFlushed()
	outbox := s.endPosting()
	f.value = row.AppendPositions(f.value[:0], &b.Positions)
	kv.Set(f.batch, row.MetaKey(row.MetaPositions), f.value)
	if b.Clock != nil {
		kv.Set(f.batch, row.MetaKey(row.MetaClock), row.AppendClock(nil, b.Clock))
	}
	if err := s.writer.Sync(f.batch, "storage: committing a flush"); err != nil {
		return err
	}
	durable = true
	if c := b.Clock; c != nil && len(c.Runs) > 0 {
		s.stamps.inUse.Store(&timeInUse{c.Runs[len(c.Runs)-1].To, time.Now()})
	}
	s.outbox.posted(outbox)
	return nil
}

// collect adds the rows of b to the batch, and their hours to the set of hours. Owners come first, for the
// outbox.
func (s *Store) collect(b *engine.FlushBatch) error {
	f := &s.flusher
	f.hour, f.hourKnown = 0, false
	if b.Owners != nil {
		err := b.Owners(func(hour uint32, owner uint32, t *engine.Tally) error {
			f.key = row.AppendOwnerHourKey(f.key[:0], hour, owner)
			return s.addFlushed(row.StageOwners, hour, uint64(owner), t)
		})
		if err != nil {
			return err
		}
	}
	if b.Links == nil {
		return nil
	}
	return b.Links(func(hour uint32, id uint64, t *engine.Tally) error {
		f.key = row.AppendLinkHourKey(f.key[:0], hour, id)
		return s.addFlushed(row.StageLinks, hour, id, t)
	})
}

// mergeFlushed merges a row, whose key and value are in f, into its hour, and into what the hour was
// rolled up to already, if it was.
func (s *Store) mergeFlushed(stage row.Stage, hour uint32, id uint64) {
	f := &s.flusher
	if f.mark.Passed(stage, hour, id) && !s.mergeLate(f.batch, stage, hour, id, f.value) {
		return
	}
	if hour != f.hour || !f.hourKnown {
		f.hour, f.hourKnown = hour, true
		s.hours.add(hour)
	}
	kv.Merge(f.batch, f.key, f.value)
}

// addFlushed adds one row, whose key is in f.key, of a link or an owner.
func (s *Store) addFlushed(stage row.Stage, hour uint32, id uint64, t *engine.Tally) error {
	f := &s.flusher
	if f.batch.Len()-s.outbox.posting.batchBytes > maxFlushBytes { // the outbox has a bound of its own
		return fmt.Errorf("%w: more than %d bytes", engine.ErrFlushTooLarge, maxFlushBytes)
	}
	if err := row.CheckDimensions(t); err != nil {
		return err
	}
	f.value = row.AppendTally(f.value[:0], t)
	if !s.shared.edge { // see shared.go
		s.mergeFlushed(stage, hour, id)
	}
	if s.outbox.posting.exists {
		s.post(row.OutboxRow{Table: f.key[0], Hour: hour, ID: id}, t, f.value)
		if f.key[0] == row.TableLinkHours && t.Hits > 0 {
			s.capUses.count(id, t.Hits)
		}
	}
	return nil
}
