package link

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// A create may ask to reuse a link (Draft.Reuse): it is answered with the newest active link of the same owner that was
// itself made so, or with Draft.Reusable, leads to the same target, and is what the draft asks for; only without one it
// makes a link. The store finds those links by a row for each, of the owner and a hash of the target
// (Listing.Reusable). That row is all that Reusable costs a create. Other links have no such row, and other creates
// look for none. The invariants:
//
//  1. Creates with reuse of one owner and target wait for each other, from before they look until their commit has
//     ended, however late. So what one of them makes, the next one finds, also if the first caller stopped waiting.
//  2. They look in a listing, which has durable writes only, and nothing of it is decided by the hash: a record has
//     the target, or it is passed over.
//  3. A create takes this lock before it enters an owner and before it locks a code, and a bulk takes all of its locks
//     in their order. So whoever holds one waits only for what comes later in the order, and there is no circle.
//
// In a cluster only the leader makes links, and it looks inside the gate: so locks in its memory are enough. There is
// one for each create under way, and the store bounds how many of these wait for it.

// A reuseKey is what creates wait for: the links of an owner to targets of a hash.
type reuseKey struct {
	owner uint32
	hash  uint64
}

func (k reuseKey) compare(other reuseKey) int {
	return cmp.Or(cmp.Compare(k.owner, other.owner), cmp.Compare(k.hash, other.hash))
}

// reuseKey returns the key of d.
func (d *Draft) reuseKey() reuseKey { return reuseKey{d.Owner, HashTarget(d.Target)} }

// HashTarget returns the hash of a target in the index of links to reuse: the first bytes of its SHA-256. It has no
// key, so that it is the same on all nodes, after a restore, and for a check: whoever makes two targets with one hash
// only makes their own creates compare a little more.
func HashTarget(target string) uint64 {
	sum := sha256.Sum256(bytesOf(target))
	return binary.BigEndian.Uint64(sum[:])
}

const (
	// maxReusable is how many links of one owner and target a create compares: with other titles, for example.
	maxReusable = 100

	// maxBulkReusable is how many links a bulk reads for all its items, of each target the newest. It has them in
	// memory together, and takes turns with nobody for it: 10,000 records take some 0.1 s. So of 100 different targets
	// each has as many as a create, and of 1000 each has 10.
	maxBulkReusable = 100 * maxReusable

	// reuseAttempts bounds how often a create looks again because the link that it found has changed meanwhile.
	reuseAttempts = 16
)

// A reuseLock holds the locks of keys, and is inside the gate.
type reuseLock struct {
	links    *Links
	keys     []reuseKey
	passedOn bool // to the commit of a link, which unlocks it
}

// lockReuse takes the locks of keys, which are in their order and not there twice. It waits for other creates until ctx
// is done: ErrOverloaded. It also returns ErrNotLeader.
func (ls *Links) lockReuse(ctx context.Context, keys []reuseKey) (*reuseLock, error) {
	if err := ls.gate.enter(); err != nil {
		return nil, err
	}
	l := &reuseLock{links: ls, keys: keys[:0]}
	for _, k := range keys {
		if !ls.reuses.lock(ctx, k) {
			l.unlock()
			return nil, errs.ErrOverloaded
		}
		l.keys = append(l.keys, k)
	}
	return l, nil
}

func (l *reuseLock) unlock() {
	for _, k := range l.keys {
		l.links.reuses.unlock(k)
	}
	l.links.gate.leave()
}

// createReusing is create for a draft with Reuse.
func (ls *Links) createReusing(ctx context.Context, n *newLink, d *Draft, o *once) (existed bool, err error) {
	held, err := ls.lockReuse(ctx, []reuseKey{d.reuseKey()})
	if err != nil {
		return false, err
	}
	defer func() {
		if !held.passedOn {
			held.unlock()
		}
	}()
	for range reuseAttempts {
		found, err := ls.reusable(ctx, d)
		switch {
		case err != nil:
			return false, err
		case found == nil:
			return false, ls.createDrawn(ctx, n, d, o, held)
		case o == nil: // nothing to write
			n.detail = *found
			return true, nil
		}
		if n.detail, err = ls.receiptOfReused(ctx, found.Key, d, o); !errors.Is(err, errs.ErrTaken) {
			return true, err
		}
	}
	return false, errs.ErrOverloaded
}

// receiptOfReused writes the receipt of a request that reuses the link of k. ErrTaken: the link is another one by now.
func (ls *Links) receiptOfReused(ctx context.Context, k index.Key, d *Draft, o *once) (Detail, error) {
	l, err := ls.lockCodeFor(ctx, d.Owner, k)
	if err != nil {
		return Detail{}, err
	}
	m, detail, err := ls.existingAs(ctx, k, d.reuses)
	if err != nil {
		l.unlock()
		return Detail{}, err
	}
	m.Receipt = o.receipt(true, detail.Hits, ls.now())
	if err := ls.commit(ctx, l, m, o, nil); err != nil {
		return Detail{}, err
	}
	return detail, nil
}

// reusable returns the link that d reuses, nil if there is none. The caller has the lock of d's key.
func (ls *Links) reusable(ctx context.Context, d *Draft) (found *Detail, err error) {
	listing, err := ls.store.Listing(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, listing.Close()) }()
	return ls.reusableIn(ctx, listing, d)
}

func (ls *Links) reusableIn(ctx context.Context, listing Listing, d *Draft) (found *Detail, err error) {
	err = ls.eachReusable(ctx, listing, d.reuseKey(), maxReusable, func(l Detail) bool {
		if d.reuses(&l) {
			found = &l
		}
		return found == nil
	})
	return found, err
}

