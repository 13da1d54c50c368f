package links

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/engine/search"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// indexKeys returns the rows of an owner's links, or of those with a tag, whose ids are below one; 0: all.
func indexKeys(owner uint32, tag string, below uint64) row.Range {
	key := row.AppendByOwnerKey(nil, owner, 0)
	if tag != "" {
		key = row.AppendByTagKey(nil, owner, tag, 0)
	}
	prefix := key[:len(key)-8]
	keys := row.PrefixRange(prefix)
	if below != 0 {
		keys.Lower = binary.BigEndian.AppendUint64(append([]byte(nil), prefix...), ^(below - 1))
	}
	return keys
}

// folderKeys returns the rows of the links in a folder, whose ids are below one; 0: all.
func folderKeys(folder uint32, below uint64) row.Range {
	key := row.AppendByFolderKey(nil, folder, 0)
	keys := row.PrefixRange(key[:len(key)-8])
	if below != 0 {
		keys.Lower = row.AppendByFolderKey(nil, folder, below-1)
	}
	return keys
}

// readIndexRow reads a row of the index by owner, by tag or by folder. e aliases the value.
func readIndexRow(e *engine.LinkEntry, key, value []byte) error {
	if _, id, ok := row.SplitIndexKey(key); ok {
		e.ID = id
		return row.ReadIndexValue(e, value)
	}
	return fmt.Errorf("%w: key of an index", row.ErrCorrupt)
}

// Parts implements engine.Listing. The links of a folder are one part, and those of a range of owners, their rows by
// owner. The rows by tag have the owner before the tag, so there each owner is a part.
func (l *listing) Parts(r engine.ListRange) (parts []engine.Part, err error) {
	ranges := r.Owners
	switch {
	case r.Folder != 0:
		return []engine.Part{&part{listing: l, keys: folderKeys(r.Folder, r.Below), words: r.Words, figures: r.Figures}}, nil
	case len(r.Tag) > engine.MaxTagBytes: // no link has it
		return nil, nil
	case r.AnyOwner:
		ranges = []engine.OwnerRange{engine.AllOwners}
	}
	for _, of := range ranges {
		p := part{listing: l, words: r.Words, figures: r.Figures}
		switch {
		case of.First == of.Last:
			p.keys = indexKeys(of.First, r.Tag, r.Below)
		case r.Tag == "":
			p.keys, p.below = ownerRange(of), r.Below
		default:
			if parts, err = l.tagged(parts, &r, of); err != nil {
				return nil, fmt.Errorf("storage: listing owners of links: %w", err)
			}
			continue
		}
		parts = append(parts, &p)
	}
	return parts, nil
}

// tagged appends a part for each owner in a range.
func (l *listing) tagged(parts []engine.Part, r *engine.ListRange, of engine.OwnerRange) ([]engine.Part, error) {
	owners, err := hits.AppendOwners(nil, l.snapshot, []byte{row.TableByOwner}, of, 0)
	for _, owner := range owners {
		parts = append(parts, &part{listing: l, keys: indexKeys(owner, r.Tag, r.Below), words: r.Words, figures: r.Figures})
	}
	return parts, err
}

// ownerRange returns the rows by owner of a range of owners.
func ownerRange(of engine.OwnerRange) row.Range {
	first, last := row.AppendByOwnerKey(nil, of.First, 0), row.AppendByOwnerKey(nil, of.Last, 0)
	return row.Range{Lower: first[:1+4], Upper: row.PrefixRange(last[:1+4]).Upper}
}

// Owners implements engine.Store.
func (l *Links) Owners(of engine.OwnerRange, user uint32) ([]uint32, error) {
	owners, err := hits.AppendOwners(nil, l.db, []byte{row.TableByOwner}, of, user)
	if err != nil {
		return nil, fmt.Errorf("storage: listing owners of links: %w", err)
	}
	return owners, nil
}

// A part implements engine.Part with an iterator, once it is read.
type part struct {
	*listing
	keys  row.Range // of the rows that were not read yet
	words search.Query
	match search.Matcher // of words, once it is read
	below uint64         // only links with a smaller id; 0: all in the range

	figures bool

	it    *pebble.Iterator
	sums  *pebble.Iterator // of the summaries; nil: they were not asked for
	entry engine.LinkEntry
	key   []byte // of a summary; kept for its memory
	asked []byte // the key of the summary that was looked for last
}

// Read implements engine.Part.
func (p *part) Read(rows int, fn func(*engine.LinkEntry)) (read int, more bool, err error) {
	if read, more, err = p.read(rows, fn); err != nil {
		return 0, false, fmt.Errorf("storage: listing links: %w", err)
	}
	return read, more, nil
}

