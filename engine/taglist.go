package engine

import (
	"context"
	"errors"
	"fmt"
)

// MaxListedTags bounds the tags of a page.
const MaxListedTags = 1000

// tagStepRows bounds the rows that are counted between two turns: a few milliseconds.
const tagStepRows = 20_000

// A TagCount is a tag and the number of live links of its owner that have it.
type TagCount struct {
	Name  string // as the newest of the links has it
	Links uint64

	folded string
}

// NewTagCount returns the count of a tag whose folded form is folded. It is for implementations of
// Listing.
func NewTagCount(folded, name string, links uint64) TagCount { return TagCount{name, links, folded} }

// Folded returns the form by which tags are sorted.
func (c *TagCount) Folded() string { return c.folded }

// TagScan is a count of an owner's tags, in the order of their folded forms. Listing.CountTags sets
// all but the first three fields.
type TagScan struct {
	Owner  uint32
	Prefix string // only tags whose folded forms begin with it
	After  string // only tags whose folded forms come after it; empty: all

	Open  TagCount // the tag that the last call was counting; its zero value: none
	Below uint64   // the links of Open with a smaller id are not counted yet
}

// TagQuery asks for a page of an owner's tags.
type TagQuery struct {
	Owner  uint32
	Prefix string // of the tags, in any case; empty: all
	After  string // Next of the page before; empty: from the first on
	Limit  int    // 1 to MaxListedTags
}

// TagPage is a part of an owner's tags, sorted by their folded forms.
type TagPage struct {
	Tags []TagCount
	Next string // After of the next page; empty: this was the last one
}

// ListTagsInTurns returns a page of tags. It does the counting in steps, each within a call of turn,
// and returns the first error of turn. Its time grows with the number of links that have the tags, and
// its memory with the number of tags only. Every write that was acknowledged before the call is counted.
// Errors: ErrLoading, ErrOverloaded.
func (e *Engine) ListTagsInTurns(ctx context.Context, q TagQuery, turn func(step func() error) error) (page TagPage, err error) {
	l, err := e.OpenList(ctx)
	if err != nil {
		return TagPage{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	scan := TagScan{Owner: q.Owner, Prefix: FoldTag(q.Prefix), After: q.After}
	for more := true; more && len(page.Tags) <= q.Limit; {
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
	if len(page.Tags) > q.Limit { // there is another page
		page.Tags = page.Tags[:q.Limit]
		page.Next = page.Tags[q.Limit-1].folded
	}
	return page, nil
}
