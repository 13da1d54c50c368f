package ops

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/search"
)

// Limits of a change of several links. Each link is changed by itself, some thousand a second, as those of a tag are
// (tags.go), and a call ends well before a request must: its answer says where the next one goes on.
const (
	MaxSeveral      = 10_000 // links that a call changes
	severalPatience = 10 * time.Second
	severalWriters  = 32 // links that are changed at once, so that they share commits
	maxWhy          = 10 // refused links that are named
)

// A Several asks for a change of several links: those of Keys, or, if that is nil, those of a list at this moment. Of
// the list neither order nor length matter: it begins with the newest, or after List.Cursor.
type Several struct {
	Whose Whose
	Keys  []engine.Key // at most engine.MaxListed; their domains, not that of Whose, are meant
	List  ListQuery

	Tags, NoTags jsonbody.Body // {"tags": …} that each link gets, or loses; empty: none
	Patch        jsonbody.Body // as of an Update; empty: none
	Delete       bool
}

// A SeveralDone is what became of a Several.
type SeveralDone struct {
	Changed uint64
	Same    uint64 // that were so already
	Gone    uint64 // that were deleted, or given away, before their turn
	Refused uint64
	Why     []RefusedLink // the first of them

	Left []engine.Key // of Keys: those that were not looked at
	Next string       // of a list: the cursor with which it goes on; empty, if More is true: at its beginning
	More bool         // links are left
}

// A RefusedLink is a link that was not changed.
type RefusedLink struct {
	engine.Key
	Err error
}

// Done returns how many links were looked at.
func (s *SeveralDone) Done() uint64 { return s.Changed + s.Same + s.Gone + s.Refused }

// change is what a Several does with one link. changed is false if the link was so already.
type change func(k engine.Key) (changed bool, err error)

// in is what x does with a link of domains; those of others are not there.
func (x change) in(domains account.Domains) change {
	return func(k engine.Key) (bool, error) {
		if !domains.Has(k.Domain) {
			return false, engine.ErrNotFound
		}
		return x(k)
	}
}

// ChangeSeveral changes several links, each by an operation of its own, with its own version and entry in the audit
// log. It is not one transaction: when it fails, done says what was changed before, and where to go on.
func (c *Calls) ChangeSeveral(caller account.Caller, s Several) (done SeveralDone, err error) {
	if err := errors.Join(mayChange(caller), mayUse(caller, s.Whose)); err != nil {
		return done, err
	}
	if s.List.State == engine.StateDeleted {
		return done, problem.New(problem.BadRequest, "links in the trash are not changed")
	}
	one, err := c.changeOf(caller, &s)
	if err != nil {
		return done, err
	}
	if caller.Domains.Limited() {
		one = one.in(caller.Domains)
	}
	if len(s.Keys) > engine.MaxListed {
		return done, problem.New(problem.BadRequest, "at most %d links are changed by their codes at a time", engine.MaxListed)
	}
	if err := c.retags.Take(KeyOf(caller)); err != nil {
		return done, err
	}
	defer c.retags.Leave(KeyOf(caller))
	ctx, cancel := context.WithTimeout(context.Background(), severalPatience)
	defer cancel()
	if s.Keys != nil {
		n, err := c.changeEach(ctx, s.Keys, one, &done)
		done.Left, done.More = s.Keys[n:], n < len(s.Keys)
		return done, err
	}
	return done, c.changeListed(ctx, caller, &s, one, &done)
}

