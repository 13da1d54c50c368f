package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"shunt/engine/extras"
	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/cores"
	"shunt/engine/internal/errs"
	"shunt/engine/search"
)

const (
	// searchRows is how many rows each core reads in a turn: about a millisecond. Whichever core is done with
	// searchChunk of them takes the next, so that none waits long for another at the end of the turn.
	searchRows  = 8192
	searchChunk = 1024

	// rememberedShare is the part of all links whose rows are read before memory is asked instead, where memory can
	// answer: a row takes about three times as long as a link in memory, but memory has each link of all owners. How
	// many an owner has is not known. For one who has most this takes half of the time. For one of an eighth it takes
	// 3.7 times as long, but no longer than for the others.
	rememberedShare = 8

	// searchParts is into how many parts the rest of a part is split for each core, when few are left.
	searchParts = 4

	// The cores read up to searchWindow parts each in a turn. Each read costs as much as partRows rows, even if there
	// are none.
	searchWindow = 64
	partRows     = 32
)

// A searching is a search under way. Its parts are in the order of the rows.
type searching struct {
	*LinkList
	q     *LinkQuery
	first []Record      // that come before all others: see LinkQuery.Code
	shown int           // of them, on pages before
	after *search.Place // the others are behind it; nil: from the beginning
	parts []*searched   // those that were not passed
	limit int           // of the places that are looked for
	best  *search.Best  // of the parts that were passed
	found uint64        // links in them

	rows       int  // that were read
	remembered bool // the parts are links in memory, in no order
}

// searched is a part of the rows, and what was found in those that were read.
type searched struct {
	Part
	best        *search.Best // nil: nothing was found
	found       uint64
	rows        int // that were read
	begun, done bool
}

// search returns a page of q, whatever it asks for. It reads the rows of the links, or the links in memory, on all
// cores, within turns.
func (l *LinkList) search(ctx context.Context, q *LinkQuery, turn func(step func() error) error) (page LinkPage, err error) {
	s := searching{LinkList: l, q: q, limit: q.Limit}
	if err := s.find(ctx, turn); err != nil {
		return LinkPage{}, err
	}
	page, err = s.page(ctx, turn)
	if err == nil && (q.byFigures() || q.Summed) {
		page.AsOfHour, err = s.asOf()
	}
	return page, err
}

// find finds the places of the links.
func (s *searching) find(ctx context.Context, turn func(step func() error) error) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := turn(func() error { return s.begin(ctx) }); err != nil {
		return err
	}
	for !s.enough() {
		if err := turn(s.step); err != nil {
			return fmt.Errorf("searching links: %w", err)
		}
	}
	return nil
}

// An ahead is what a LinkList has found beyond the page that it has returned.
type ahead struct {
	searching
	places []search.Place // the next ones
	more   bool           // there are others after them
}

// aheadPlaces is how many links Next finds at once. A search of the links of many owners reads the rows of all, so that
// it must not be done for each page. They take 64 KiB.
const aheadPlaces = 4096

// Next returns the next page of a q that may ask for anything but Total, and is the same in each call up to its After.
// It is read in steps, each within a call of turn.
func (l *LinkList) Next(ctx context.Context, q LinkQuery, turn func(step func() error) error) (page LinkPage, err error) {
	var first []Record
	if l.ahead == nil || len(l.ahead.places) == 0 {
		wide := q
		wide.Limit = aheadPlaces
		found := &ahead{searching: searching{LinkList: l, q: &wide, limit: aheadPlaces}}
		if err := found.find(ctx, turn); err != nil {
			return LinkPage{}, err
		}
		if found.places, found.more = found.best.Places(); q.After == nil {
			first = found.first
		}
		l.ahead = found
	}
	s := l.ahead
	for left := q.Limit; ; first = nil {
		some := s.places[:min(len(s.places), left, listStepLinks)]
		if err := turn(func() error { return s.append(ctx, &page, first, some) }); err != nil {
			return LinkPage{}, err
		}
		left, s.places = left-len(some), s.places[len(some):]
		if left == 0 || len(s.places) == 0 || page.sizeBytes >= maxListBytes {
			if len(s.places) == 0 && !s.more {
				page.Next = nil
			}
			return page, nil
		}
	}
}

// append adds the links of records, and then those of places, to a page.
func (s *searching) append(ctx context.Context, page *LinkPage, records []Record, places []search.Place) (err error) {
	for i := range places {
		page.Next = &places[i]
		if records, err = s.readPlace(records, places[i]); err != nil {
			return err
		}
	}
	part, err := s.details(ctx, records, s.q)
	page.Links, page.sizeBytes = append(page.Links, part.Links...), page.sizeBytes+part.sizeBytes
	return err
}

