package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
	"shunt/engine/search"
)

const (
	// MaxListed bounds the links of a page.
	MaxListed = 1000

	// maxListBytes bounds the targets, texts and tags of a page, which ends early when it reaches
	// this size. At some 100 bytes a link, a page of 1,000 links is smaller; but it could have 11
	// MB.
	maxListBytes = 1 << 20
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

	// The link with the code Code, or else the only one that differs from it by case, comes first in any order; no
	// code: none. CodeIn, if set, are the domains in which it may be, in their order: all links with the code come
	// first, or else of each domain the only one that differs by case; but no more than maxFirst.
	Code   index.Key
	CodeIn []index.Domain

	CreatedFromMs, CreatedBeforeMs int64 // only those that were created then; 0: no bound

	// Judge, if set, chooses links by what the store has beside their ids, or by as much of it as memory has: id,
	// flags, expiry and start.
	Judge func(*LinkEntry) Choice

	// Select, if set, chooses links of which Judge is unsure, by what memory has of them when the page is read:
	// flags, expiry, cap, hits of a capped link, and target. It must be fast and call nothing that waits. Links
	// that were deleted since the list was opened are not listed, but for some of this moment. A link may change
	// between the choice and the end of the page, and a record is of the list's moment: so a caller that must be
	// exact checks each Detail again.
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
	ByCode                   // by the first 8 bytes of the code, which are all of a drawn one
)

// plain reports whether q is of the newest links of its range, so that few rows are read.
func (q *LinkQuery) plain() bool {
	return (q.AnyOwner || q.single()) && q.Order == ByID && !q.Ascending && q.Words.Empty() && q.Code.Code == "" && q.Judge == nil && q.Select == nil && q.WantHits == nil &&
		q.CreatedFromMs == 0 && q.CreatedBeforeMs == 0 && !q.Total && !(q.AnyOwner && q.Tag != "")
}

// byFigures reports whether the order is one of figures that the store keeps for each link.
func (q *LinkQuery) byFigures() bool { return q.Order == ByVisitors || q.Order == ByLastHit }

// LinkPage is a part of a list. It may be short although there are more.
type LinkPage struct {
	Links []Detail      // Unique is read if it was asked for
	Next  *search.Place // After of the next page; nil: this was the last one
	Total uint64        // links of all pages, if they were asked for

	// AsOfHour is the hour (Unix time / 3600) before which all hits are in what the list is sorted by, and in what is
	// summed up; 0 if all is of the moment.
	AsOfHour uint32

	sizeBytes int // of the links, towards maxListBytes
}

// LinkList is the links of one moment, to be read page by page; but their hits and state are of the
// time when a page is read. Hits are looked up by id, so they are never those of a later link of
// the same code. One goroutine at a time may use it. The store keeps rows that were deleted since,
// so a LinkList should not stay open for long.
type LinkList struct {
	links   *Links
	listing Listing
	ahead   *ahead // see Next

	pendingSince uint32 // see Hits.PendingSince; of a moment before the listing
}

// ListLinks returns a page of links. Every write that was acknowledged before the call is in it.
// Errors: ErrLoading, ErrOverloaded.
func (ls *Links) ListLinks(ctx context.Context, q LinkQuery) (LinkPage, error) {
	return ls.ListLinksInTurns(ctx, q, func(step func() error) error { return step() })
}

// OpenList returns the links of this moment, to be closed by the caller. Errors: ErrLoading,
// ErrOverloaded.
func (ls *Links) OpenList(ctx context.Context) (*LinkList, error) {
	if !ls.Ready() {
		return nil, errs.ErrLoading
	}
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	pending := ls.hits.PendingSince() // before: what is flushed meanwhile is in the listing
	listing, err := ls.store.Listing(ctx)
	if err != nil {
		return nil, err
	}
	return &LinkList{links: ls, listing: listing, pendingSince: pending}, nil
}

// Close lets the store drop rows that it kept only for l.
func (l *LinkList) Close() error { return l.listing.Close() }

