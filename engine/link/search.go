package link

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"

	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
	"shunt/engine/search"
)

// LinkQuery asks for a page of links. Without an order it is that of ids, the newest first: ids never change and are
// never reused, so a list that is read page by page has no link twice, and has every link that existed throughout. Nor
// do times of creation change. In another order a link may change its place between two pages.
type LinkQuery struct {
	ListRange
	After  *search.Place // the Next of the page before; nil: from the beginning
	Limit  int           // 1 to MaxListed
	Unique bool          // whether to read Detail.Unique
	Total  bool          // whether to count the links of all pages

	// Summed asks for Detail.Unique as the store has summed it up, as of LinkPage.AsOfHour: one small row a link.
	// Unique asks for it as of now, which takes the whole life of a link.
	Summed bool

	Order     Order
	Ascending bool // the last one first

	Code index.Key // the link with this code, or else the only one that differs from it by case, comes first in any order; empty: none

	CreatedFromMs, CreatedBeforeMs int64 // only those that were created then; 0: no bound

	// Judge, if set, chooses links by what the store has beside their ids.
	Judge func(*LinkEntry) Choice

	// Select, if set, chooses links of which Judge is unsure, by what memory has of them when the page is read: flags,
	// expiry, cap, hits of a capped link, and target. It must be fast and call
	// nothing that waits. Links that were deleted since the list was opened are not listed. A link
	// may change between the choice and the end of the page, and a record is of the list's moment:
	// so a caller that must be exact checks each Detail again.
	Select func(index.Link) bool

	// WantHits, if set, chooses links by their hits.
	WantHits func(hits uint64) bool

	sizeBytes int // bounds a step; 0: that of a page
}

// A Choice says whether a link is wanted, as far as that is known.
type Choice uint8

const (
	Unsure Choice = iota
	Wanted
	Unwanted
)

// An Order is that of a list, the greatest first.
type Order uint8

const (
	ByID        Order = iota // as they were made or imported
	ByCreation               // by the time of creation, which an import brings along
	ByUpdate                 // by the time of the last edit
	ByHits                   // by the hits of all time
	ByRelevance              // by the field that has the words; see search.Rank
	ByVisitors               // by the visitors of all time, as of LinkPage.AsOfHour
	ByLastHit                // by the hour of the last hit, as of then
)

// plain reports whether q is of the newest links of its range, so that few rows are read.
func (q *LinkQuery) plain() bool {
	return (q.AnyOwner || q.single()) && q.Order == ByID && !q.Ascending && q.Words.Empty() && q.Code.Code == "" && q.Judge == nil && q.Select == nil && q.WantHits == nil &&
		q.CreatedFromMs == 0 && q.CreatedBeforeMs == 0 && !q.Total && !(q.AnyOwner && q.Tag != "")
}

// byFigures reports whether the order is one of figures that the store keeps for each link.
func (q *LinkQuery) byFigures() bool { return q.Order == ByVisitors || q.Order == ByLastHit }

const (
	// searchRows is how many rows each core reads in a turn: half a millisecond.
	searchRows = 4096

	// searchParts is into how many parts the rest of a part is split for each core, when few are left.
	searchParts = 4

	// A core reads up to searchWindow parts in a turn. Each costs as much as partRows rows, even if it has none.
	searchWindow = 64
	partRows     = 32
)

// A searching is a search under way. Its parts are in the order of the rows.
type searching struct {
	*LinkList
	q     *LinkQuery
	first *Record      // that comes before all others: see LinkQuery.Code; nil: none
	parts []*searched  // those that were not passed
	limit int          // of the places that are looked for
	best  *search.Best // of the parts that were passed
	found uint64       // links in them
}

// searched is a part of the rows, and what was found in those that were read.
type searched struct {
	Part
	best        *search.Best
	found       uint64
	begun, done bool
}

// search returns a page of q, whatever it asks for. It reads the rows of the links on all cores, within turns.
func (l *LinkList) search(ctx context.Context, q *LinkQuery, turn func(step func() error) error) (page LinkPage, err error) {
	s := searching{LinkList: l, q: q, limit: q.Limit}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := turn(func() error { return s.begin(ctx) }); err != nil {
		return LinkPage{}, err
	}
	for !s.enough() {
		if err := turn(s.step); err != nil {
			return LinkPage{}, fmt.Errorf("searching links: %w", err)
		}
	}
	page, err = s.page(ctx, turn)
	if err == nil && (q.byFigures() || q.Summed) {
		page.AsOfHour, err = s.asOf()
	}
	return page, err
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
	if q.After == nil && s.first != nil {
		s.limit = q.Limit - 1
	}
	s.best = search.NewBest(s.limit, nil)
	r := q.ListRange
	r.Figures = q.byFigures()
	if q.After != nil && q.Order == ByID && !q.Ascending && !q.Total {
		r.Below = q.After.ID
	}
	parts, err := s.listing.Parts(r)
	s.add(0, parts)
	return err
}

