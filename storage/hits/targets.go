package hits

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// The tallies of the targets of a link are rows like those of links (engine.TargetID). No row lists them: they are
// found by skipping from number to number. That takes a seek or two for each number that any link has, in the lives and
// in each hour that is not rolled up. It is done when somebody asks for the targets of a link, and by a purge.

// targetsOf returns the numbers, ascending, of the targets of a link that have a life, or a row in some of hours.
func targetsOf(r pebble.Reader, link uint64, hours []uint32) (numbers []uint8, err error) {
	it, err := r.NewIter(&pebble.IterOptions{
		LowerBound: row.TableRange(row.TableLinkHours).Lower, UpperBound: row.TableRange(row.TableLinkLives).Upper,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var has [engine.NumTargets]bool
	err = findTargets(&has, it, []byte{row.TableLinkLives}, link)
	for i := 0; i < len(hours) && err == nil; i++ {
		err = findTargets(&has, it, row.AppendHourPrefix(nil, row.TableLinkHours, hours[i]), link)
	}
	for n := range has {
		if has[n] {
			numbers = append(numbers, uint8(n))
		}
	}
	return numbers, err
}

// findTargets sets the numbers of the targets of a link that have rows with a prefix, which is that of an hour or of
// all lives.
func findTargets(has *[engine.NumTargets]bool, it *pebble.Iterator, prefix []byte, link uint64) error {
	for n := 1; n < engine.NumTargets; {
		key := row.AppendSuffix(bytes.Clone(prefix), row.TableLinkHours, engine.TargetID(link, uint8(n)))
		if !it.SeekGE(key) || !bytes.HasPrefix(it.Key(), prefix) {
			break
		}
		id, err := row.LinkOf(it.Key())
		if err != nil {
			return err
		}
		of, number := engine.SplitID(id)
		switch {
		case int(number) > n: // no link has a row with n from this one on
			n = int(number)
		case of == link:
			has[n] = true
			n++
		default:
			n++
		}
	}
	return it.Error()
}

// Targets implements engine.View.
func (v *view) Targets(link uint64) ([]uint8, error) {
	numbers, err := targetsOf(v.snapshot, link, v.mark.Open(v.hours))
	if err != nil {
		return nil, fmt.Errorf("storage: targets of link %d: %w", link, err)
	}
	return numbers, nil
}

// Targets returns the ids of the tallies of the targets of a link, as a purge must find them. Rows of hours that the
// roll-up has passed are deleted with their hour.
func (h *Hits) Targets(link uint64) (ids []uint64, err error) {
	numbers, err := targetsOf(h.db, link, h.hours.from(h.flusher.mark.Hour))
	for _, n := range numbers {
		ids = append(ids, engine.TargetID(link, n))
	}
	return ids, err
}

// RemoveHours adds to b the deletion of the rows of a tally in the hours from the mark on. The caller has the turn.
func (h *Hits) RemoveHours(b *pebble.Batch, id uint64) {
	for _, hour := range h.hours.from(h.flusher.mark.Hour) {
		kv.Remove(b, row.AppendLinkHourKey(nil, hour, id))
	}
}

// RemoveTargets adds to b the deletion of the tallies of the targets of a link. The caller has the turn.
func (h *Hits) RemoveTargets(b *pebble.Batch, link uint64) error {
	ids, err := h.Targets(link)
	for _, id := range ids {
		h.RemoveTally(b, id)
	}
	return err
}

// RemoveTally adds to b the deletion of a tally: its days, its life, and its hours from the mark on. The caller has the
// turn.
func (h *Hits) RemoveTally(b *pebble.Batch, id uint64) {
	days := row.DaysOfLink(id)
	kv.Must(b.DeleteRange(days.Lower, days.Upper, nil))
	kv.Remove(b, row.AppendLinkLifeKey(nil, id))
	h.RemoveHours(b, id)
}