// Page returns a page of l, newest first, with nothing but the range of q. A list that is read page by page in that
// order has no link twice, and has every link that existed throughout.
func (l *LinkList) Page(ctx context.Context, q LinkQuery) (LinkPage, error) {
	records, next, err := l.newest(&q)
	if err != nil {
		return LinkPage{}, err
	}
	page, err := l.details(ctx, records, &q)
	page.Next = next
	return page, err
}

// newest returns the next links of q, newest first, and where the next page begins.
func (l *LinkList) newest(q *LinkQuery) (found []Record, next *search.Place, err error) {
	r := q.ListRange
	if q.After != nil {
		r.Below = q.After.ID
	}
	if !r.single() { // ranges of owners have no index
		r.AnyOwner = true
	}
	found = make([]Record, 0, q.Limit)
	sizeBytes := 0
	var readErr error
	last, more, err := l.scan(r, q.Limit, func(id uint64, k index.KeyView) bool {
		if !q.mayHave(k.Domain) {
			return true
		}
		var rec Record
		if rec, readErr = l.readEntry(id, k.Own()); readErr != nil {
			return false
		}
		if !q.has(rec.Hot.Owner) {
			return true
		}
		found = append(found, rec)
		sizeBytes += rec.listedBytes()
		return len(found) < q.Limit && sizeBytes < cmp.Or(q.sizeBytes, maxListBytes)
	})
	if err = errors.Join(err, readErr); err != nil {
		return nil, nil, fmt.Errorf("listing links: %w", err)
	}
	if more {
		next = &search.Place{ID: last}
	}
	return found, next, nil
}

// scan is Listing.Scan for any number of single owners. Of each it reads as many rows as the page has, because all may
// be one owner's.
func (l *LinkList) scan(r ListRange, limit int, fn func(id uint64, k index.KeyView) bool) (last uint64, more bool, err error) {
	if r.AnyOwner || r.Folder != 0 || len(r.Owners) == 1 {
		return l.listing.Scan(r, limit, fn)
	}
	type row struct {
		id  uint64
		key index.Key
	}
	var rows []row
	for _, owner := range r.Owners {
		one := r
		one.Owners = []OwnerRange{owner}
		_, moreOfOne, err := l.listing.Scan(one, limit, func(id uint64, k index.KeyView) bool {
			rows = append(rows, row{id, k.Own()})
			return true
		})
		if err != nil {
			return 0, false, err
		}
		more = more || moreOfOne
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.id, a.id) })
	if len(rows) > limit {
		rows, more = rows[:limit], true
	}
	for i, of := range rows {
		last = of.id
		if !fn(of.id, of.key.View()) {
			return last, more || i < len(rows)-1, nil
		}
	}
	return last, more, nil
}

// details returns records as a page shows them.
func (l *LinkList) details(ctx context.Context, records []Record, q *LinkQuery) (page LinkPage, err error) {
	if len(records) == 0 { // no hits are shown, so none need to be folded
		return LinkPage{}, nil
	}
	ls := l.links
	if err := ls.hits.FoldNow(ctx); err != nil {
		return LinkPage{}, err
	}
	page.Links = make([]Detail, len(records))
	for i := range records {
		var unique uint64
		switch id := records[i].Hot.ID; {
		case q.Unique:
			unique, err = ls.hits.Visitors(ctx, id)
		case q.Summed:
			unique, err = l.listing.SummedVisitors(id)
		}
		if err != nil {
			return LinkPage{}, err
		}
		d := ls.detail(&records[i]) // its hits are read after its visitors
		d.Unique = min(unique, d.Hits)
		page.Links[i] = d
		page.sizeBytes += records[i].listedBytes()
	}
	return page, nil
}

// readEntry reads the link of a row, at the same moment: if the link is another one, the store is
// damaged.
func (l *LinkList) readEntry(id uint64, k index.Key) (Record, error) {
	rec, err := l.listing.ReadRecord(k)
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("listed link %q: %w", k.Code, errNotAsListed(err))
	case rec.Hot.ID != id || rec.Hot.Flags&index.FlagTombstone != 0:
		return Record{}, fmt.Errorf("link %q is listed with id %d, but has id %d and flags %#x", k.Code, id, rec.Hot.ID, rec.Hot.Flags)
	}
	return rec, nil
}

