package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

const (
	// MaxListed bounds the links of a page.
	MaxListed = 1000

	// maxListScan bounds the rows that are scanned for a page, so that a page without a match costs
	// little. Out of 1 M links in memory, 10,000 rows of one owner take 1.3 ms with a Prefix and 6
	// with a Select that asks the block list; of all owners, 7 ms with a Select (BenchmarkListByState,
	// 2 shared cores).
	maxListScan = 10_000

	// maxPrefixScanAll is that for a page of all owners with a Prefix. They have no index, so a Prefix
	// needs the hot record of each row: 3 to 13 µs.
	maxPrefixScanAll = 4_000

	// maxListBytes bounds the targets, texts and tags of a page, which ends early when it reaches
	// this size. At some 100 bytes a link, a page of 1,000 links is smaller; but it could have 11
	// MB.
	maxListBytes = 1 << 20
)

// LinkQuery asks for a page of links, newest first. The order is that of ids, which never change
// and are never reused: so a list that is read page by page has no link twice, and has every link
// that existed throughout.
type LinkQuery struct {
	ListRange        // Below is the Next of the page before
	Prefix    string // of code, host or title, in any case; empty: all links
	Limit     int    // 1 to MaxListed
	Unique    bool   // whether to read Detail.Unique

	// Select, if set, chooses links by what memory has of them when the page is read: flags, expiry,
	// cap, hits of a capped link, and target. It is asked about each scanned row before its record
	// is read, so a page of few links among many reads few records. It must be fast and call
	// nothing that waits. Links that were deleted since the list was opened are not listed. A link
	// may change between the choice and the end of the page, and a record is of the list's moment:
	// so a caller that must be exact checks each Detail again.
	Select func(index.Link) bool

	rows, sizeBytes int // bounds of a step, see ListLinksInTurns; 0: those of a page
}

// maxScan returns the bound of the rows that are scanned for a page.
func (q *LinkQuery) maxScan() int {
	if q.AnyOwner && q.Prefix != "" {
		return maxPrefixScanAll
	}
	return maxListScan
}

// LinkPage is a part of a list. It may be short, or empty, although there are more.
type LinkPage struct {
	Links []Detail // Unique is read if it was asked for
	Next  uint64   // Below of the next page; 0: this was the last one

	sizeBytes int // of the links, towards maxListBytes
}

// LinkList is the links of one moment, to be read page by page; but their hits and state are of the
// time when a page is read. Hits are looked up by id, so they are never those of a later link of
// the same code. One goroutine at a time may use it. The store keeps rows that were deleted since,
// so a LinkList should not stay open for long.
type LinkList struct {
	links   *Links
	listing Listing
}

