package ops

import (
	"context"
	"errors"
	"slices"
	"sync"

	"shunt/api/account"
	"shunt/api/domain"
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

	CreateDomains bool // an import adds the domains that are not there
	DryRun        bool // an import makes nothing, and has the results that it would have
	Reusable      bool // creates with reuse, and doors, find the links of an import

	typed bool // passwords are as they were typed, and not their hashes
}

// CreateBulk creates links from the items of a body, in one commit. A refused item does not keep
// the others from being created. If it returns an error, nothing has been created, except perhaps
// after engine.ErrOutcomeUnknown.
func (c *Calls) CreateBulk(caller account.Caller, key Key, b Bulk) (Results, error) {
	request := func() *engine.Request { return key.request(caller, "/shorten/bulk", b.Body) }
	b.typed = true
	return c.createMany(caller, request, b, caller.User.ID, (*linkReader).readDraft)
}

// Import adds links that were created elsewhere, with their codes, times and hits, for the user
// that w names; those that name no domain in the one that w names. It needs no key to be repeated: a link that exists
// already with the same fields is left as it is. Domains that it adds stay, also if it fails.
func (c *Calls) Import(caller account.Caller, w Whose, b Bulk) (Results, error) {
	if err := errors.Join(mayChange(caller), mayUse(caller, w)); err != nil {
		return nil, err
	}
	if w.Anybody {
		return nil, jsonbody.FieldError("owner", "range", "must be a user's id")
	}
	var results Results
	may, err := c.ownersDomains(w.User)
	if err == nil {
		results, err = c.createMany(caller, func() *engine.Request { return nil }, b, w.User, c.importReader(caller, w, may, &b))
	}
	if errors.Is(err, engine.ErrOwnerGone) {
		return nil, errUnknownOwner
	}
	return results, err
}

// importReader returns what reads the items of an import for w, whose user may own links in the domains may.
func (c *Calls) importReader(caller account.Caller, w Whose, may account.Domains, b *Bulk) itemReader {
	would := make(map[string]*domain.Domain) // domains that a dry run would add, by their hosts
	days := c.keptDays()
	return func(r *linkReader, d *engine.Draft, item []byte) error {
		r.days = days
		if !r.may.Limited() {
			r.domain = w.Domain
		}
		if b.CreateDomains {
			r.add = func(host string) (*domain.Domain, error) {
				if b.DryRun {
					return c.wouldAdd(would, host)
				}
				return c.o.Domains.Add(caller, domain.Domain{Host: host}, c.o.Targets)
			}
		}
		err := r.readImport(d, item)
		d.Reusable = b.Reusable
		if err == nil && !may.Has(d.Domain) {
			err = errOwnerElsewhere
		}
		return err
	}
}

// wouldAdd returns the domain that an import would add for a host. Its number is one that no domain has.
func (c *Calls) wouldAdd(would map[string]*domain.Domain, host string) (*domain.Domain, error) {
	if d := would[host]; d != nil {
		return d, nil
	}
	one := domain.Domain{Host: host, Number: engine.MaxDomain - engine.Domain(len(would))}
	for c.o.Domains.Numbered(one.Number) != nil && one.Number > engine.DefaultDomain+1 {
		one.Number--
	}
	d, err := c.o.Domains.Check(one, c.o.Targets)
	if err == nil {
		would[host] = d
	}
	return d, err
}

// An itemReader makes d, which is empty, the draft that an item of a body asks for.
type itemReader func(r *linkReader, d *engine.Draft, item []byte) error

// createMany creates links of a user from the items of a body, each of which it reads with read. The
// body is read in turn with other costly work, because 8 MiB of JSON take half a second of a core.
func (c *Calls) createMany(
	caller account.Caller, request func() *engine.Request, b Bulk, user uint32, read itemReader,
) (Results, error) {
	room := bulkRooms.Get().(*bulkRoom)
	var asked *engine.Request
	err := c.InTurn(caller, func() error {
		asked = request()
		room.reader.release()
		room.reader.begin(c, caller, user, c.o.Now())
		return room.readItems(&b, read)
	})
	if err != nil {
		return nil, err
	}
	var typed typedPasswords
	if b.typed {
		typed = takePasswords(room.items)
	}
	for i := range room.items {
		d := &room.items[i].Draft
		d.Owner, d.TakesDeleted = engine.OwnerIn(d.Domain, user), caller.Has(account.Admin)
	}
	create := c.createItems
	if b.DryRun {
		create = c.checkItems
	}
	made, err := create(caller, asked, room.items, typed)
	if err != nil {
		return nil, err // the engine may still need the items
	}
	if caller.Domains.Limited() {
		hideForeign(caller.Domains, made, room.items)
	}
	room.release()
	results := newResults(len(made))
	for i := range made {
		if results[i].Err = made[i].Err; made[i].Err == nil {
			results[i].Existed = made[i].Existed
			c.show(&results[i].Link, &made[i].Detail)
			c.warn(&results[i].Link)
		}
	}
	return results, nil
}