// eachReusable calls fn for the links of k that were made to be reused, the newest first and at most limit, until it
// returns false. Their targets may be others of the same hash.
func (ls *Links) eachReusable(ctx context.Context, listing Listing, k reuseKey, limit int, fn func(Detail) bool) (err error) {
	folded := false
	errRead := listing.Reusable(k.owner, k.hash, limit, func(rec *Record) bool {
		if !folded { // a cap may be reached
			if err = ls.hits.FoldNow(ctx); err != nil {
				return false
			}
			folded = true
		}
		return !rec.Cold.Reuse || fn(ls.detail(rec))
	})
	return errors.Join(err, errRead)
}

// reuses reports whether d asks for the link l, of its owner, or one like it.
func (d *Draft) reuses(l *Detail) bool {
	return l.State == StateActive && l.Owner == d.Owner && l.Target == d.Target && d.Same != nil && d.Same(*l)
}

// existing returns the live link exact and the mutation that writes it again, if d asks for that
// link. Otherwise it returns ErrTaken.
func (ls *Links) existing(ctx context.Context, exact *Hot, d *Draft) (m Mutation, detail Detail, err error) {
	if d.Alias == "" || d.Same == nil || exact.Owner != d.Owner {
		return Mutation{}, Detail{}, takenError(exact, d)
	}
	m, detail, err = ls.existingAs(ctx, exact.Key, func(l *Detail) bool { return d.Same(*l) })
	if errors.Is(err, errs.ErrTaken) {
		err = takenError(exact, d)
	}
	return m, detail, err
}

// existingAs returns the live link of k and the mutation that writes it again, if it is the same as a caller asks for.
// Otherwise it returns ErrTaken. The caller has the lock of the code.
func (ls *Links) existingAs(
	ctx context.Context, k index.Key, same func(*Detail) bool,
) (m Mutation, detail Detail, err error) {
	old, err := ls.store.ReadRecord(k)
	switch {
	case errors.Is(err, errs.ErrNotFound), err == nil && old.Hot.Flags&index.FlagTombstone != 0:
		return Mutation{}, Detail{}, errs.ErrTaken
	case err != nil:
		return Mutation{}, Detail{}, fmt.Errorf("reading link %q: %w", k.Code, err)
	}
	if err := ls.hits.FoldNow(ctx); err != nil {
		return Mutation{}, Detail{}, err
	}
	if detail = ls.detail(&old); !same(&detail) {
		return Mutation{}, Detail{}, errs.ErrTaken
	}
	return Mutation{Hot: old.Hot, Cold: old.Cold, Before: &old}, detail, nil
}

// bulkReuse is what a bulk has if items of it reuse links.
type bulkReuse struct {
	lock    *reuseLock
	listing Listing               // of a moment after the locks were taken
	limit   int                   // of the links of one key
	there   map[reuseKey][]Detail // what the listing has of the keys that were looked up
	made    map[reuseKey][]int32  // items whose links are about to be made
}

// lockReuse takes the locks of all items that reuse links.
func (b *bulk) lockReuse(ctx context.Context) error {
	var keys []reuseKey
	for i := range b.items {
		if item := &b.items[i]; item.Draft.Reuse && item.Refused == nil {
			keys = append(keys, item.Draft.reuseKey())
		}
	}
	if keys == nil {
		return nil
	}
	slices.SortFunc(keys, reuseKey.compare)
	keys = slices.Compact(keys)
	lock, err := b.links.lockReuse(ctx, keys)
	if err == nil {
		limit := min(maxReusable, max(1, maxBulkReusable/len(keys)))
		b.reuse = &bulkReuse{lock: lock, limit: limit, there: make(map[reuseKey][]Detail), made: make(map[reuseKey][]int32)}
	}
	return err
}

// openReusable opens the listing in which items find links.
func (b *bulk) openReusable(ctx context.Context) (err error) {
	if b.reuse != nil {
		b.reuse.listing, err = b.links.store.Listing(ctx)
	}
	return err
}

func (b *bulk) closeReusable() error {
	if b.reuse == nil || b.reuse.listing == nil {
		return nil
	}
	return b.reuse.listing.Close()
}

// takeReusable finds the link that an item reuses: the newest is one that an earlier item makes.
func (b *bulk) takeReusable(ctx context.Context, d *Draft, result *BulkResult) error {
	k := d.reuseKey()
	made := b.reuse.made[k]
	for i := len(made) - 1; i >= max(0, len(made)-maxReusable); i-- {
		if earlier := &b.results[made[i]].Detail; d.reuses(earlier) {
			*result = BulkResult{Detail: *earlier, Existed: true}
			return nil
		}
	}
	there, err := b.reusable(ctx, k)
	if i := slices.IndexFunc(there, func(l Detail) bool { return d.reuses(&l) }); err == nil && i >= 0 {
		*result = BulkResult{Detail: there[i], Existed: true}
	}
	return err
}

// reusable returns the links of k that the store has, the newest first. It reads them once for all items of k:
// otherwise 1,000 items of one target would read 100 records each.
func (b *bulk) reusable(ctx context.Context, k reuseKey) ([]Detail, error) {
	there, known := b.reuse.there[k]
	if known {
		return there, nil
	}
	err := b.links.eachReusable(ctx, b.reuse.listing, k, b.reuse.limit, func(l Detail) bool {
		there = append(there, l)
		return true
	})
	if err == nil {
		b.reuse.there[k] = there
	}
	return there, err
}

// madeReusable notes that item i makes a link, if it does, which later items may reuse.
func (b *bulk) madeReusable(i int, d *Draft, result *BulkResult) {
	if k := d.reuseKey(); result.Detail.ID != 0 {
		b.reuse.made[k] = append(b.reuse.made[k], int32(i))
	}
}
