package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

// keyLocks are locks by key. Memory holds those that are taken.
type keyLocks[K comparable] struct {
	mu struct {
		sync.Mutex
		held map[K]chan struct{} // closed on unlock
	}
}

func (l *keyLocks[K]) init() { l.mu.held = make(map[K]chan struct{}) }

// lock takes the lock of k. It waits for the present holder until ctx is done: then it returns false.
func (l *keyLocks[K]) lock(ctx context.Context, k K) (taken bool) {
	for {
		held := l.tryLock(k)
		if held == nil {
			return true
		}
		select {
		case <-held:
		case <-ctx.Done():
			return false
		}
	}
}

// tryLock takes the lock of k and returns nil, or returns a channel that is closed when the holder unlocks it.
func (l *keyLocks[K]) tryLock(k K) (held <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, taken := l.mu.held[k]; taken {
		return held
	}
	l.mu.held[k] = make(chan struct{})
	return nil
}

func (l *keyLocks[K]) unlock(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.mu.held[k])
	delete(l.mu.held, k)
}

// codeLock is the lock of a code, and the owner that was entered for it.
type codeLock struct {
	index.CodeLock
	owners *owners // nil: no owner was entered
	owner  uint32
	gate   *gate      // nil: it was not entered
	reuse  *reuseLock // of the link that is made; nil: it reuses none
}

// lockCode takes the lock of a key, waiting for another writer of it until ctx is done:
// ErrOverloaded.
func (ls *Links) lockCode(ctx context.Context, k index.Key) (codeLock, error) {
	l := ls.index.CodeLock(k)
	for {
		held := l.TryLock()
		if held == nil {
			return codeLock{CodeLock: l}, nil
		}
		select {
		case <-held:
		case <-ctx.Done():
			return codeLock{}, errs.ErrOverloaded
		}
	}
}

func (l *codeLock) unlock() {
	l.Unlock()
	if l.owners != nil {
		l.owners.leave(l.owner)
	}
	if l.gate != nil {
		l.gate.leave()
	}
	if l.reuse != nil {
		l.reuse.unlock()
	}
}

// lockCodeToWrite is lockCode for a write: it enters the gate first, and the lock's unlock leaves it.
func (ls *Links) lockCodeToWrite(ctx context.Context, k index.Key) (codeLock, error) {
	if err := ls.gate.enter(); err != nil {
		return codeLock{}, err
	}
	l, err := ls.lockCode(ctx, k)
	if err != nil {
		ls.gate.leave()
		return codeLock{}, err
	}
	l.gate = &ls.gate
	return l, nil
}

// lockCodeFor is lockCodeToWrite for a link that owner gets: it enters the owner first, and the lock's unlock
// leaves the owner. Owner 0 is nobody.
func (ls *Links) lockCodeFor(ctx context.Context, owner uint32, k index.Key) (codeLock, error) {
	if owner == 0 {
		return ls.lockCodeToWrite(ctx, k)
	}
	if err := ls.owners.enter(ctx, owner); err != nil {
		return codeLock{}, err
	}
	l, err := ls.lockCodeToWrite(ctx, k)
	if err != nil {
		ls.owners.leave(owner)
		return codeLock{}, err
	}
	l.owners, l.owner = &ls.owners, owner
	return l, nil
}

// CommitTimeout bounds how long a writer waits in all: for another writer of the code
// (ErrOverloaded) and for the store (ErrOutcomeUnknown).
const CommitTimeout = 2 * time.Second

// deadlineStep is how long writers share a deadline: those that begin in one step have the same
// one, CommitTimeout after the first of them began. So a writer waits for CommitTimeout at most,
// and for at most a step less.
const deadlineStep = CommitTimeout / 40

// deadlines gives writers their deadlines. A context with a timer of its own for each writer cost
// 1 µs and six allocations, to end a wait that hardly any writer ever has. No goroutine and no
// timer is left when there is no writer.
type deadlines struct {
	current atomic.Pointer[sharedDeadline] // nil: the next writer makes one
}

type sharedDeadline struct {
	context.Context
	cancel context.CancelFunc // is never called, because others may wait
}

// within returns ctx with an end CommitTimeout from now, as deadlineStep has it. The caller must
// call cancel when it no longer waits. A ctx that cannot end is not kept: its values are lost, and
// the engine asks for none.
func (d *deadlines) within(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	if ctx.Done() != nil {
		return context.WithTimeout(ctx, CommitTimeout)
	}
	for {
		shared := d.current.Load()
		if shared != nil && shared.Err() == nil { // it has ended if the process was stopped for seconds
			return shared.Context, func() {}
		}
		d.replace(shared)
	}
}

// replace makes a new deadline the current one for a step, unless another goroutine is faster.
func (d *deadlines) replace(old *sharedDeadline) {
	ctx, cancel := context.WithTimeout(context.Background(), CommitTimeout)
	shared := &sharedDeadline{ctx, cancel}
	if !d.current.CompareAndSwap(old, shared) {
		cancel()
		return
	}
	time.AfterFunc(deadlineStep, func() { d.current.CompareAndSwap(shared, nil) })
}