// ListLinks returns a page of links. Every write that was acknowledged before the call is in it.
// Errors: ErrLoading, ErrOverloaded.
func (ls *Links) ListLinks(ctx context.Context, q LinkQuery) (_ LinkPage, err error) {
	l, err := ls.OpenList(ctx)
	if err != nil {
		return LinkPage{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.Page(ctx, q)
}

// OpenList returns the links of this moment, to be closed by the caller. Errors: ErrLoading,
// ErrOverloaded.
func (ls *Links) OpenList(ctx context.Context) (*LinkList, error) {
	if !ls.Ready() {
		return nil, errs.ErrLoading
	}
	ctx, cancel := context.WithTimeout(ctx, CommitTimeout)
	defer cancel()
	listing, err := ls.store.Listing(ctx)
	if err != nil {
		return nil, err
	}
	return &LinkList{links: ls, listing: listing}, nil
}

// Close lets the store drop rows that it kept only for l.
func (l *LinkList) Close() error { return l.listing.Close() }

// Page returns a page of l.
func (l *LinkList) Page(ctx context.Context, q LinkQuery) (LinkPage, error) {
	records, next, sizeBytes, err := l.records(&q)
	if err != nil {
		return LinkPage{}, err
	}
	if len(records) == 0 { // no hits are shown, so none need to be folded
		return LinkPage{Next: next}, nil
	}
	ls := l.links
	if err := ls.hits.FoldNow(ctx); err != nil {
		return LinkPage{}, err
	}
	page := LinkPage{Links: make([]Detail, len(records)), Next: next, sizeBytes: sizeBytes}
	for i := range records {
		var unique uint64
		if q.Unique {
			if unique, err = ls.hits.Visitors(ctx, records[i].Hot.ID); err != nil {
				return LinkPage{}, err
			}
		}
		d := ls.detail(&records[i]) // its hits are read after its visitors
		d.Unique = min(unique, d.Hits)
		page.Links[i] = d
	}
	return page, nil
}

// records returns the links of a page, the Below of the next one, and what the links count towards maxListBytes.
func (l *LinkList) records(q *LinkQuery) (found []Record, next uint64, sizeBytes int, err error) {
	wanted := foldPrefix(q.Prefix)
	var readErr error
	last, more, err := l.listing.Scan(l.rangeOf(q), cmp.Or(q.rows, q.maxScan()), func(entry LinkEntry) bool {
		if !wanted.begins(entry.Code) && !wanted.begins(entry.Host) && !wanted.begins(entry.Title) {
			return true
		}
		var rec Record
		if rec, readErr = l.readEntry(&entry); readErr != nil {
			return false
		}
		found = append(found, rec)
		sizeBytes += rec.listedBytes()
		return len(found) < q.Limit && sizeBytes < cmp.Or(q.sizeBytes, maxListBytes)
	})
	if err = errors.Join(err, readErr); err != nil {
		return nil, 0, 0, fmt.Errorf("listing links: %w", err)
	}
	if more {
		next = last
	}
	return found, next, sizeBytes, nil
}

// rangeOf returns the range of q, narrowed to the links that q selects.
func (l *LinkList) rangeOf(q *LinkQuery) ListRange {
	r := q.ListRange
	if q.Select != nil {
		r.Wanted = func(id uint64, k index.KeyView) bool {
			link, ok := l.links.Resolve(k)
			if !ok || link.ID() != id {
				return false
			}
			defer link.Release()
			return q.Select(link)
		}
	}
	return r
}

// readEntry reads the link of a row, at the same moment: if the link is another one, the store is
// damaged.
func (l *LinkList) readEntry(entry *LinkEntry) (Record, error) {
	rec, err := l.listing.ReadRecord(entry.Own())
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("listed link %q: %w", entry.Code, errNotAsListed(err))
	case rec.Hot.ID != entry.ID || rec.Hot.Flags&index.FlagTombstone != 0:
		return Record{}, fmt.Errorf("link %q is listed with id %d, but has id %d and flags %#x", entry.Code, entry.ID, rec.Hot.ID, rec.Hot.Flags)
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

// foldedPrefix is a prefix in which each character represents all characters that differ from it by
// case.
type foldedPrefix []rune

func foldPrefix(prefix string) (folded foldedPrefix) {
	for _, r := range prefix {
		folded = append(folded, foldRune(r))
	}
	return folded
}

// begins reports whether text begins with p, in any case.
func (p foldedPrefix) begins(text []byte) bool {
	for _, want := range p {
		r, size := utf8.DecodeRune(text)
		if size == 0 || foldRune(r) != want {
			return false
		}
		text = text[size:]
	}
	return true
}

// A page is read in steps, so that a caller that asks for few links does not wait for callers that
// ask for many. A step takes about a millisecond, and ten if it reads the disk or visitors. A step
// that selects 500 rows by their links in memory takes a third of a millisecond.
const (
	listStepLinks = 50
	listStepRows  = maxListScan / (MaxListed / listStepLinks) // so that 20 steps are a page, whichever bound they reach
)

// ListLinksInTurns is ListLinks in steps: it does each step within a call of turn. All steps read
// the same moment. It returns the first error of turn. A page that ends early although there are
// more links may be shorter than that of ListLinks.
func (ls *Links) ListLinksInTurns(
	ctx context.Context, q LinkQuery, turn func(step func() error) error,
) (page LinkPage, err error) {
	l, err := ls.OpenList(ctx)
	if err != nil {
		return LinkPage{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	sizeBytes := 0
	for rows, bound := 0, q.maxScan(); rows < bound && len(page.Links) < q.Limit && sizeBytes < maxListBytes; rows += listStepRows {
		step := q
		step.Limit = min(listStepLinks, q.Limit-len(page.Links))
		step.rows, step.sizeBytes = listStepRows, maxListBytes-sizeBytes
		var part LinkPage
		if err := turn(func() (err error) { part, err = l.Page(ctx, step); return err }); err != nil {
			return LinkPage{}, err
		}
		sizeBytes += part.sizeBytes
		page.Links, page.Next = append(page.Links, part.Links...), part.Next
		if q.Below = part.Next; q.Below == 0 {
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
	for rows, more := 0, true; more && len(page.Tags) <= q.Limit && (q.Rows == 0 || rows < q.Rows); rows += tagStepRows {
		err := turn(func() (err error) {
			more, err = l.listing.CountTags(&scan, tagStepRows, func(t TagCount) bool {
				page.Tags = append(page.Tags, t)
				return len(page.Tags) <= q.Limit
			})
			return err
		})
		if err != nil {
			return TagPage{}, fmt.Errorf("listing tags: %w", err)
		}
	}
	if scan.Open.Links > 0 && len(page.Tags) < q.Limit {
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
