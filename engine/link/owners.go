package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// A user may be deleted only if they own no link, and a create that began before the deletion may
// end after it: its caller was authenticated, its code is locked, or its commit is under way
// although nobody waits for it any more (ErrOutcomeUnknown). So every create, and every edit that gives
// a link away, enters the owner who gets the link, from before it locks a code until its commit has ended. RetireUser
// closes the owners of the user, waits until no create is in, and only then looks for links. So it is with a domain
// (RetireDomain). The invariants:
//
//  1. An owner that is settled as gone has no link, and gets none in the life of this process. No
//     earlier request outlives it.
//  2. A create that enters an owner that is being retired waits for the outcome, so a deletion that
//     is refused refuses no create. This cannot deadlock: a create enters its owner once and before
//     it locks codes, so nothing that it waits for waits to enter.
type owners struct {
	mu struct {
		sync.Mutex
		makers   map[uint32]int          // creates that are in, by owner; no value is 0
		retiring map[retiree]*retirement // whose links nobody may make at present
		gone     map[retiree]struct{}    // whose links nobody may make any more, at most maxGone
	}
}

// A retiree is the owners that are retired together: those of a user in all domains, or those of all users in a domain.
type retiree struct {
	user   uint32       // 0: all users
	domain index.Domain // unless there is a user
}

func (r retiree) has(owner uint32) bool {
	if r.user != 0 {
		return r.user == index.UserOf(owner)
	}
	return r.domain == index.DomainOf(owner)
}

// retireesOf returns both that an owner belongs to.
func retireesOf(owner uint32) [2]retiree {
	return [2]retiree{{user: index.UserOf(owner)}, {domain: index.DomainOf(owner)}}
}

// retirement is the state of a retiree.
type retirement struct {
	empty   chan struct{} // closed when no create is in
	settled chan struct{} // closed when it is known whether it is gone
}

// maxGone bounds those that are remembered as gone: 12 MB. Each is a user or a domain that was
// deleted since the process began.
const maxGone = 1 << 20

func (o *owners) init() {
	o.mu.makers = make(map[uint32]int)
	o.mu.retiring = make(map[retiree]*retirement)
	o.mu.gone = make(map[retiree]struct{})
}

// enter admits a create for owner. It waits for the end of a retirement until ctx is done:
// ErrOverloaded. It returns ErrOwnerGone or ErrDomainGone if the owner is gone.
func (o *owners) enter(ctx context.Context, owner uint32) error {
	for {
		wait, err := o.tryEnter(owner)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return errs.ErrOverloaded
		}
	}
}

// tryEnter enters owner, or returns a channel that is closed when the caller may try again.
func (o *owners) tryEnter(owner uint32) (wait <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, of := range retireesOf(owner) {
		if _, gone := o.mu.gone[of]; gone {
			return nil, of.errGone()
		}
		if r := o.mu.retiring[of]; r != nil {
			return r.settled, nil
		}
	}
	o.mu.makers[owner]++
	return nil, nil
}

func (r retiree) errGone() error {
	if r.user != 0 {
		return errs.ErrOwnerGone
	}
	return errs.ErrDomainGone
}

// leave ends a create for owner.
func (o *owners) leave(owner uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.makers[owner]--; o.mu.makers[owner] > 0 {
		return
	}
	delete(o.mu.makers, owner)
	for _, of := range retireesOf(owner) {
		if r := o.mu.retiring[of]; r != nil && !o.makesLocked(of) {
			close(r.empty)
		}
	}
}

// makesLocked reports whether a create is in for an owner of a retiree.
func (o *owners) makesLocked(of retiree) bool {
	for owner := range o.mu.makers {
		if of.has(owner) {
			return true
		}
	}
	return false
}

// close admits no create for a retiree until settle. It returns ErrOverloaded if it is already closed.
func (o *owners) close(of retiree) (*retirement, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.retiring[of] != nil {
		return nil, errs.ErrOverloaded
	}
	if len(o.mu.gone) >= maxGone {
		return nil, fmt.Errorf("%d users and domains were deleted since the server was started: restart it to delete more", maxGone)
	}
	r := &retirement{empty: make(chan struct{}), settled: make(chan struct{})}
	o.mu.retiring[of] = r
	if !o.makesLocked(of) {
		close(r.empty)
	}
	return r, nil
}

// settle ends a retirement: the retiree is gone, or creates may enter it again.
func (o *owners) settle(of retiree, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if gone {
		o.mu.gone[of] = struct{}{}
	}
	close(o.mu.retiring[of].settled)
	delete(o.mu.retiring, of)
}

