package hits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/engine/zone"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A Poster gets what a flush writes, for other nodes.
type Poster interface {
	// Begin begins a flush into b. keep reports whether this store keeps the rows itself.
	Begin(b *pebble.Batch) (keep bool)
	// Post gets a row, whose tally t is encoded as whole. Both are valid only during the call.
	Post(r row.OutboxRow, t *engine.Tally, whole []byte)
	// End puts into the batch what is left.
	End()
	// Ended says whether the flush is durable, or failed.
	Ended(durable bool)
}

// Hits are the rows of hits of a store. The methods that engine.Store has are documented there.
type Hits struct {
	MaxFlushBytes int // of one flush; smaller only in tests

	db       *pebble.DB
	writer   *kv.Writer
	reads    bool
	busy     func() bool // the roll-up must wait
	useClock func(ms int64)
	poster   Poster     // nil: nobody needs what a flush writes
	zone     *zone.Zone // of days; written before the first flush
	hours    hourSet
	flusher  flusher
	progress *kv.Scanned // of LoadHits

	firstHour, firstDay atomic.Uint32 // see Kept; written by the flusher
}

// flusher is the state of the one goroutine that flushes and rolls up.
type flusher struct {
	batch       *pebble.Batch
	value       []byte
	rows        Adder // to batch
	keep        bool  // whether the flush under way keeps its rows
	postedBytes int   // what the poster has put into batch

	// turn is held by whoever writes tally rows of links that have some already: see Turn.
	turn sync.Mutex

	mark  row.Mark  // as last committed; written by RollUp, which holds turn
	sweep row.Sweep // as last committed

	rolledUp atomic.Uint64 // rows since Open; read by metrics
	markHour atomic.Uint32 // hour of mark; read by metrics
}

// Options are what Hits need of their store.
type Options struct {
	ReadOnly bool
	Busy     func() bool    // reports whether what can wait must wait
	UseClock func(ms int64) // is told the time that the engine goes by, with each flush
	Progress *kv.Scanned    // of LoadHits
}

// Init gives the rows their open database.
func (h *Hits) Init(db *pebble.DB, w *kv.Writer, o Options) {
	h.MaxFlushBytes = maxFlushBytes
	h.db, h.writer, h.reads, h.busy, h.useClock, h.progress = db, w, o.ReadOnly, o.Busy, o.UseClock, o.Progress
	h.flusher.batch = db.NewBatch(pebble.WithMaxRetainedSizeBytes(flushRetainBytes))
}

// Start reads the state that is kept in memory.
func (h *Hits) Start() (err error) {
	if h.flusher.mark, err = readMark(h.db); err != nil {
		return err
	}
	h.flusher.markHour.Store(h.flusher.mark.Hour)
	if h.flusher.sweep, err = readSweep(h.db); err != nil {
		return err
	}
	if h.zone, _, err = readZone(h.db); err != nil {
		return err
	}
	if err := h.readKept(); err != nil {
		return err
	}
	return h.findHours()
}

// Close releases the batch of flushes.
func (h *Hits) Close() error { return h.flusher.batch.Close() }

// PostTo has p get what flushes write. It is called before the first flush.
func (h *Hits) PostTo(p Poster) { h.poster = p }

// Turn is held by whoever writes tally rows of links that have some already: Flush, RollUp, and in a
// cluster a purge and hits of other nodes. Each holds it from before it looks at the
// mark, the set of hours, what is posted or what is purged until its batch is durable, so that all of
// these are as the batch assumes. Each commits one bounded batch, so a flush never waits long. It
// is taken before the locks of the set of hours and of the writer.
func (h *Hits) Turn() sync.Locker { return &h.flusher.turn }

// Busy reports whether the roll-up, and what else can wait, must wait.
func (h *Hits) Busy() bool { return h.busy() }

// Mark returns the point that the roll-up has reached.
func (h *Hits) Mark() row.Mark { return h.flusher.mark }

// Hours returns the hours that have, or may have, rows, from one on.
func (h *Hits) Hours(from uint32) []uint32 { return h.hours.from(from) }

// RolledUp returns the number of rows that were rolled up since Open.
func (h *Hits) RolledUp() uint64 { return h.flusher.rolledUp.Load() }

// FirstDay is the first day that is kept.
func (h *Hits) FirstDay() *atomic.Uint32 { return &h.firstDay }

func readMark(r pebble.Reader) (row.Mark, error) {
	v, err := kv.Read(r, row.MetaKey(row.MetaMark))
	if err != nil || v == nil {
		return row.Mark{}, err
	}
	return row.DecodeMark(v)
}

func readSweep(r pebble.Reader) (row.Sweep, error) {
	v, err := kv.Read(r, row.MetaKey(row.MetaSweep))
	if err != nil || v == nil {
		return row.Sweep{Stage: row.StageDone}, err
	}
	return row.DecodeSweep(v)
}

// readKept reads the values that Kept returns.
func (h *Hits) readKept() error {
	v, err := kv.Read(h.db, row.MetaKey(row.MetaFirstHour))
	if err != nil {
		return err
	}
	if v != nil {
		var hour [4]byte
		if err := kv.DecodeFixed(hour[:], v, "first whole hour"); err != nil {
			return err
		}
		h.firstHour.Store(binary.BigEndian.Uint32(hour[:]))
	}
	h.firstDay.Store(h.flusher.sweep.FirstDay)
	return nil
}

// findHours fills the set when the store is opened, by skipping from hour to hour.
func (h *Hits) findHours() error {
	for _, table := range []byte{row.TableLinkHours, row.TableOwnerHours} {
		if err := h.findHoursIn(table); err != nil {
			return fmt.Errorf("finding hours: %w", err)
		}
	}
	return nil
}

func (h *Hits) findHoursIn(table byte) (err error) {
	keys := row.TableRange(table)
	it, err := h.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; {
		if _, err := row.HourSuffix(it.Key()); err != nil {
			return err
		}
		hour := row.HourOf(it.Key())
		h.hours.add(hour)
		valid = it.SeekGE(row.PrefixRange(row.AppendHourPrefix(nil, table, hour)).Upper)
	}
	return it.Error()
}