// readFirst reads the link whose code is the one that was asked for, or else the only one that differs from it by case.
func (s *searching) readFirst() error {
	asked := s.q.Code
	if !asked.View().Valid() {
		return nil
	}
	var keys []index.Key
	s.links.index.Variants(asked, func(v index.HotView) { keys = append(keys, v.Own()) })
	var wanted []Record
	for _, k := range keys {
		rec, err := s.listing.ReadRecord(k)
		switch entry := entryOf(&rec); {
		case errors.Is(err, errs.ErrNotFound): // it was made after the list was opened
		case err != nil:
			return err
		case s.inRange(&rec) && s.wants(&entry):
			wanted = append(wanted, rec)
		}
	}
	exact := slices.IndexFunc(wanted, func(r Record) bool { return r.Hot.Key == asked })
	switch {
	case exact >= 0:
		s.first = &wanted[exact]
	case len(wanted) == 1:
		s.first = &wanted[0]
	}
	return nil
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
	added := make([]*searched, len(parts))
	for n, p := range parts {
		added[n] = &searched{Part: p, best: search.NewBest(s.limit, s.q.After)}
	}
	s.parts = slices.Insert(s.parts, i, added...)
}

// enough reports whether the page is found: all rows were read, or enough of the newest.
func (s *searching) enough() bool {
	_, one := s.q.one() // whose rows are newest first
	newestFirst := (one || s.q.Folder != 0) && s.q.Order == ByID && !s.q.Ascending && !s.q.Total
	return len(s.parts) == 0 || newestFirst && s.found > uint64(s.limit)
}

// step reads some rows of the first parts, on all cores, and splits the parts that were read if few are left.
func (s *searching) step() error {
	workers := runtime.GOMAXPROCS(0)
	var window []*searched // the first parts that have rows
	for _, p := range s.parts {
		if !p.done && len(window) < searchWindow*workers {
			window = append(window, p)
		}
	}
	var g errgroup.Group
	for w := range min(workers, len(window)) {
		g.Go(func() error { return s.readSome(window, w, workers) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(window) < searchParts*workers {
		for _, p := range window {
			if p.begun && !p.done {
				if err := s.split(p, searchParts*workers); err != nil {
					return err
				}
			}
		}
	}
	return s.pass()
}

// readSome reads searchRows rows of every nth part of the window, from the one at w on.
func (s *searching) readSome(window []*searched, w, n int) (err error) {
	defer func() {
		if r := recover(); r != nil { // in a goroutine it would end the program
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	for rows := 0; w < len(window) && rows < searchRows; w += n {
		p := window[w]
		read, more, err := p.Read(searchRows, func(e *LinkEntry) { s.take(p, e) })
		if p.begun, p.done = true, !more; err != nil {
			return err
		}
		rows += partRows + read
	}
	return nil
}

// pass takes what was found in the first parts, as far as they are done, and forgets these parts.
func (s *searching) pass() (err error) {
	for len(s.parts) > 0 && s.parts[0].done {
		p := s.parts[0]
		s.best.AddAll(p.best)
		s.found += p.found
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
	if !s.q.Words.Matches(e.Text) || !s.wants(e) || s.first != nil && s.first.Hot.ID == e.ID {
		return
	}
	p.found++
	if s.limit > 0 {
		p.best.Add(s.placeOf(e))
	}
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
	link, ok := s.links.Resolve(e.KeyView)
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
	page.Total = s.found
	var records []Record
	if s.first != nil {
		page.Total++
		if s.q.After == nil { // else the first page had it
			records = append(records, *s.first)
		}
	}
	if !s.q.Total {
		page.Total = 0
	}
	if s.limit == 0 { // it takes the whole page
		more, page.Next = s.found > 0, &search.Place{Key: math.MaxUint64, ID: math.MaxUint64}
	}
	for at, end := 0, 0; ; records = nil {
		at, end = end, min(len(places), end+listStepLinks)
		err := turn(func() (err error) {
			for _, p := range places[at:end] {
				if records, err = s.readPlace(records, p); err != nil {
					return err
				}
			}
			part, err := s.details(ctx, records, s.q)
			page.Links, page.sizeBytes = append(page.Links, part.Links...), page.sizeBytes+part.sizeBytes
			return err
		})
		if err != nil {
			return LinkPage{}, fmt.Errorf("reading links that were found: %w", err)
		}
		if end > 0 {
			page.Next = &places[end-1]
		}
		if full := page.sizeBytes >= maxListBytes; full || end == len(places) {
			if !more && end == len(places) {
				page.Next = nil
			}
			return page, nil
		}
	}
}

// readPlace appends the record of a place.
func (s *searching) readPlace(records []Record, p search.Place) ([]Record, error) {
	id := p.ID
	if s.q.Ascending {
		id = ^id
	}
	rec, err := s.listing.ReadRecordOf(id)
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
