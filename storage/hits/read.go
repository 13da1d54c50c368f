package hits

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Positions implements engine.Store. Before the first flush they are zero.
func (h *Hits) Positions() (engine.Positions, error) {
	p, err := ReadPositions(h.db)
	if err != nil {
		return engine.Positions{}, fmt.Errorf("storage: %w", err)
	}
	return p, nil
}

// ReadPositions returns the positions of the journal; before the first flush they are zero.
func ReadPositions(r pebble.Reader) (engine.Positions, error) {
	v, err := kv.Read(r, row.MetaKey(row.MetaPositions))
	if err != nil || v == nil {
		return engine.Positions{}, err
	}
	return row.DecodePositions(v)
}

// Clock implements engine.Store.
func (h *Hits) Clock() (engine.SeenClock, error) {
	v, err := kv.Read(h.db, row.MetaKey(row.MetaClock))
	if err != nil || v == nil {
		return engine.SeenClock{}, err
	}
	c, err := row.DecodeClock(v)
	if err != nil {
		return c, fmt.Errorf("storage: %w", err)
	}
	return c, nil
}

// Kept implements engine.Store.
func (h *Hits) Kept() (firstHour, firstDay uint32) { return h.firstHour.Load(), h.firstDay.Load() }

// LowerKept implements engine.Store.
func (h *Hits) LowerKept(firstHour, firstDay uint32) error {
	h.firstHour.Store(min(h.firstHour.Load(), firstHour))
	h.firstDay.Store(min(h.firstDay.Load(), firstDay))
	if h.reads {
		return nil
	}
	w := h.flusher.sweep
	w.FirstDay = h.firstDay.Load()
	b := h.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaFirstHour), binary.BigEndian.AppendUint32(nil, h.firstHour.Load()))
	kv.Set(b, row.MetaKey(row.MetaSweep), row.AppendSweep(nil, w))
	if err := h.writer.Sync(b, "noting what is kept"); err != nil {
		return err
	}
	h.flusher.sweep = w
	return nil
}

// RollUpWaits returns the end of the oldest hour that has rows which are not rolled up; zero if none has.
func (h *Hits) RollUpWaits() time.Time {
	hour, waits := h.hours.first(h.flusher.markHour.Load())
	if !waits {
		return time.Time{}
	}
	return time.Unix((int64(hour)+1)*int64(time.Hour/time.Second), 0)
}

// ReadImported implements engine.Store.
func (h *Hits) ReadImported(owner, fromHour uint32) (sum uint64, err error) {
	keys := row.Range{Lower: row.AppendImportKey(nil, owner, fromHour), Upper: append(row.AppendImportKey(nil, owner, math.MaxUint32), 0)}
	err = kv.Each(h.db, keys, func(_, value []byte) (bool, error) {
		more, err := row.DecodeTallyHits(value)
		sum += min(more, math.MaxUint64-sum)
		return true, err
	})
	if err != nil {
		return 0, fmt.Errorf("storage: imports of owner %d: %w", owner, err)
	}
	return sum, nil
}

// HasImports implements engine.Store. There is a row for each owner and hour with imports, and the hour of one whose
// time is not known is 0.
func (h *Hits) HasImports(fromHour uint32) (has bool, err error) {
	err = kv.Each(h.db, row.TableRange(row.TableImports), func(key, _ []byte) (bool, error) {
		_, hour, err := row.SplitImportKey(key)
		has = hour >= fromHour || hour == 0
		return !has, err
	})
	if err != nil {
		return false, fmt.Errorf("storage: reading when links were imported: %w", err)
	}
	return has, nil
}
