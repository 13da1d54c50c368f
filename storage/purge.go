package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// maxDaysByKey is the largest number of day rows of a purged link that are deleted by their keys.
// More than that are deleted by one range deletion, which every reader must consider until it is
// compacted (see sweepChunk); few links have that many.
const maxDaysByKey = 64

func (b *mutationBatch) addDeletion(hour uint32, id uint64, code string) {
	b.key = row.AppendByDeletionKey(b.key[:0], hour, id)
	b.value = row.AppendDeletion(b.value[:0], code)
	kv.Set(b.batch, b.key, b.value)
}

// Deletions implements engine.Store.
func (s *Store) Deletions(fromHour uint32, fromID uint64, beforeHour uint32, limit int) ([]engine.Deletion, error) {
	found, err := s.deletions(fromHour, fromID, beforeHour, limit)
	if err != nil {
		return nil, fmt.Errorf("storage: reading the index by deletion: %w", err)
	}
	return found, nil
}

func (s *Store) deletions(fromHour uint32, fromID uint64, beforeHour uint32, limit int) (found []engine.Deletion, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: row.AppendByDeletionKey(nil, fromHour, fromID), UpperBound: row.AppendByDeletionKey(nil, beforeHour, 0),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid && len(found) < limit; valid = it.Next() {
		d, err := decodeDeletionRow(it)
		if err != nil {
			return nil, err
		}
		found = append(found, d)
	}
	return found, it.Error()
}

func decodeDeletionRow(it *pebble.Iterator) (engine.Deletion, error) {
	hour, id, err := row.SplitByDeletionKey(it.Key())
	if err != nil {
		return engine.Deletion{}, err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return engine.Deletion{}, err
	}
	code, err := row.DecodeDeletion(value)
	if err != nil {
		return engine.Deletion{}, fmt.Errorf("row %x: %w", it.Key(), err)
	}
	return engine.Deletion{Hour: hour, ID: id, Code: code}, nil
}

// purgedRows are the rows of a purged link that only a read finds. The flush goroutine reads them:
// it alone writes such rows, and it does nothing else until the purge is committed. In a cluster nobody
// reads them: see rowsToPurge.
type purgedRows struct {
	days     []uint32
	manyDays bool     // there are more than days holds
	hours    []uint32 // those from the mark on: a row in one that is open would create day and life rows again
}

func (s *Store) rowsToPurge(id uint64) (_ *purgedRows, err error) {
	if s.shared.exists {
		return &purgedRows{manyDays: true}, nil // each node has other rows, and finds those of hours itself
	}
	p := &purgedRows{hours: s.hours.from(s.flusher.mark.Hour)}
	keys := row.DaysOfLink(id)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		if len(p.days) == maxDaysByKey {
			p.manyDays = true
			break
		}
		day, err := row.DayOf(it.Key())
		if err != nil {
			return nil, err
		}
		p.days = append(p.days, day)
	}
	return p, it.Error()
}

func (b *mutationBatch) addQueued(q *queued) {
	switch {
	case q.bulk != nil:
		b.addBulk(q.bulk)
	case q.m.Purge != nil:
		b.writeCreations()
		b.purge(q.m.Purge, q.purged)
	case q.m.Hot.Code == "":
		b.writeCreations()
		b.addCap(q.m.Cap)
	default:
		b.add(&q.m)
	}
}

// purge removes every row of a deleted link, except hour rows that roll-up has passed: without a
// code they are not read, and they are deleted with their hour. The owner's rows keep the link's
// hits for good.
func (b *mutationBatch) purge(p *engine.Purge, rows *purgedRows) {
	if p.FreesCode {
		b.remove(row.AppendHotKey(b.key[:0], p.Code))
	}
	b.remove(row.AppendColdKey(b.key[:0], p.ID))
	b.remove(row.AppendLinkLifeKey(b.key[:0], p.ID))
	b.remove(row.AppendCapKey(b.key[:0], p.ID))
	if rows.manyDays {
		keys := row.DaysOfLink(p.ID)
		kv.Must(b.batch.DeleteRange(keys.Lower, keys.Upper, nil))
	} else {
		for _, day := range rows.days {
			b.remove(row.AppendLinkDayKey(b.key[:0], p.ID, day))
		}
	}
	for _, hour := range rows.hours {
		b.remove(row.AppendLinkHourKey(b.key[:0], hour, p.ID))
	}
	b.remove(row.AppendByDeletionKey(b.key[:0], p.Hour, p.ID))
}

// remove deletes a row whose key was made in b.key.
func (b *mutationBatch) remove(key []byte) {
	b.key = key
	kv.Remove(b.batch, key)
}
