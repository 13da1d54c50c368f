package etcdlog

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A watcher wakes its user when a key may have changed. It carries no data, and may miss a change: etcd's
// client resumes a broken watch silently, and a server that hangs sends nothing. So its user also polls, and
// restarts the watcher when a poll finds a change that it missed.
type watcher struct {
	log      *Log
	from, to string // one key if to is ""
	gone     bool   // only deletions wake
	wake     chan struct{}
	current  atomic.Pointer[context.CancelFunc] // of the watch under way
	server   atomic.Uint32                      // of the watch under way
}

func newWatcher(l *Log, from, to string) *watcher {
	w := &watcher{log: l, from: from, to: to, wake: make(chan struct{}, 1)}
	w.server.Store(l.preferred.Load())
	return w
}

// watch returns a watcher that runs until stop.
func (l *Log) watch(ctx context.Context, from, to string) (w *watcher, stop func()) {
	w = newWatcher(l, from, to)
	return w, w.start(ctx)
}

// start runs the watcher until stop, which waits for its end.
func (w *watcher) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.run(ctx) })
	return func() { cancel(); running.Wait() }
}

// run watches until ctx ends, at one server until that fails or restart is called, then at the next.
func (w *watcher) run(ctx context.Context) {
	for wait(ctx, 0) {
		at := w.server.Load()
		watching, cancel := context.WithCancel(ctx)
		w.current.Store(&cancel)
		w.watch(watching, w.log.server(at))
		cancel()
		w.server.CompareAndSwap(at, at+1)
		wait(ctx, renewPause)
	}
}

// restart ends the watch under way, so that run begins one at another server.
func (w *watcher) restart() {
	if cancel := w.current.Load(); cancel != nil {
		(*cancel)()
	}
}

// watch watches at one server until ctx or the watch ends. A server that loses the other servers
// ends it.
func (w *watcher) watch(ctx context.Context, s *server) {
	connecting, cancel := context.WithTimeout(ctx, attemptTimeout)
	client, err := s.connect(connecting)
	cancel()
	if err != nil {
		wait(ctx, 2*renewPause)
		return
	}
	opts := []clientv3.OpOption{clientv3.WithCreatedNotify()} // what happened before it is to be looked for
	if w.gone {
		opts = append(opts, clientv3.WithFilterPut())
	}
	if w.to != "" {
		opts = append(opts, clientv3.WithRange(w.to))
	}
	for resp := range client.Watch(clientv3.WithRequireLeader(ctx), w.from, opts...) {
		if resp.Err() != nil {
			return
		}
		select {
		case w.wake <- struct{}{}:
		default: // somebody is about to look
		}
	}
}

// await waits until the watched key may have changed: until the watch says so, or pollInterval at
// most, because a watch may sleep.
func (w *watcher) await(ctx context.Context) error {
	select {
	case <-w.wake:
	case <-time.After(pollInterval):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// follow calls fn with what read returns, at once and whenever that has changed, and waits for pause in between. It
// returns when ctx ends. While read fails it tries again.
func follow[T comparable](ctx context.Context, w *watcher, pause time.Duration, what string, read func(context.Context) ([]T, error), fn func([]T)) error {
	var known []T
	var reported time.Time
	for first := true; ; {
		all, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && time.Since(reported) >= reportEvery:
			reported = time.Now()
			w.log.logger.Error(what+" cannot be read; retrying.", "error", err)
		case err == nil && (first || !slices.Equal(all, known)):
			first, known = false, all
			fn(slices.Clone(all))
		}
		if !wait(ctx, pause) {
			return ctx.Err()
		}
		if err := w.await(ctx); err != nil {
			return err
		}
	}
}