// hideForeign makes errors of links that the caller may not use: of a repeat, since the caller was limited to domains.
func hideForeign(may account.Domains, made []engine.BulkResult, items []engine.BulkItem) {
	for i := range made {
		if errors.Is(items[i].Refused, errForeignDomain) || made[i].Err == nil && !may.Has(made[i].Detail.Domain) {
			made[i] = engine.BulkResult{Err: errForeignDomain}
		}
	}
}

// bulkRoom is the memory in which the items of a request are read. It is used again, because fresh
// memory of this size comes page by page from the kernel: without this, and without the rooms of results and of
// engine/link, a link of a bulk takes 1.14 times the CPU, an imported one 1.07 times.
type bulkRoom struct {
	items  []engine.BulkItem
	reader linkReader
}

var bulkRooms = sync.Pool{New: func() any { return new(bulkRoom) }}

// release gives the room to a later request.
func (r *bulkRoom) release() {
	clear(r.items) // releases strings
	r.items, r.reader.asked, r.reader.members = r.items[:0], askedLink{}, [len(r.reader.members)]jsonbody.Member{}
	bulkRooms.Put(r)
}

// readItems reads the items of a request, and counts each of them as a creation.
func (r *bulkRoom) readItems(b *Bulk, read itemReader) error {
	texts, err := b.Body.Items(engine.MaxBulk)
	if err != nil {
		return err
	}
	if b.May != nil {
		if err := b.May(len(texts) - 1); err != nil {
			return err
		}
	}
	r.items = slices.Grow(r.items[:0], len(texts))[:len(texts)]
	for i, text := range texts {
		item := &r.items[i]
		item.Refused = r.readItem(&item.Draft, text, read)
	}
	return nil
}

// readItem reads one item.
func (r *bulkRoom) readItem(d *engine.Draft, text []byte, read itemReader) error {
	if len(text) > MaxItemBytes {
		return problem.New(problem.BodyTooLarge, "an item must be at most %d bytes", MaxItemBytes)
	}
	err := read(&r.reader, d, text)
	var invalid engine.InvalidError
	if err != nil && errors.As(err, &invalid) && len(invalid) > problem.MaxErrors {
		err = invalid[:problem.MaxErrors]
	}
	return err
}

// checkItems is createItems of a dry run.
func (c *Calls) checkItems(_ account.Caller, _ *engine.Request, items []engine.BulkItem, _ typedPasswords) ([]engine.BulkResult, error) {
	return c.o.Engine.CheckBulk(context.Background(), items)
}

// createItems creates the links of items, and gives them the passwords that were typed.
func (c *Calls) createItems(
	caller account.Caller, request *engine.Request, items []engine.BulkItem, typed typedPasswords,
) (results []engine.BulkResult, err error) {
	if request == nil {
		if err := c.hashPasswords(caller, typed); err != nil {
			return nil, err
		}
		typed = nil
	}
	by := c.by(caller) // as of now: hashing may have taken long
	for i := range items {
		items[i].Draft.By = by
	}
	if request == nil {
		results, err = c.o.Engine.CreateBulk(context.Background(), items)
	} else {
		results, err = c.o.Engine.CreateBulkOnce(context.Background(), *request, items, func() error {
			if len(typed) > 0 {
				return errHashFirst
			}
			return nil
		})
	}
	if err == errHashFirst {
		if err := c.hashPasswords(caller, typed); err != nil {
			return nil, err
		}
		return c.createItems(caller, request, items, nil)
	}
	if err != nil {
		c.o.Wrote("create", 1, err)
		return nil, err
	}
	written := 0
	for i := range results {
		switch {
		case items[i].Refused != nil:
		case results[i].Err != nil:
			c.o.Wrote("create", 1, results[i].Err)
		default:
			written++
		}
	}
	if written > 0 {
		c.o.Wrote("create", written, nil)
	}
	return results, nil
}