// changeListed changes the links of a list, page by page. Each page is of the moment at which it is read.
func (c *Calls) changeListed(ctx context.Context, caller account.Caller, s *Several, one change, done *SeveralDone) error {
	q := s.List
	q.Whose, q.Limit, q.Order, q.Ascending, q.Unique, q.Summed, q.Total = s.Whose, engine.MaxListed, "", false, false, false, false
	done.Next, done.More = q.Cursor, true
	recheck := c.Recheck(caller, s.Whose, account.LinksWrite)
	for done.More && done.Done() < MaxSeveral && ctx.Err() == nil {
		if err := recheck(); err != nil {
			return err
		}
		q.Cursor = done.Next
		page, err := c.severalOf(caller, q, MaxSeveral-int(done.Done()))
		if err != nil {
			return err
		}
		keys := make([]engine.Key, len(page.Links))
		for i := range page.Links {
			keys[i] = page.Links[i].Key
		}
		n, err := c.changeEach(ctx, keys, one, done)
		switch {
		case n == len(keys):
			done.Next, done.More = page.Next, page.Next != ""
		case n > 1: // the first may be one that comes before all others, whatever its id
			done.Next = c.cursors.encode(&q, search.Place{ID: page.Links[n-1].ID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// severalOf reads a page of at most n links.
func (c *Calls) severalOf(caller account.Caller, q ListQuery, n int) (page Page, err error) {
	release, err := c.BeginHeavyPatiently(caller)
	if err != nil {
		return page, err
	}
	defer release()
	q.Limit = min(q.Limit, n)
	err = c.List(caller, q, func(p Page) error {
		page = p
		return nil
	})
	return page, err
}

// changeEach changes links, several at once. When ctx is done, or after an error that is not about one link, it begins
// no further one. It returns how many of the first codes are done, which it has counted. Some behind an error may be
// done, too, and do no harm if they come again.
func (c *Calls) changeEach(ctx context.Context, keys []engine.Key, one change, done *SeveralDone) (n int, err error) {
	var next atomic.Int64
	var writing sync.WaitGroup
	var failed atomic.Bool
	results := make([]oneDone, len(keys))
	for range min(severalWriters, len(keys)) {
		writing.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(keys) {
					return
				}
				changed, err := one(keys[i])
				if results[i] = (oneDone{true, changed, err}); general(err) {
					failed.Store(true)
				}
			}
		})
	}
	writing.Wait()
	for n < len(keys) && results[n].looked {
		if err := results[n].err; general(err) {
			return n, err
		}
		done.count(keys[n], results[n])
		n++
	}
	return n, nil
}

// oneDone is what became of one link, if it was looked at.
type oneDone struct {
	looked, changed bool
	err             error
}

// general reports whether an error is one that other links would meet, too.
func general(err error) bool {
	p, known := problem.Of(err)
	return err != nil && !errors.Is(err, engine.ErrNotFound) && (!known || p.Kind.Status >= 500)
}

// count counts what became of a link.
func (s *SeveralDone) count(k engine.Key, one oneDone) {
	switch {
	case one.err == nil && one.changed:
		s.Changed++
	case one.err == nil:
		s.Same++
	case errors.Is(one.err, engine.ErrNotFound):
		s.Gone++
	default:
		s.Refused++
		if len(s.Why) < maxWhy {
			s.Why = append(s.Why, RefusedLink{k, one.err})
		}
	}
}

// changeOf returns what s does with each link, or why it could not be done with any.
func (c *Calls) changeOf(caller account.Caller, s *Several) (change, error) {
	by := c.by(caller)
	guard := func(k engine.Key) engine.Guard {
		w := s.Whose
		w.Domain = k.Domain
		g := c.guardOfMember(caller, w)
		g.By = by
		return g
	}
	if s.Delete {
		return func(k engine.Key) (bool, error) {
			err := c.o.Engine.Delete(context.Background(), k, guard(k))
			c.o.Wrote("delete", 1, err)
			return true, err
		}, nil
	}
	body := s.Patch
	for _, other := range []jsonbody.Body{s.Tags, s.NoTags} {
		if other.Text != nil {
			body = other
		}
	}
	p, err := c.parsePatch(body, nil)
	if err == nil && p.draft.Password != "" {
		err = jsonbody.FieldError("password", codeConflict, "cannot be set for several links at once")
	}
	if err != nil {
		return nil, err
	}
	to, may := p.draft.Owner, account.Domains{}
	switch {
	case to != 0 && !caller.Has(account.Admin):
		return nil, errOwnerNeedsAdmin
	case to != 0:
		if may, err = c.ownersDomains(to); err != nil {
			return nil, err
		}
	}
	p.mayPut = c.mover(caller)
	apply := p.apply
	switch tags := p.draft.Tags; {
	case s.Tags.Text != nil:
		apply = func(rec *engine.Record) error { return addTags(rec, tags) }
	case s.NoTags.Text != nil:
		apply = func(rec *engine.Record) error { return removeTags(rec, tags) }
	}
	return func(k engine.Key) (bool, error) {
		if !may.Has(k.Domain) {
			return false, errOwnerElsewhere
		}
		return c.changeLink(k, guard(k), to, apply)
	}, nil
}

// changeLink edits one of several links.
func (c *Calls) changeLink(k engine.Key, g engine.Guard, to uint32, apply func(*engine.Record) error) (changed bool, err error) {
	before := uint64(0)
	if to != 0 {
		to = engine.OwnerIn(k.Domain, to)
	}
	d, err := c.o.Engine.Give(context.Background(), k, g, to, func(rec *engine.Record) error {
		before = rec.Cold.Version
		return apply(rec)
	})
	c.o.Wrote("update", 1, err)
	if errors.Is(err, engine.ErrOwnerGone) {
		err = errUnknownOwner
	}
	return d.Version != before, err
}

func addTags(rec *engine.Record, tags []string) error {
	for _, tag := range tags {
		if !engine.HasTag(rec.Cold.Tags, tag) {
			rec.Cold.Tags = append(rec.Cold.Tags, tag)
		}
	}
	return nil
}

func removeTags(rec *engine.Record, tags []string) error {
	rec.Cold.Tags = slices.DeleteFunc(rec.Cold.Tags, func(tag string) bool { return engine.HasTag(tags, tag) })
	return nil
}

// TagsBody returns the body of a change of tags.
func TagsBody(tags []string) jsonbody.Body {
	text, _ := json.Marshal(map[string][]string{"tags": slices.Clone(tags)}) // texts: it cannot fail
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}
}
