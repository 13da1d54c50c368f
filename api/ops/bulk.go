package ops

import (
	"context"
	"errors"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// MaxItemBytes is the limit of an item of a bulk. It is the same as for the body of a single
// creation.
const MaxItemBytes = 64 << 10

// A Bulk is a caller's request for several links. May returns an error if the caller may not create
// n more links than the one that each request counts as; nil: unlimited.
type Bulk struct {
	Body jsonbody.Body
	May  func(n int) error
}

// CreateBulk creates links from the items of a body, in one commit. A refused item does not keep
// the others from being created. If it returns an error, nothing has been created, except perhaps
// after engine.ErrOutcomeUnknown.
func (c *Calls) CreateBulk(caller account.Caller, key Key, b Bulk) (Results, error) {
	request := func() *engine.Request { return key.request(caller, "/shorten/bulk", b.Body) }
	return c.createMany(caller, request, b, func(item []byte) (engine.Draft, error) {
		return c.parseDraft(item, caller.User.ID, c.now())
	})
}

// Import adds links that were created elsewhere, with their codes, times and hits, for the user
// that g names. It needs no key to be repeated: a link that exists already with the same fields is
// left as it is.
func (c *Calls) Import(caller account.Caller, g engine.Guard, b Bulk) (Results, error) {
	if err := mayUse(caller, g); err != nil {
		return nil, err
	}
	if g.AnyOwner {
		return nil, jsonbody.FieldError("owner", "range", "must be a user's id")
	}
	var results Results
	err := c.accounts.CheckUser(g.Owner)
	if err == nil {
		results, err = c.createMany(caller, func() *engine.Request { return nil }, b, func(item []byte) (engine.Draft, error) {
			return c.parseImport(item, g.Owner, c.now())
		})
	}
	if errors.Is(err, account.ErrNoUser) || errors.Is(err, engine.ErrOwnerGone) {
		return nil, jsonbody.FieldError("owner", "unknown", "is not the id of a user")
	}
	return results, err
}

// createMany creates links from the items of a body; parse reads each item. The body is read in
// turn with other costly work, because 8 MiB of JSON take half a second of a core.
func (c *Calls) createMany(
	caller account.Caller, request func() *engine.Request, b Bulk, parse func([]byte) (engine.Draft, error),
) (Results, error) {
	var asked *engine.Request
	var items []engine.BulkItem
	err := c.InTurn(caller, func() (err error) {
		asked = request()
		items, err = b.items(parse)
		return err
	})
	if err != nil {
		return nil, err
	}
	by := c.by(caller)
	for i := range items {
		items[i].Draft.By = by
	}
	made, err := c.createItems(asked, items)
	if err != nil {
		return nil, err
	}
	results := make(Results, len(made))
	for i := range made {
		if results[i].Err = made[i].Err; made[i].Err == nil {
			results[i].Link, results[i].Existed = c.shown(made[i].Detail), made[i].Existed
		}
	}
	return results, nil
}

// items reads the items of a request, and counts each of them as a creation.
func (b *Bulk) items(parse func([]byte) (engine.Draft, error)) ([]engine.BulkItem, error) {
	texts, err := b.Body.Items(engine.MaxBulk)
	if err != nil {
		return nil, err
	}
	if b.May != nil {
		if err := b.May(len(texts) - 1); err != nil {
			return nil, err
		}
	}
	items := make([]engine.BulkItem, len(texts))
	for i, text := range texts {
		items[i].Draft, items[i].Refused = itemDraft(text, parse)
	}
	return items, nil
}

// itemDraft returns the draft of one item.
func itemDraft(text []byte, parse func([]byte) (engine.Draft, error)) (engine.Draft, error) {
	if len(text) > MaxItemBytes {
		return engine.Draft{}, problem.New(problem.BodyTooLarge, "an item must be at most %d bytes", MaxItemBytes)
	}
	draft, err := parse(text)
	var invalid engine.InvalidError
	if errors.As(err, &invalid) && len(invalid) > problem.MaxErrors {
		err = invalid[:problem.MaxErrors]
	}
	return draft, err
}

func (c *Calls) createItems(request *engine.Request, items []engine.BulkItem) (results []engine.BulkResult, err error) {
	if request == nil {
		results, err = c.engine.CreateBulk(context.Background(), items)
	} else {
		results, err = c.engine.CreateBulkOnce(context.Background(), *request, items)
	}
	if err != nil {
		c.wrote("create", err)
		return nil, err
	}
	for i := range results {
		if items[i].Refused == nil {
			c.wrote("create", results[i].Err)
		}
	}
	return results, nil
}
