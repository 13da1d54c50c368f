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
