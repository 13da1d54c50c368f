package hits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// AppendOwners appends the owners in a range that have rows with a prefix, behind which their keys have the owner, in
// order; with a user, only those of that one. It takes one or two seeks for each owner, or, with a user, for each
// domain.
func AppendOwners(all []uint32, r pebble.Reader, prefix []byte, in engine.OwnerRange, user uint32) (_ []uint32, err error) {
	at := func(owner uint32) []byte { return binary.BigEndian.AppendUint32(slices.Clone(prefix), owner) }
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: at(in.First), UpperBound: row.PrefixRange(at(in.Last)).Upper})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; {
		if len(it.Key()) < len(prefix)+4 {
			return nil, fmt.Errorf("%w: key %x has no owner", row.ErrCorrupt, it.Key())
		}
		owner := binary.BigEndian.Uint32(it.Key()[len(prefix):])
		next := uint64(owner) + 1
		switch has := engine.UserOf(owner); {
		case user == 0 || has == user:
			all = append(all, owner)
		case has < user:
			next = uint64(engine.OwnerIn(engine.DomainOf(owner), user))
		default:
			next = uint64(engine.OwnerIn(engine.DomainOf(owner), user)) + engine.MaxUser + 1
		}
		if next > math.MaxUint32 {
			break
		}
		valid = it.SeekGE(at(uint32(next)))
	}
	return all, it.Error()
}

// TalliedOwners implements engine.Store.
func (h *Hits) TalliedOwners(first, last, user uint32) (all []uint32, err error) {
	snapshot, hours := h.hours.snapshot(h.db)
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	v, err := newView(snapshot, hours)
	if err != nil {
		return nil, fmt.Errorf("storage: owners of figures: %w", err)
	}
	in := engine.OwnerRange{First: first, Last: last}
	prefixes := [][]byte{{row.TableByOwner}, {row.TableOwnerDays}, {row.TableImports}}
	for _, hour := range v.mark.Open(v.hours) {
		prefixes = append(prefixes, binary.BigEndian.AppendUint32([]byte{row.TableOwnerHours}, hour))
	}
	for _, prefix := range prefixes {
		if all, err = AppendOwners(all, snapshot, prefix, in, user); err != nil {
			return nil, fmt.Errorf("storage: owners of figures: %w", err)
		}
	}
	v.sum.Release()
	slices.Sort(all)
	return slices.Compact(all), nil
}
