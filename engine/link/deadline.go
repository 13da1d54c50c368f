package link

import (
	"context"
	"sync/atomic"
	"time"
)

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