func (p *part) read(rows int, fn func(*engine.LinkEntry)) (read int, more bool, err error) {
	if p.it == nil {
		p.match = p.words.Matcher()
		if p.it, err = p.snapshot.NewIter(&pebble.IterOptions{LowerBound: p.keys.Lower, UpperBound: p.keys.Upper}); err != nil {
			return 0, false, err
		}
		more = p.it.First()
	} else {
		more = p.it.Valid()
	}
	for ; more && read < rows; read++ {
		if err := p.take(fn); err != nil {
			return 0, false, fmt.Errorf("row %x: %w", p.it.Key(), err)
		}
		more = p.it.Next()
	}
	if more {
		p.keys.Lower = append(p.keys.Lower[:0:0], p.it.Key()...)
	}
	return read, more, p.it.Error()
}

// take calls fn with the entry of the row that the iterator is at. A row by owner or by folder ends with the whole
// text, so one without the words is left out before it is decoded, which takes a third of the time of a search.
func (p *part) take(fn func(*engine.LinkEntry)) error {
	key := p.it.Key()
	value, err := p.it.ValueAndErr()
	if err != nil || key[0] != row.TableByTag && !p.match.Matches(value) {
		return err
	}
	if err = p.readRow(key, value); err == nil && p.figures {
		err = p.readFigures()
	}
	if err == nil && (p.below == 0 || p.entry.ID < p.below) {
		fn(&p.entry)
	}
	return err
}

func (p *part) readRow(key, value []byte) error {
	if err := readIndexRow(&p.entry, key, value); err != nil || p.words.Empty() || !p.entry.TextByOwner {
		return err
	}
	whole, err := kv.Read(p.snapshot, row.AppendByOwnerKey(nil, binary.BigEndian.Uint32(key[1:]), p.entry.ID))
	if err == nil && whole == nil {
		err = fmt.Errorf("%w: there is no row by owner", row.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	return row.ReadIndexValue(&p.entry, whole)
}

// Split implements engine.Part.
func (p *part) Split(n int) ([]engine.Part, error) {
	ranges, err := kv.CutRange(p.snapshot, p.keys, n)
	if err != nil {
		return nil, fmt.Errorf("storage: splitting rows of links: %w", err)
	}
	parts := make([]engine.Part, len(ranges))
	for i, keys := range ranges {
		parts[i] = &part{listing: p.listing, keys: keys, words: p.words, figures: p.figures, below: p.below}
	}
	return parts, nil
}

// Close implements engine.Part.
func (p *part) Close() error {
	var errs []error
	for _, it := range []*pebble.Iterator{p.it, p.sums} {
		if it != nil {
			errs = append(errs, it.Close())
		}
	}
	p.it, p.sums = nil, nil
	return errors.Join(errs...)
}

// summarySteps is how many summaries are stepped over before they are skipped: about what a seek costs.
const summarySteps = 8

// readFigures reads the summary of the entry. Summaries are in the order of the rows of an owner, so that both are read
// side by side.
func (p *part) readFigures() (err error) {
	if p.sums == nil {
		keys := row.TableRange(row.TableSummaries)
		if p.sums, err = p.snapshot.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper}); err != nil {
			return err
		}
	}
	p.key = row.AppendSummaryKey(p.key[:0], p.entry.ID)
	if !p.seekSummary() {
		p.entry.Visitors, p.entry.LastHitHour = 0, 0
		return p.sums.Error()
	}
	value, err := p.sums.ValueAndErr()
	if err != nil {
		return err
	}
	s, err := row.DecodeSummary(value)
	p.entry.Visitors, p.entry.LastHitHour = s.Visitors, s.LastHour
	return err
}

// seekSummary goes to the summary under key, or to the one after it, and reports whether there is one under key. The
// iterator is at the first summary that is not before the last key, so none is between that and the next.
func (p *part) seekSummary() (found bool) {
	ascends := len(p.asked) > 0 && bytes.Compare(p.asked, p.key) <= 0
	p.asked = append(p.asked[:0], p.key...)
	for range summarySteps {
		if !ascends {
			break
		}
		order := 1
		if p.sums.Valid() {
			order = bytes.Compare(p.sums.Key(), p.key)
		}
		if order >= 0 {
			return order == 0
		}
		p.sums.Next()
	}
	return p.sums.SeekGE(p.key) && bytes.Equal(p.sums.Key(), p.key)
}

// SummedVisitors implements engine.Listing.
func (l *listing) SummedVisitors(id uint64) (uint64, error) {
	v, err := kv.Read(l.snapshot, row.AppendSummaryKey(nil, id))
	if err != nil || v == nil {
		return 0, err
	}
	s, err := row.DecodeSummary(v)
	if err != nil {
		return 0, fmt.Errorf("storage: summary of link %d: %w", id, err)
	}
	return s.Visitors, nil
}

// FiguresAsOf implements engine.Listing.
func (l *listing) FiguresAsOf() (hour uint32, err error) {
	hour, open, err := hits.SummarisedTo(l.snapshot)
	if err != nil {
		return 0, fmt.Errorf("storage: reading how far links are summarised: %w", err)
	}
	if !open {
		return math.MaxUint32, nil
	}
	return hour, nil
}
