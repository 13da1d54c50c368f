package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// receipt returns the receipt of the request. It does not have whole links, unlike the receipt of a
// single link: the links of one request may have 10 MB, and a request that finds 1,000 links would
// write all of them again.
func (b *bulk) receipt(o *once) *Receipt {
	r := o.receipt(false, 0, b.now)
	if r == nil {
		return nil
	}
	r.Items = make([]ReceiptItem, len(b.results))
	for i := range b.results {
		item, result := &r.Items[i], &b.results[i]
		switch {
		case result.Err == nil:
			*item = ReceiptItem{Outcome: OutcomeCreated, ID: result.Detail.ID, Key: result.Detail.Key}
			if result.Existed {
				item.Outcome = OutcomeExisted
			}
		case errors.Is(result.Err, errs.ErrTaken):
			item.Outcome = OutcomeTaken
		default:
			item.Outcome = OutcomeRefused
		}
	}
	return r
}

// repeatBulk answers a request that has a receipt. Refused items get their errors from items, which
// were checked again; if the rules have changed since, the error is ErrRefused.
func (ls *Links) repeatBulk(ctx context.Context, r *Receipt, items []BulkItem) (_ []BulkResult, err error) {
	if len(r.Items) != len(items) {
		return nil, errs.ErrMismatch
	}
	listing, err := ls.store.Listing(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, listing.Close()) }()
	if err := ls.hits.FoldNow(ctx); err != nil {
		return nil, err
	}
	results := make([]BulkResult, len(items))
	made := make(map[uint64]*Detail, len(items)) // by id
	for i := range r.Items {
		kept := &r.Items[i]
		if d, ok := r.made(i, &items[i]); ok {
			results[i].Detail = d
			made[kept.ID] = &results[i].Detail
		} else if d := made[kept.ID]; d != nil && kept.Outcome == OutcomeExisted { // made by an earlier item
			results[i] = BulkResult{Detail: *d, Existed: true}
		} else if results[i], err = ls.repeatItem(listing, r, kept, &items[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// made returns the link that item i of the request has made, as it was then: the repeat asks for
// the same link, and the receipt has what was drawn. ok is false if item i did not make a link,
// or if it is refused by now, as when the link was to expire meanwhile.
func (r *Receipt) made(i int, item *BulkItem) (_ Detail, ok bool) {
	kept, at := &r.Items[i], time.UnixMilli(r.CreatedAtMs)
	if kept.Outcome != OutcomeCreated || item.Refused != nil {
		return Detail{}, false
	}
	rec, err := item.Draft.record(at)
	if err != nil {
		return Detail{}, false
	}
	rec.Hot.ID, rec.Hot.Key, rec.Cold.Key = kept.ID, kept.Key, kept.Key
	return detailOf(&rec, rec.Cold.ImportedHits, at), true
}

// repeatItem answers an item as things are now. A link has another id if its figures were reset, and was made
// before the request nevertheless; one that has another owner by now is nothing that the sender may see.
func (ls *Links) repeatItem(listing Listing, r *Receipt, kept *ReceiptItem, item *BulkItem) (BulkResult, error) {
	switch {
	case kept.Outcome == OutcomeTaken:
		return BulkResult{Err: ls.takenNow(item)}, nil
	case kept.Outcome == OutcomeRefused && item.Refused != nil:
		return BulkResult{Err: item.Refused}, nil
	case kept.Outcome == OutcomeRefused:
		return BulkResult{Err: errs.ErrRefused}, nil
	}
	rec, err := listing.ReadRecord(kept.Key)
	switch {
	case errors.Is(err, errs.ErrNotFound), err == nil && (rec.Hot.Flags&index.FlagTombstone != 0 || rec.Hot.Owner != item.Draft.Owner),
		err == nil && rec.Hot.ID != kept.ID && rec.Cold.CreatedAtMs > r.CreatedAtMs:
		return BulkResult{Err: errs.ErrDeleted}, nil
	case err != nil:
		return BulkResult{}, fmt.Errorf("reading link %q: %w", kept.Code, err)
	}
	return BulkResult{Detail: ls.detail(&rec), Existed: kept.Outcome == OutcomeExisted}, nil
}

// takenNow returns the error for an item whose alias was taken when its request was first answered.
// Receipts do not keep the link that blocked it, so the error names the link that blocks it now, if
// there is one.
func (ls *Links) takenNow(item *BulkItem) error {
	d := &item.Draft
	if item.Refused != nil || d.Alias == "" {
		return errs.ErrTaken
	}
	c := ls.claim(d.key(d.Alias), d, 0)
	return takenError(c.by, d)
}