// asOf returns the hour before which all hits are in the figures that the store has summed up, at most the present one:
// hits of hours that are over are not there while flushes fail.
func (l *LinkList) asOf() (uint32, error) {
	hour, err := l.listing.FiguresAsOf()
	if err != nil {
		return 0, fmt.Errorf("listing links: %w", err)
	}
	return min(hour, l.pendingSince, clock.HourOf(l.links.now())), nil
}

// begin reads the links that come first, and finds the rows of all others.
func (s *searching) begin(ctx context.Context) error {
	q := s.q
	if q.Select != nil || q.WantHits != nil || q.Order == ByHits {
		if err := s.links.hits.FoldNow(ctx); err != nil {
			return err
		}
	}
	if err := s.readFirst(); err != nil {
		return err
	}
	s.resume()
	s.best = search.NewBest(s.limit, nil)
	if q.AnyOwner && q.remembered() {
		return s.remember()
	}
	r := q.ListRange
	r.Figures = q.byFigures()
	if s.after != nil && q.Order == ByID && !q.Ascending && !q.Total {
		r.Below = s.after.ID
	}
	parts, err := s.listing.Parts(r)
	s.add(0, parts)
	return err
}

// maxFirst bounds the links that come first; others of the same code stay in their places.
const maxFirst = 64

// firstKey is the Key of the place behind links that came first, whose number is its ID. No link has such a place: none
// has so great a key, and with the complement of one no small ID.
const firstKey = math.MaxUint64

// resume finds where the page begins.
func (s *searching) resume() {
	switch s.after = s.q.After; {
	case s.after == nil:
	case s.after.Key == firstKey && s.after.ID <= maxFirst:
		s.shown, s.after = min(int(s.after.ID), len(s.first)), nil
	default:
		s.shown = len(s.first)
	}
	s.limit = max(0, s.q.Limit-(len(s.first)-s.shown))
}

// readFirst reads the links whose code is the one that was asked for; if there are none, those that alone in their
// domain differ from it by case.
func (s *searching) readFirst() error {
	in := s.q.CodeIn
	if in == nil {
		in = []index.Domain{s.q.Code.Domain}
	}
	var exact, variants []Record
	for _, d := range in {
		same, others, err := s.readCode(index.Key{Domain: d, Code: s.q.Code.Code})
		if err != nil {
			return err
		}
		if exact = append(exact, same...); len(others) == 1 {
			variants = append(variants, others...)
		}
	}
	if s.first = exact; len(exact) == 0 {
		s.first = variants
	}
	s.first = s.first[:min(len(s.first), maxFirst)]
	return nil
}

// readCode reads the links of a domain that are asked for and whose code is that of k, or differs from it by case.
func (s *searching) readCode(k index.Key) (same, others []Record, err error) {
	if !k.View().Valid() {
		return nil, nil, nil
	}
	var keys []index.Key
	s.links.index.Variants(k, func(v index.HotView) { keys = append(keys, v.Own()) })
	for _, of := range keys {
		rec, err := s.listing.ReadRecord(of)
		switch entry := entryOf(&rec); {
		case errors.Is(err, errs.ErrNotFound): // it was made after the list was opened
		case err != nil:
			return nil, nil, err
		case !s.inRange(&rec) || !s.wants(&entry):
		case of == k:
			same = append(same, rec)
		default:
			others = append(others, rec)
		}
	}
	return same, others, nil
}

// inRange reports whether a link that was found by its code is one of those that are asked for.
func (s *searching) inRange(r *Record) bool {
	q := s.q
	return r.Hot.Flags&index.FlagTombstone == 0 && q.has(r.Hot.Owner) && (q.Folder == 0 || r.Cold.Folder == q.Folder) && (q.Tag == "" || HasTag(r.Cold.Tags, q.Tag))
}

// entryOf returns the entry of a record, without its text.
func entryOf(r *Record) LinkEntry {
	return LinkEntry{
		KeyView: r.Hot.View(), ID: r.Hot.ID, Flags: r.Hot.Flags, CreatedAtMs: r.Cold.CreatedAtMs, UpdatedAtMs: r.Cold.UpdatedAtMs,
		ExpiresAtMs: r.Hot.ExpiresAtMs, StartsAtMs: r.Hot.StartsAtMs(),
	}
}

// add puts parts into the list, before the part at i.
func (s *searching) add(i int, parts []Part) {
	room, added := make([]searched, len(parts)), make([]*searched, len(parts))
	for n, p := range parts {
		room[n].Part, added[n] = p, &room[n]
	}
	s.parts = slices.Insert(s.parts, i, added...)
}

// enough reports whether the page is found: all rows were read, or enough of the newest.
func (s *searching) enough() bool { return len(s.parts) == 0 || s.isPage(s.found) }

