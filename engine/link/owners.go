package link

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// A user may be deleted only if they own no link, and a create that began before the deletion may
// end after it: its caller was authenticated, its code is locked, or its commit is under way
// although nobody waits for it any more (ErrOutcomeUnknown). So every create, and every edit that gives
// a link away, enters the owner who gets the link, from before it locks a code until its commit has ended. RetireOwner
// closes the owner, waits until no create is in, and only then looks for links. The invariants:
//
//  1. An owner that is settled as gone has no link, and gets none in the life of this process. No
//     earlier request outlives it.
//  2. A create that enters an owner that is being retired waits for the outcome, so a deletion that
//     is refused refuses no create. This cannot deadlock: a create enters its owner once and before
//     it locks codes, so nothing that it waits for waits to enter.
type owners struct {
	mu struct {
		sync.Mutex
		makers   map[uint32]int         // creates that are in, by owner; no value is 0
		retiring map[uint32]*retirement // owners that nobody may enter at present
		gone     map[uint32]struct{}    // owners that nobody may enter any more, at most maxGoneOwners
	}
}

// retirement is the state of an owner that is being retired.
type retirement struct {
	empty   chan struct{} // closed when no create is in
	settled chan struct{} // closed when it is known whether the owner is deleted
}

// maxGoneOwners bounds the owners that are remembered as gone: 12 MB. Each is a user that was
// deleted since the process began.
const maxGoneOwners = 1 << 20

func (o *owners) init() {
	o.mu.makers = make(map[uint32]int)
	o.mu.retiring = make(map[uint32]*retirement)
	o.mu.gone = make(map[uint32]struct{})
}

// enter admits a create for owner. It waits for the end of a retirement until ctx is done:
// ErrOverloaded. It returns ErrOwnerGone if the owner is gone.
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
	if _, gone := o.mu.gone[owner]; gone {
		return nil, errs.ErrOwnerGone
	}
	if r := o.mu.retiring[owner]; r != nil {
		return r.settled, nil
	}
	o.mu.makers[owner]++
	return nil, nil
}

// leave ends a create for owner.
func (o *owners) leave(owner uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.makers[owner]--; o.mu.makers[owner] > 0 {
		return
	}
	delete(o.mu.makers, owner)
	if r := o.mu.retiring[owner]; r != nil {
		close(r.empty)
	}
}

// close admits no create for owner until settle. It returns ErrOverloaded if owner is already
// closed.
func (o *owners) close(owner uint32) (*retirement, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.retiring[owner] != nil {
		return nil, errs.ErrOverloaded
	}
	if len(o.mu.gone) >= maxGoneOwners {
		return nil, fmt.Errorf("%d users were deleted since the server was started: restart it to delete more", maxGoneOwners)
	}
	r := &retirement{empty: make(chan struct{}), settled: make(chan struct{})}
	o.mu.retiring[owner] = r
	if o.mu.makers[owner] == 0 {
		close(r.empty)
	}
	return r, nil
}

// settle ends the retirement of owner: it is gone, or creates may enter it again.
func (o *owners) settle(owner uint32, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if gone {
		o.mu.gone[owner] = struct{}{}
	}
	close(o.mu.retiring[owner].settled)
	delete(o.mu.retiring, owner)
}

// RetireOwner returns when it is certain that owner has no link and gets none until settle is
// called. The caller must call settle once: with true if the owner is gone for good, with false if
// it stays. RetireOwner waits for creates under way until ctx is done, and creates that come
// meanwhile wait for settle. Errors, after which nothing has changed: ErrOwnsLinks; ErrOverloaded
// if a create did not end in time, or owner is already being retired.
func (ls *Links) RetireOwner(ctx context.Context, owner uint32) (settle func(gone bool), err error) {
	if err := ls.checkOwnsNone(owner); err != nil { // then nobody needs to wait
		return nil, err
	}
	r, err := ls.owners.close(owner)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.empty:
		err = ls.checkOwnsNone(owner)
	case <-ctx.Done():
		err = errs.ErrOverloaded
	}
	if err != nil {
		ls.owners.settle(owner, false)
		return nil, err
	}
	return func(gone bool) { ls.owners.settle(owner, gone) }, nil
}

// checkOwnsNone returns ErrOwnsLinks if owner has a live link.
func (ls *Links) checkOwnsNone(owner uint32) error {
	owns := false
	err := ls.store.ListLinks(owner, "", func(uint64, index.Key) bool {
		owns = true
		return false
	})
	switch {
	case err != nil:
		return fmt.Errorf("listing links of owner %d: %w", owner, err)
	case owns:
		return errs.ErrOwnsLinks
	}
	return nil
}

// moveAtOnce bounds the links that MoveLinks gives away at once: they share commits.
const moveAtOnce = 64

// MoveLinks gives all links of owner to another one, the newest first, for by, and returns how many it has given
// away. It ends early when ctx is done: ErrOverloaded, and a repeat goes on. Errors: those of Give.
func (ls *Links) MoveLinks(ctx context.Context, owner, to uint32, by *By) (moved uint64, err error) {
	for {
		keys := make([]index.Key, 0, moveAtOnce)
		err := ls.store.ListLinks(owner, "", func(_ uint64, k index.Key) bool {
			keys = append(keys, k)
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

// CountLinks returns how many live links owner has, at most limit; more: there are more.
func (ls *Links) CountLinks(owner uint32, limit uint64) (n uint64, more bool, err error) {
	err = ls.store.ListLinks(owner, "", func(uint64, index.Key) bool {
		if more = n == limit; !more {
			n++
		}
		return !more
	})
	if err != nil {
		return 0, false, fmt.Errorf("counting links of owner %d: %w", owner, err)
	}
	return n, more, nil
}
