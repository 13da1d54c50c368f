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
	"shunt/api/folder"
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

	Crossed uint64   // of a TakeBack: those that others have changed since
	Back    []Former // takes all of the change back; nil: it cannot be, or there is too much of it
}

// A RefusedLink is a link that was not changed.
type RefusedLink struct {
	engine.Key
	Err error
}

// Done returns how many links were looked at.
func (s *SeveralDone) Done() uint64 { return s.Changed + s.Same + s.Gone + s.Refused + s.Crossed }

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
	back := new(formers)
	one, err := c.changeOf(caller, &s, back)
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
		err = c.changeKeys(ctx, s.Keys, one, &done)
	} else {
		err = c.changeListed(ctx, caller, &s, one, &done)
	}
	if err == nil && !done.More && uint64(len(back.all)) == done.Changed {
		done.Back = back.all
	}
	return done, err
}

func (c *Calls) changeKeys(ctx context.Context, keys []engine.Key, one change, done *SeveralDone) error {
	n, err := c.changeEach(ctx, keys, one, done)
	done.Left, done.More = keys[n:], n < len(keys)
	return err
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
	case errors.Is(one.err, engine.ErrVersion):
		s.Crossed++
	default:
		s.Refused++
		if len(s.Why) < maxWhy {
			s.Why = append(s.Why, RefusedLink{k, one.err})
		}
	}
}

// changeOf returns what s does with each link, or why it could not be done with any. What takes that back is added to
// back.
func (c *Calls) changeOf(caller account.Caller, s *Several, back *formers) (change, error) {
	x := severalChange{Calls: c, caller: caller, whose: s.Whose, by: c.by(caller), mayPut: c.mover(caller), back: back}
	if s.Delete {
		return x.delete, nil
	}
	body := s.Patch
	for _, other := range []jsonbody.Body{s.Tags, s.NoTags} {
		if other.Text != nil {
			body = other
		}
	}
	p, err := c.parsePatch(body, nil)
	if err == nil && p.draft.Password != "" {
		err = errOnePassword
	}
	if err != nil {
		return nil, err
	}
	switch x.to = p.draft.Owner; {
	case x.to != 0 && !caller.Has(account.Admin):
		return nil, errOwnerNeedsAdmin
	case x.to != 0:
		if x.may, err = c.ownersDomains(x.to); err != nil {
			return nil, err
		}
	}
	p.mayPut, x.apply = x.mayPut, p.apply
	switch tags := p.draft.Tags; {
	case s.Tags.Text != nil:
		x.apply = func(rec *engine.Record) error { return addTags(rec, tags) }
	case s.NoTags.Text != nil:
		x.apply = func(rec *engine.Record) error { return removeTags(rec, tags) }
	}
	return x.edit, nil
}

// errOnePassword is the error of a password for several links, of which each would cost a hash.
var errOnePassword = jsonbody.FieldError("password", codeConflict, "cannot be set for several links at once")

// A severalChange is what a Several does with each of its links. Any number of goroutines may call its methods edit and
// delete at once.
type severalChange struct {
	*Calls
	caller account.Caller
	whose  Whose
	by     *engine.By
	apply  func(*engine.Record) error
	to     uint32          // the user who gets the links; 0: they keep their owners
	may    account.Domains // those of that user
	mayPut func(rec *engine.Record, folder uint32) bool
	back   *formers
}

// guard returns what a link must be, and whose links are asked for in its domain.
func (x *severalChange) guard(k engine.Key) (w Whose, g engine.Guard) {
	w = x.whose
	w.Domain, w.Every = k.Domain, false
	g = x.guardOfMember(x.caller, w)
	g.By = x.by
	return w, g
}

// edit is a change that edits a link.
func (x *severalChange) edit(k engine.Key) (changed bool, err error) {
	if !x.may.Has(k.Domain) {
		return false, errOwnerElsewhere
	}
	w, g := x.guard(k)
	to := x.to
	if to != 0 {
		to = engine.OwnerIn(k.Domain, to)
	}
	var was engine.Record
	d, err := x.o.Engine.Give(context.Background(), k, g, to, func(rec *engine.Record) error {
		was = *rec
		was.Cold.Tags = slices.Clone(rec.Cold.Tags)
		return x.apply(rec)
	})
	x.o.Wrote("update", 1, err)
	if errors.Is(err, engine.ErrOwnerGone) {
		err = errUnknownOwner
	}
	if changed = d.Version != was.Cold.Version; err == nil && changed {
		x.back.add(func() (Former, bool) { return x.former(w, &was, d) })
	}
	return changed, err
}

