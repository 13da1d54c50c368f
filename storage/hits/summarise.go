package hits

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/kv"
	"shunt/storage/row"
)

const (
	// A chunk of roll-up, or of summaries, ends after chunkRows rows, or when its batch reaches chunkBytes: dense
	// rows take 16 KB.
	chunkRows  = 4096
	chunkBytes = 4 << 20
)

// summarise makes the summaries of links that are due, in the order of hours: one chunk, which ends after chunkRows
// rows or when it has read chunkBytes of lives. Its batch removes what it has done, so a crash between chunks loses
// nothing.
func (h *Hits) summarise() (more bool, err error) {
	b := h.db.NewBatch()
	defer b.Close()
	first, end, more, err := h.summariseRows(b)
	if err != nil || first == nil {
		return false, err
	}
	kv.Must(b.DeleteRange(first, end, nil)) // one, since a tombstone for each row would be stepped over by each chunk
	return more, h.writer.Sync(b, "committing a chunk")
}

// summariseRows puts the summaries of a chunk into b. It returns the first key of the chunk, and the one where it ends.
func (h *Hits) summariseRows(b *pebble.Batch) (first, end []byte, more bool, err error) {
	keys := row.TableRange(row.TableSummariesDue)
	it, err := h.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return nil, nil, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	read, last := 0, map[uint64]row.Summary{} // of this chunk: a link may be due for several hours
	valid := it.First()
	for rows := 0; valid && rows < chunkRows && read < chunkBytes; rows++ {
		if rows == 0 {
			first = bytes.Clone(it.Key())
		}
		end = append(append(end[:0], it.Key()...), 0)
		hour, id, err := row.SplitSummaryDueKey(it.Key())
		if err != nil {
			return nil, nil, false, err
		}
		n, err := h.summariseLink(b, id, hour, last)
		if err != nil {
			return nil, nil, false, fmt.Errorf("link %d: %w", id, err)
		}
		read += n
		valid = it.Next()
	}
	return first, end, valid, it.Error()
}

// summariseLink puts the summary of a link into b, and returns how many bytes its life has. A link without a life is
// purged, and so has no summary.
func (h *Hits) summariseLink(b *pebble.Batch, id uint64, hour uint32, made map[uint64]row.Summary) (read int, err error) {
	s, again := made[id]
	key := row.AppendSummaryKey(nil, id)
	if !again {
		life, err := kv.Read(h.db, row.AppendLinkLifeKey(nil, id))
		if err != nil {
			return 0, err
		}
		if read = len(life); life == nil {
			kv.Remove(b, key)
			return 0, nil
		}
		if s, err = h.readSummary(key); err != nil {
			return 0, err
		}
		if _, s.Visitors, err = row.CountVisitors(life); err != nil {
			return 0, err
		}
	}
	s.LastHour = max(s.LastHour, hour)
	made[id] = s
	kv.Set(b, key, row.AppendSummary(nil, s))
	return read, nil
}

// readSummary returns the summary under a key; the zero value if there is none.
func (h *Hits) readSummary(key []byte) (row.Summary, error) {
	v, err := kv.Read(h.db, key)
	if err != nil || v == nil {
		return row.Summary{}, err
	}
	return row.DecodeSummary(v)
}

// SummarisedTo returns the first hour that may have hits which are in no summary yet; ok is false if there is none.
func SummarisedTo(r pebble.Reader) (hour uint32, ok bool, err error) {
	m, err := readMark(r)
	if err != nil {
		return 0, false, err
	}
	due, late, err := firstHour(r, row.TableRange(row.TableSummariesDue))
	if err != nil {
		return 0, false, err
	}
	open, ok, err := firstOpenHour(r, &m)
	switch {
	case err != nil:
		return 0, false, err
	case late && ok:
		return min(due, open), true, nil
	case late:
		return due, true, nil
	}
	return open, ok, nil
}

// firstOpenHour returns the first hour with rows of links that the roll-up has not passed.
func firstOpenHour(r pebble.Reader, m *row.Mark) (hour uint32, ok bool, err error) {
	keys := row.TableRange(row.TableLinkHours)
	keys.Lower = row.AppendLinkHourKey(nil, m.Hour, m.Next)
	if m.Stage != row.StageLinks {
		keys.Lower = row.AppendLinkHourKey(nil, m.Hour+1, 0)
	}
	for {
		if hour, ok, err = firstHour(r, keys); !ok || err != nil || !m.Passed(row.StageLinks, hour, m.Next) {
			return hour, ok, err
		}
		keys.Lower = row.AppendLinkHourKey(nil, hour+1, 0) // of a clock that was ahead
	}
}

// firstHour returns the hour of the first key of a range, whose keys begin with hours.
func firstHour(r pebble.Reader, keys row.Range) (hour uint32, ok bool, err error) {
	err = kv.Each(r, keys, func(key, _ []byte) (bool, error) {
		if len(key) < 1+4 {
			return false, fmt.Errorf("%w: key %x in a table of hours", row.ErrCorrupt, key)
		}
		hour, ok = row.HourOf(key), true
		return false, nil
	})
	return hour, ok, err
}