// RetireUser returns when it is certain that a user has no link in any domain and gets none until settle is
// called. The caller must call settle once: with true if the user is gone for good, with false if
// it stays. RetireUser waits for creates under way until ctx is done, and creates that come
// meanwhile wait for settle. Errors, after which nothing has changed: ErrOwnsLinks; ErrOverloaded
// if a create did not end in time, or the user is already being retired.
func (ls *Links) RetireUser(ctx context.Context, user uint32) (settle func(gone bool), err error) {
	return ls.retire(ctx, retiree{user: user})
}

// RetireDomain is RetireUser for all links of a domain.
func (ls *Links) RetireDomain(ctx context.Context, d index.Domain) (settle func(gone bool), err error) {
	return ls.retire(ctx, retiree{domain: d})
}

func (ls *Links) retire(ctx context.Context, of retiree) (settle func(gone bool), err error) {
	if err := ls.checkOwnsNone(of); err != nil { // then nobody needs to wait
		return nil, err
	}
	r, err := ls.owners.close(of)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.empty:
		err = ls.checkOwnsNone(of)
	case <-ctx.Done():
		err = errs.ErrOverloaded
	}
	if err != nil {
		ls.owners.settle(of, false)
		return nil, err
	}
	return func(gone bool) { ls.owners.settle(of, gone) }, nil
}

// checkOwnsNone returns ErrOwnsLinks if an owner of a retiree has a live link.
func (ls *Links) checkOwnsNone(of retiree) error {
	r := AllIn(of.domain)
	if of.user != 0 {
		r = AllOwners
	}
	owners, err := ls.store.Owners(r, of.user)
	if err == nil && len(owners) > 0 {
		err = errs.ErrOwnsLinks
	}
	return err
}

// moveAtOnce bounds the links that MoveLinks gives away at once: they share commits.
const moveAtOnce = 64

// MoveLinks gives all links of a user, in all domains, to another one, the newest of a domain first, for by, and
// returns how many it has given away. It ends early when ctx is done: ErrOverloaded, and a repeat goes on. Errors:
// those of Give.
func (ls *Links) MoveLinks(ctx context.Context, user, to uint32, by *By) (moved uint64, err error) {
	owners, err := ls.store.Owners(AllOwners, user)
	for i := 0; i < len(owners) && err == nil; i++ {
		var n uint64
		n, err = ls.moveLinks(ctx, owners[i], index.OwnerIn(index.DomainOf(owners[i]), to), by)
		moved += n
	}
	return moved, err
}

func (ls *Links) moveLinks(ctx context.Context, owner, to uint32, by *By) (moved uint64, err error) {
	for {
		keys := make([]index.Key, 0, moveAtOnce)
		err := ls.store.ListLinks(owner, "", func(_ uint64, k index.KeyView) bool {
			keys = append(keys, k.Own())
			return len(keys) < moveAtOnce
		})
		switch {
		case err != nil:
			return moved, fmt.Errorf("listing links of owner %d: %w", owner, err)
		case len(keys) == 0:
			return moved, nil
		case ctx.Err() != nil:
			return moved, errs.ErrOverloaded
		}
		given := ls.giveAll(ctx, keys, Guard{Owner: owner, By: by}, to)
		for range keys {
			switch oneErr := <-given; {
			case oneErr == nil:
				moved++
			case !errors.Is(oneErr, errs.ErrNotFound): // it was deleted meanwhile, or somebody else gave it away
				err = oneErr
			}
		}
		if err != nil {
			return moved, err
		}
	}
}

// giveAll gives the links of keys to another owner, at once. The channel gets an outcome for each.
func (ls *Links) giveAll(ctx context.Context, keys []index.Key, g Guard, to uint32) <-chan error {
	given := make(chan error, len(keys))
	for _, k := range keys {
		go func() {
			_, err := ls.Give(ctx, k, g, to, func(*Record) error { return nil })
			given <- err
		}()
	}
	return given
}

// Owners returns the owners in a range that have live links, in order; with a user, only those of that one.
func (ls *Links) Owners(r OwnerRange, user uint32) ([]uint32, error) {
	return ls.store.Owners(r, user)
}

// CountLinks returns how many live links a user has in the domains that in accepts, at most limit; more: there are
// more.
func (ls *Links) CountLinks(user uint32, limit uint64, in func(index.Domain) bool) (n uint64, more bool, err error) {
	owners, err := ls.store.Owners(AllOwners, user)
	owners = slices.DeleteFunc(owners, func(owner uint32) bool { return !in(index.DomainOf(owner)) })
	for i := 0; i < len(owners) && err == nil && !more; i++ {
		err = ls.store.ListLinks(owners[i], "", func(uint64, index.KeyView) bool {
			if more = n == limit; !more {
				n++
			}
			return !more
		})
	}
	if err != nil {
		return 0, false, fmt.Errorf("counting links of user %d: %w", user, err)
	}
	return n, more, nil
}
