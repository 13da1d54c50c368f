package engine

import (
	"context"
	"errors"
)

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
func (e *Engine) ListLinksInTurns(
	ctx context.Context, q LinkQuery, turn func(step func() error) error,
) (page LinkPage, err error) {
	l, err := e.OpenList(ctx)
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
		for i := range part.Links {
			sizeBytes += listedBytes(part.Links[i].Target, part.Links[i].Title, part.Links[i].Tags)
		}
		page.Links, page.Next = append(page.Links, part.Links...), part.Next
		if q.Below = part.Next; q.Below == 0 {
			break
		}
	}
	return page, nil
}
