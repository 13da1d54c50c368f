package hits

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

const (
	// Ids are read in blocks. A row can have 80 KB, so blocks begin small, and grow as long as the
	// kept parts of a block stay small.
	minHourBlock    = 16
	maxHourBlock    = 1024
	smallBlockBytes = 1 << 20
	largeBlockBytes = 8 << 20

	// For at least this many ids, an iterator reads the rows in order. For fewer, each row is read
	// by a Get, which usually learns from a Bloom filter that there is none.
	hourIteratorIDs = 16
)

// hourReader reads the hour rows of many ids. The rows of one hour are next to each other, ordered
// by id; the rows of one id are far apart. So it reads a block of ids at once, hour by hour and in
// the order of ids, and keeps the wanted parts of the rows that it finds. Reading 10,000 links over
// 48 hours link by link took 65 times as long (34 s), since each row is in another block of a
// table.
type hourReader struct {
	view     *view
	wanted   engine.Parts
	hours    []uint32         // those that any span wants
	it       *pebble.Iterator // nil: few ids
	key      []byte
	strip    row.Sum
	block    int // ids of the last block
	order    []int
	rows     []hourRow // by (i, hour)
	contents []byte
}

// hourRow is a row of the block: contents[from:to].
type hourRow struct {
	i        int // index of the id in the block
	hour     uint32
	from, to int
}

func (v *view) openHours(ids int, plans []spanPlan, wanted engine.Parts) (*hourReader, error) {
	h := &hourReader{view: v, wanted: wanted}
	for j := range plans {
		h.hours = append(h.hours, plans[j].hours...)
	}
	slices.Sort(h.hours)
	h.hours = slices.Compact(h.hours)
	if ids < hourIteratorIDs || len(h.hours) == 0 {
		return h, nil
	}
	keys := row.TableRange(row.TableLinkHours)
	it, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	h.it = it
	return h, err
}

func (h *hourReader) close() error {
	if h.it == nil {
		return nil
	}
	return h.it.Close()
}

// blockSize returns the number of ids of the next block: more if little of the last block was kept,
// fewer if much was.
func (h *hourReader) blockSize() int {
	switch kept := len(h.contents); {
	case h.block == 0:
		h.block = minHourBlock
	case kept > largeBlockBytes:
		h.block = max(1, h.block/4)
	case kept < smallBlockBytes:
		h.block = min(maxHourBlock, 4*h.block)
	}
	return h.block
}

// load reads the rows of a block of ids.
func (h *hourReader) load(ids []uint64) error {
	h.rows, h.contents, h.order = h.rows[:0], h.contents[:0], h.order[:0]
	for i := range ids {
		h.order = append(h.order, i)
	}
	slices.SortFunc(h.order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	for _, hour := range h.hours {
		if err := h.loadHour(hour, ids); err != nil {
			return fmt.Errorf("hour %d: %w", hour, err)
		}
	}
	slices.SortFunc(h.rows, func(a, b hourRow) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.hour, b.hour)) })
	return nil
}

func (h *hourReader) loadHour(hour uint32, ids []uint64) error {
	if h.it == nil {
		for _, i := range h.order {
			h.key = row.AppendLinkHourKey(h.key[:0], hour, ids[i])
			if err := h.get(hour, i); err != nil {
				return err
			}
		}
		return nil
	}
	bounds := row.PrefixRange(row.AppendHourPrefix(nil, row.TableLinkHours, hour))
	h.it.SetBounds(bounds.Lower, bounds.Upper)
	sought, valid := false, false
	for _, i := range h.order {
		h.key = row.AppendLinkHourKey(h.key[:0], hour, ids[i])
		if sought && !valid {
			break
		}
		if !sought || bytes.Compare(h.it.Key(), h.key) < 0 {
			sought, valid = true, h.it.SeekGE(h.key)
		}
		if !valid || !bytes.Equal(h.it.Key(), h.key) {
			continue
		}
		value, err := h.it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := h.keep(hour, i, value); err != nil {
			return err
		}
	}
	return h.it.Error()
}

// get reads the row of h.key, if it exists.
func (h *hourReader) get(hour uint32, i int) error {
	value, closer, err := h.view.snapshot.Get(h.key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(h.keep(hour, i, value), closer.Close())
}

// keep copies the wanted parts of a row into the block.
func (h *hourReader) keep(hour uint32, i int, value []byte) error {
	from := len(h.contents)
	if h.wanted == row.AllParts {
		h.contents = append(h.contents, value...)
	} else {
		h.strip.Reset()
		if err := h.strip.Add(value, h.wanted); err != nil {
			return fmt.Errorf("row %x: %w", h.key, err)
		}
		h.contents = h.strip.AppendRow(h.contents)
	}
	h.rows = append(h.rows, hourRow{i: i, hour: hour, from: from, to: len(h.contents)})
	return nil
}

// add adds the rows that p asks for of an id, which is number i of the block.
func (h *hourReader) add(sum *row.Sum, i int, id uint64, p *spanPlan) error {
	if len(p.hours) == 0 {
		return nil
	}
	first, last := p.hours[0], p.hours[len(p.hours)-1]
	at, _ := slices.BinarySearchFunc(h.rows, hourRow{i: i, hour: first}, func(a, b hourRow) int {
		return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.hour, b.hour))
	})
	for ; at < len(h.rows) && h.rows[at].i == i && h.rows[at].hour <= last; at++ {
		found := &h.rows[at]
		if p.open && h.view.mark.Passed(row.StageLinks, found.hour, id) {
			continue
		}
		if err := sum.Add(h.contents[found.from:found.to], h.wanted); err != nil {
			return fmt.Errorf("row of hour %d: %w", found.hour, err)
		}
	}
	return nil
}