// isPage reports whether the page is among the links that were found in the first rows.
func (s *searching) isPage(found uint64) bool {
	_, one := s.q.one() // whose rows are newest first
	newestFirst := (one || s.q.Folder != 0) && s.q.Order == ByID && !s.q.Ascending && !s.q.Total
	return newestFirst && !s.remembered && found > uint64(s.limit)
}

// foundFirst returns how many links were found before the first row that was not read.
func (s *searching) foundFirst() uint64 {
	found := s.found
	for _, p := range s.parts {
		if found += p.found; !p.done {
			break
		}
	}
	return found
}

// step reads some rows of the first parts, on all cores, and splits the parts that were read if few are left.
func (s *searching) step() error {
	workers := cores.Usable() // and no more: others need the spare ones of GOMAXPROCS meanwhile
	var window []*searched    // the first parts that have rows
	for _, p := range s.parts {
		if !p.done && len(window) < searchWindow*workers {
			window = append(window, p)
		}
	}
	var g errgroup.Group
	var next, left atomic.Int64
	workers = min(workers, len(window))
	left.Store(int64(searchRows * workers))
	for range workers {
		g.Go(func() error { return s.readSome(window, &next, &left) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if !s.remembered && s.q.remembered() && s.readEnough() && !s.isPage(s.foundFirst()) {
		return s.remember()
	}
	return errors.Join(s.splitSome(window), s.pass())
}

// readSome reads parts of the window, the next each time, until no rows are left to be read in this turn.
func (s *searching) readSome(window []*searched, next, left *atomic.Int64) (err error) {
	defer func() {
		if r := recover(); r != nil { // in a goroutine it would end the program
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	var p *searched
	take := func(e *LinkEntry) { s.take(p, e) }
	for i := next.Add(1) - 1; i < int64(len(window)); i = next.Add(1) - 1 {
		for p = window[i]; !p.done; {
			if left.Load() <= 0 {
				return nil
			}
			read, more, err := p.Read(searchChunk, take)
			if p.begun, p.done = true, !more; err != nil {
				return err
			}
			p.rows += read
			left.Add(-int64(partRows + read))
		}
	}
	return nil
}

// splitSome splits the parts of the window that were read, if few are left.
func (s *searching) splitSome(window []*searched) error {
	n := searchParts * cores.Usable()
	if len(window) >= n {
		return nil
	}
	for _, p := range window {
		if p.begun && !p.done {
			if err := s.split(p, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass takes what was found in the first parts, as far as they are done, and forgets these parts.
func (s *searching) pass() (err error) {
	for len(s.parts) > 0 && s.parts[0].done {
		p := s.parts[0]
		if p.best != nil {
			s.best.AddAll(p.best)
		}
		s.found, s.rows = s.found+p.found, s.rows+p.rows
		err = errors.Join(err, p.Close())
		s.parts = s.parts[1:]
	}
	return err
}

// split replaces the rest of a part by about n.
func (s *searching) split(p *searched, n int) error {
	rest, err := p.Split(n)
	if err != nil {
		return err
	}
	p.done = true
	s.add(slices.Index(s.parts, p)+1, rest)
	return p.Close()
}

// take counts the link of a row if it is wanted.
func (s *searching) take(p *searched, e *LinkEntry) {
	if s.q.Folder != 0 && !s.q.mayHave(e.Domain) { // its rows are of all owners
		return
	}
	if !s.q.Words.Matches(e.Text) || !s.wants(e) || s.isFirst(e.ID) {
		return
	}
	p.found++
	if s.limit == 0 {
		return
	}
	if p.best == nil {
		p.best = search.NewBest(s.limit, s.after)
	}
	p.best.Add(s.placeOf(e))
}

// isFirst reports whether a link is one of those that come first.
func (s *searching) isFirst(id uint64) bool {
	return len(s.first) > 0 && slices.ContainsFunc(s.first, func(r Record) bool { return r.Hot.ID == id })
}

// wants reports whether q asks for a link that has the words.
func (s *searching) wants(e *LinkEntry) bool {
	q, choice := s.q, Unsure
	if q.Judge != nil {
		choice = q.Judge(e)
	}
	switch {
	case q.CreatedFromMs != 0 && e.CreatedAtMs < q.CreatedFromMs, q.CreatedBeforeMs != 0 && e.CreatedAtMs >= q.CreatedBeforeMs:
		return false
	case choice == Unwanted, q.WantHits != nil && !q.WantHits(s.links.index.Hits(e.ID)):
		return false
	case choice == Wanted, q.Select == nil:
		return true
	}
	link, ok := e.link, s.remembered
	if !ok {
		link, ok = s.links.Resolve(e.KeyView)
	}
	if !ok || link.ID() != e.ID {
		return false
	}
	defer link.Release()
	return q.Select(link)
}

// placeOf returns the place of a link in the order of q.
func (s *searching) placeOf(e *LinkEntry) search.Place {
	p := search.Place{ID: e.ID}
	switch s.q.Order {
	case ByCreation:
		p.Key = ordered(e.CreatedAtMs)
	case ByUpdate:
		p.Key = ordered(e.UpdatedAtMs)
	case ByHits:
		p.Key = s.links.index.Hits(e.ID)
	case ByVisitors:
		p.Key = e.Visitors
	case ByLastHit:
		p.Key = uint64(e.LastHitHour)
	case ByRelevance:
		p.Key = math.MaxUint8 - uint64(s.q.Words.Rank(e.Text))
	case ByCode:
		var first [8]byte
		copy(first[:], e.Code)
		p.Key = binary.BigEndian.Uint64(first[:])
	}
	if s.q.Ascending {
		return search.Place{Key: ^p.Key, ID: ^p.ID}
	}
	return p
}

// ordered returns a number that has the place of n among unsigned ones.
func ordered(n int64) uint64 { return uint64(n) ^ 1<<63 }

// page reads the links that were found.
func (s *searching) page(ctx context.Context, turn func(step func() error) error) (page LinkPage, err error) {
	places, more := s.best.Places()
	if s.q.Total {
		page.Total = s.found + uint64(len(s.first))
	}
	records := s.first[s.shown:]
	if s.limit == 0 { // they take the whole page
		records = records[:s.q.Limit]
		s.shown += len(records)
		more, page.Next = s.found > 0 || s.shown < len(s.first), &search.Place{Key: firstKey, ID: uint64(s.shown)}
	}
	for at, end := 0, 0; ; records = nil {
		at, end = end, min(len(places), end+listStepLinks)
		if err := turn(func() error { return s.append(ctx, &page, records, places[at:end]) }); err != nil {
			return LinkPage{}, fmt.Errorf("reading links that were found: %w", err)
		}
		if full := page.sizeBytes >= maxListBytes; full || end == len(places) {
			if !more && end == len(places) {
				page.Next = nil
			}
			return page, nil
		}
	}
}

// readPlace appends the record of a place. Of a link that memory has, the record may not be one that is asked for, or
// not be there: it was made, restored or given to somebody else after the list was opened.
func (s *searching) readPlace(records []Record, p search.Place) ([]Record, error) {
	id := p.ID
	if s.q.Ascending {
		id = ^id
	}
	rec, err := s.listing.ReadRecordOf(id)
	if s.remembered && (errors.Is(err, errs.ErrNotFound) || err == nil && !s.inRange(&rec)) {
		return records, nil
	}
	if err != nil {
		return nil, fmt.Errorf("link %d: %w", id, errNotAsListed(err))
	}
	return append(records, rec), nil
}

func (s *searching) close() (err error) {
	for _, p := range s.parts {
		err = errors.Join(err, p.Close())
	}
	return err
}

// remembered reports whether memory alone says which links q asks for, and in which order.
func (q *LinkQuery) remembered() bool {
	return q.Words.Empty() && q.Tag == "" && q.Folder == 0 && q.CreatedFromMs == 0 && q.CreatedBeforeMs == 0 && (q.Order == ByID || q.Order == ByHits)
}

// readEnough reports whether many rows were read and some are left, so that memory is probably faster.
func (s *searching) readEnough() bool {
	rows, all := s.rows, true
	for _, p := range s.parts {
		rows, all = rows+p.rows, all && p.done
	}
	return !all && uint64(rows)*rememberedShare > s.links.index.Figures().Links
}

// remember begins again with the links in memory.
func (s *searching) remember() error {
	err := s.close()
	s.remembered, s.parts, s.found, s.best = true, nil, 0, search.NewBest(s.limit, nil)
	walks := s.links.index.Walks()
	room, parts := make([]remembered, len(walks)), make([]Part, len(walks))
	for i := range walks {
		room[i].walk, room[i].of, parts[i] = walks[i], &s.q.ListRange, &room[i]
	}
	s.add(0, parts)
	return err
}

// remembered implements Part with links in memory. A link that was edited since the list was opened is as it is now.
type remembered struct {
	walk  index.Walk
	of    *ListRange
	entry LinkEntry
}

// Read implements Part.
func (r *remembered) Read(rows int, fn func(*LinkEntry)) (read int, more bool, err error) {
	read, more = r.walk.Read(rows, func(l index.Link) {
		if r.of.has(l.Owner()) {
			r.entry.ID, r.entry.Flags, r.entry.ExpiresAtMs = l.ID(), l.Flags(), l.ExpiresAtMs()
			r.entry.StartsAtMs, r.entry.link = extras.StartsAtMs(l.Extras()), l
			fn(&r.entry)
		}
	})
	return read, more, nil
}

// Split implements Part: a shard has few links.
func (r *remembered) Split(int) ([]Part, error) { return []Part{r}, nil }

// Close implements Part.
func (r *remembered) Close() error { return nil }