// errNotAsListed replaces ErrNotFound, so that a link that is listed and missing is not reported as
// an unknown link.
func errNotAsListed(err error) error {
	if errors.Is(err, errs.ErrNotFound) {
		return errors.New("it is not there")
	}
	return err
}

// listStepLinks is how many links are read in a step. A page is read in steps, so that a caller that asks for few links
// does not wait for callers that ask for many. A step takes about a millisecond, and ten if it reads the disk or
// visitors.
const listStepLinks = 50

// ListLinksInTurns is ListLinks in steps: it does each step within a call of turn. All steps read
// the same moment. It returns the first error of turn.
func (ls *Links) ListLinksInTurns(ctx context.Context, q LinkQuery, turn func(step func() error) error) (page LinkPage, err error) {
	if q.byFigures() || q.Summed { // a hit of an hour that is over may not be folded, and PendingSince does not know it
		if err := ls.hits.FoldNow(ctx); err != nil {
			return LinkPage{}, err
		}
	}
	l, err := ls.OpenList(ctx)
	if err != nil {
		return LinkPage{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if !q.plain() {
		return l.search(ctx, &q, turn)
	}
	if q.Summed {
		if page.AsOfHour, err = l.asOf(); err != nil {
			return LinkPage{}, err
		}
	}
	sizeBytes := 0
	for len(page.Links) < q.Limit && sizeBytes < maxListBytes {
		step := q
		step.Limit, step.sizeBytes = min(listStepLinks, q.Limit-len(page.Links)), maxListBytes-sizeBytes
		var part LinkPage
		if err := turn(func() (err error) { part, err = l.Page(ctx, step); return err }); err != nil {
			return LinkPage{}, err
		}
		sizeBytes += part.sizeBytes
		page.Links, page.Next = append(page.Links, part.Links...), part.Next
		if q.After = part.Next; q.After == nil {
			break
		}
	}
	return page, nil
}

// tagStepRows bounds the rows that are counted between two turns: a few milliseconds.
const tagStepRows = 20_000

// ListTagsInTurns returns a page of tags. It does the counting in steps, each within a call of turn,
// and returns the first error of turn. Its time grows with the number of links that have the tags, and
// its memory with the number of tags only. Every write that was acknowledged before the call is counted.
// Errors: ErrLoading, ErrOverloaded.
func (ls *Links) ListTagsInTurns(ctx context.Context, q TagQuery, turn func(step func() error) error) (page TagPage, err error) {
	l, err := ls.OpenList(ctx)
	if err != nil {
		return TagPage{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	scan := TagScan{Owner: q.Owner, Prefix: FoldTag(q.Prefix), After: q.After}
	add := func(t TagCount) bool {
		page.Tags = append(page.Tags, t)
		return len(page.Tags) <= q.Limit
	}
	step, inTurn := cmp.Or(q.TagRows, tagStepRows), 0
	for rows, more := 0, true; more && len(page.Tags) <= q.Limit && (q.Rows == 0 || rows < q.Rows); {
		err := turn(func() (err error) {
			for inTurn = 0; more && err == nil && len(page.Tags) <= q.Limit && inTurn < tagStepRows; inTurn += step {
				if more, err = l.listing.CountTags(&scan, step, add); q.TagRows > 0 && scan.Open.Links >= uint64(q.TagRows) {
					add(scan.Open)
					scan.After, scan.Open = scan.Open.Folded(), TagCount{}
				}
			}
			return err
		})
		if err != nil {
			return TagPage{}, fmt.Errorf("listing tags: %w", err)
		}
		rows += inTurn
	}
	if q.Rows > 0 && scan.Open.Links > 0 && len(page.Tags) < q.Limit {
		page.Tags = append(page.Tags, scan.Open)
	}
	if len(page.Tags) > q.Limit { // there is another page
		page.Tags = page.Tags[:q.Limit]
		page.Next = page.Tags[q.Limit-1].folded
	}
	return page, nil
}

// Audit calls fn with the entries whose stamp is at least from and below before, the newest first,
// until fn returns false. fn may keep the entry.
func (ls *Links) Audit(from, before uint64, fn func(*AuditEntry) bool) error {
	return ls.store.ListAudit(from, before, fn)
}