// former returns what gives a link its values back, of which d is what it is now. exact is false if the caller could
// not do that.
func (x *severalChange) former(w Whose, was *engine.Record, d engine.Detail) (f Former, exact bool) {
	before, after := x.shown(was.Detail(x.o.Now())), x.shown(d)
	f = Former{Key: d.Key, Version: d.Version, Patch: undoing(&before, &after, true)}
	edits := x.caller.Has(account.Admin) || w.has(d.Owner) || x.sharedRight(x.caller, w, d.Folder) == folder.Edit
	moves := before.Folder == 0 || before.Folder == after.Folder || x.mayPut(was, before.Folder)
	if f.Patch == nil || !edits || !moves {
		return f, false
	}
	_, err := x.parsePatch(jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: f.Patch}, nil) // such as an expiry that has passed
	return f, err == nil
}

// delete is a change that deletes a link. What takes it back must name the version that the link had: so it reads the
// link before, and deletes what it has read.
func (x *severalChange) delete(k engine.Key) (bool, error) {
	w, g := x.guard(k)
	mine := false
	if x.back.wanted() {
		if d, err := x.o.Engine.Read(k); err == nil {
			g.Version, mine = d.Version, x.caller.Has(account.Admin) || w.has(d.Owner)
		}
	}
	version := g.Version
	err := x.o.Engine.Delete(context.Background(), k, g)
	if errors.Is(err, engine.ErrVersion) { // it was edited in between
		g.Version, mine = 0, false
		err = x.o.Engine.Delete(context.Background(), k, g)
	}
	x.o.Wrote("delete", 1, err)
	if err == nil {
		x.back.add(func() (Former, bool) { return Former{Key: k, Version: version}, mine })
	}
	return true, err
}

// Limits of what takes a change of several links back, which a form keeps. Of a change of more it is nothing.
const (
	MaxFormers      = 500
	maxFormersBytes = 32 << 10 // of codes and patches
)

// A Former takes a change of one of several links back, unless somebody has changed the link since.
type Former struct {
	engine.Key
	Version uint64          // that the change has made; of a link that was deleted, the last that it had
	Patch   json.RawMessage // gives the link the values back that it had; nil: it was deleted, and is restored
}

// formers gathers what takes a change back, as long as it takes all of that back and is not too much. Any number of
// goroutines may add to it at once.
type formers struct {
	mu    sync.Mutex
	all   []Former
	bytes int
	none  bool // there is nothing that takes all of it back
}

// wanted reports whether what takes a change of one more link back is added.
func (f *formers) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.none = f.none || len(f.all) == MaxFormers || f.bytes > maxFormersBytes
	return !f.none
}

// add adds what takes a change of one link back, which of returns if it is wanted; exact is false if it does not.
func (f *formers) add(of func() (one Former, exact bool)) {
	if !f.wanted() {
		return
	}
	one, exact := of()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.none = f.none || !exact || len(f.all) == MaxFormers; f.none {
		f.all = nil
		return
	}
	f.all = append(f.all, one)
	f.bytes += len(one.Code) + len(one.Patch)
}

// TakeBack takes a change of at most MaxFormers links back: each that is still as the change has left it gets its
// values again, or comes out of the trash. Like the change it is not one transaction, and may end before the last link.
func (c *Calls) TakeBack(caller account.Caller, w Whose, all []Former) (done SeveralDone, err error) {
	if err := errors.Join(mayChange(caller), mayUse(caller, w)); err != nil {
		return done, err
	}
	if len(all) > MaxFormers {
		return done, problem.New(problem.BadRequest, "at most %d links are changed back at a time", MaxFormers)
	}
	keys, of := make([]engine.Key, len(all)), make(map[engine.Key]Former, len(all))
	for i, f := range all {
		keys[i], of[f.Key] = f.Key, f
	}
	if err := c.retags.Take(KeyOf(caller)); err != nil {
		return done, err
	}
	defer c.retags.Leave(KeyOf(caller))
	ctx, cancel := context.WithTimeout(context.Background(), severalPatience)
	defer cancel()
	err = c.changeKeys(ctx, keys, func(k engine.Key) (bool, error) { return c.takeBack(caller, w, of[k]) }, &done)
	return done, err
}

// takeBack takes a change of one link back.
func (c *Calls) takeBack(caller account.Caller, w Whose, f Former) (changed bool, err error) {
	w.Domain, w.Every = f.Domain, false
	if f.Patch == nil {
		_, err = c.Restore(caller, f.Code, w, []uint64{f.Version})
		return true, err
	}
	body := jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: f.Patch}
	switch p, err := c.parsePatch(body, nil); {
	case err != nil:
		return false, err
	case p.draft.Password != "":
		return false, errOnePassword
	}
	l, err := c.Update(caller, f.Code, w, []uint64{f.Version}, body)
	return l.Version != f.Version, err
}
