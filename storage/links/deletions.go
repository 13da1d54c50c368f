package links

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// Deletions implements engine.Store.
func (l *Links) Deletions(figures bool, fromHour uint32, fromID uint64, beforeHour uint32, limit int) ([]engine.Deletion, error) {
	key := row.AppendByDeletionKey
	if figures {
		key = row.AppendLeavingKey
	}
	found, err := l.deletions(row.Range{Lower: key(nil, fromHour, fromID), Upper: key(nil, beforeHour, 0)}, limit)
	if err != nil {
		return nil, fmt.Errorf("storage: reading the index by deletion: %w", err)
	}
	return found, nil
}

func (l *Links) deletions(keys row.Range, limit int) (found []engine.Deletion, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
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
	key, _, err := row.DecodeDeletion(value)
	if err != nil {
		return engine.Deletion{}, fmt.Errorf("row %x: %w", it.Key(), err)
	}
	return engine.Deletion{Hour: hour, ID: id, Key: key}, nil
}

func (l *Links) rowsToPurge(id uint64) (*purgedRows, error) {
	if l.clustered { // each node has other rows, and finds those of hours and of targets itself
		return &purgedRows{tallies: []purgedTally{{id: id, manyDays: true}}}, nil
	}
	targets, err := l.hits.Targets(id)
	if err != nil {
		return nil, err
	}
	p := &purgedRows{hours: l.hits.Hours(l.hits.Mark().Hour)}
	for _, id := range append([]uint64{id}, targets...) {
		t, err := l.tallyToPurge(id)
		if err != nil {
			return nil, err
		}
		p.tallies = append(p.tallies, t)
	}
	return p, nil
}

// tallyToPurge returns the days of a tally.
func (l *Links) tallyToPurge(id uint64) (t purgedTally, err error) {
	t.id = id
	keys := row.DaysOfLink(id)
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		if len(t.days) == MaxDaysByKey {
			t.manyDays = true
			break
		}
		day, err := row.DayOf(it.Key())
		if err != nil {
			return t, err
		}
		t.days = append(t.days, day)
	}
	return t, it.Error()
}
