package links

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// addDeleted writes the rows of a link that is deleted, beside its tombstone.
func (b *Batch) addDeleted(m *engine.Mutation) {
	b.addLeaving(row.HourAt(m.Hot.DeletedAtMs), m.Hot.ID, m.Hot.Key)
	switch {
	case m.Trash == engine.TrashPurged:
		b.removeTrashed(&m.Hot)
		b.addColdNumbers(m.Before)
	case m.Before != nil:
		b.key = row.AppendTrashKey(b.key[:0], m.Hot.Owner, placeOf(&m.Hot))
		b.value = row.AppendTrashed(b.value[:0], &m.Before.Hot)
		kv.Set(b.batch, b.key, b.value)
	}
}

// placeOf returns the place in the trash of the link that has a tombstone.
func placeOf(tombstone *engine.Hot) engine.TrashPlace {
	return engine.TrashPlace{DeletedAtMs: tombstone.DeletedAtMs, ID: tombstone.ID}
}

// removeTrashed takes the link that has a tombstone out of the trash, if it is there.
func (b *Batch) removeTrashed(tombstone *engine.Hot) {
	b.remove(row.AppendTrashKey(b.key[:0], tombstone.Owner, placeOf(tombstone)))
}

// addColdNumbers leaves nothing but numbers of the cold record of a deleted link, if it still has one.
func (b *Batch) addColdNumbers(r *engine.Record) {
	if r.Cold.Code == "" {
		return
	}
	b.key = row.AppendColdKey(b.key[:0], r.Hot.ID)
	b.value = row.AppendColdNumbers(b.value[:0], &r.Cold)
	kv.Set(b.batch, b.key, b.value)
}

// addLeaving writes the row by which a purge finds a link with figures.
func (b *Batch) addLeaving(hour uint32, id uint64, k engine.Key) {
	b.key = row.AppendLeavingKey(b.key[:0], hour, id)
	b.value = row.AppendDeletion(b.value[:0], k, 0)
	kv.Set(b.batch, b.key, b.value)
}

// addDeletion writes the row by which a purge finds a tombstone, and a new link with its code its version.
func (b *Batch) addDeletion(r *engine.Record) {
	b.key = row.AppendByDeletionKey(b.key[:0], row.HourAt(r.Hot.DeletedAtMs), r.Hot.ID)
	b.value = row.AppendDeletion(b.value[:0], r.Hot.Key, r.Cold.Version)
	kv.Set(b.batch, b.key, b.value)
}

// ReadTrashed implements engine.Store.
func (l *Links) ReadTrashed(owner uint32, at engine.TrashPlace) (engine.Record, error) {
	snapshot := l.db.NewSnapshot()
	defer snapshot.Close()
	return readTrashed(snapshot, owner, at)
}

// readTrashed returns what a link in the trash was.
func readTrashed(r pebble.Reader, owner uint32, at engine.TrashPlace) (rec engine.Record, err error) {
	v, err := kv.Read(r, row.AppendTrashKey(nil, owner, at))
	if err == nil && v == nil {
		return rec, engine.ErrNotFound
	}
	if err == nil {
		rec.Hot, err = row.DecodeTrashed(v)
	}
	if err == nil {
		v, err = kv.Read(r, row.AppendColdKey(nil, at.ID))
	}
	if err == nil {
		rec.Cold, err = row.DecodeCold(v)
	}
	if err != nil {
		return engine.Record{}, fmt.Errorf("storage: deleted link %d: %w", at.ID, err)
	}
	return rec, nil
}

// ReadTrashed implements engine.Listing.
func (l *listing) ReadTrashed(owner uint32, at engine.TrashPlace) (engine.Record, error) {
	return readTrashed(l.snapshot, owner, at)
}

// TrashOwners implements engine.Listing.
func (l *listing) TrashOwners(of engine.OwnerRange, user uint32) ([]uint32, error) {
	owners, err := hits.AppendOwners(nil, l.snapshot, []byte{row.TableTrash}, of, user)
	if err != nil {
		return nil, fmt.Errorf("storage: listing owners of deleted links: %w", err)
	}
	return owners, nil
}

// TrashPlaces implements engine.Listing.
func (l *listing) TrashPlaces(owner uint32, after *engine.TrashPlace, fn func(engine.TrashPlace) bool) error {
	if err := l.trashPlaces(owner, after, fn); err != nil {
		return fmt.Errorf("storage: listing deleted links: %w", err)
	}
	return nil
}

func (l *listing) trashPlaces(owner uint32, after *engine.TrashPlace, fn func(engine.TrashPlace) bool) (err error) {
	keys := row.TrashRange(owner, after)
	it, err := l.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		_, at, err := row.SplitTrashKey(it.Key())
		if err != nil {
			return err
		}
		if !fn(at) {
			break
		}
	}
	return it.Error()
}
