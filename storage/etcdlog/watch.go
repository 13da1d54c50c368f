package etcdlog

import (
	"context"
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

// run watches until ctx ends, at one server until that fails or restart is called, then at the next.
func (w *watcher) run(ctx context.Context) {
	for wait(ctx, 0) {
		at := w.server.Load()
		watching, cancel := context.WithCancel(ctx)
		w.current.Store(&cancel)
		w.watch(watching, w.log.server(at))
		cancel()
		w.server.CompareAndSwap(at, at+1)
		if wait(ctx, renewPause) {
			w.log.metrics.watchRestarts.Add(1)
		}
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
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
