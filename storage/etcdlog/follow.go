package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shunt/storage/clusterlog"
)

// follower is a call of Follow. It belongs to its goroutine.
type follower struct {
	log      *Log
	watch    *watcher
	at       clusterlog.Position // after the last entry given to fn
	fn       func(clusterlog.Progress) error
	limit    uint64
	unheard  int // polls that found entries since the watch last woke it
	failed   int // reads in turn that brought nothing
	reported time.Time
}

// Follow implements clusterlog.Log.
func (l *Log) Follow(ctx context.Context, from clusterlog.Position, fn func(clusterlog.Progress) error) error {
	w, stop := l.watch(ctx, l.keys.head, l.keys.logs)
	defer stop()
	f := &follower{log: l, watch: w, at: from, fn: fn, limit: minChunk}
	return f.run(ctx)
}

func (f *follower) run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	polled := true
	for {
		n, more, err := f.step(ctx, polled)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		f.judgeWatch(polled && n > 0)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
			polled = true
		case <-f.watch.wake:
			polled, f.unheard = false, 0
		}
	}
}

// judgeWatch restarts the watch once two polls have found entries that it did not announce. One
// poll may have been faster than the watch.
func (f *follower) judgeWatch(found bool) {
	if found {
		f.unheard++
	}
	if f.unheard >= 2 {
		f.unheard = 0
		f.watch.restart()
	}
}

// step reads once, from the server of the watch, and passes what it got to fn. It returns how many entries
// it got and whether there are more.
func (f *follower) step(ctx context.Context, fresh bool) (n int, more bool, err error) {
	at := f.watch.server.Load() + uint32(f.failed)
	c, err := f.log.read(ctx, f.log.server(at), f.at.Sequence+1, f.limit, fresh)
	if err == nil {
		n, more, err = f.give(ctx, &c)
	}
	var own *ownError
	switch {
	case err == nil:
		f.failed = 0
		return n, more, nil
	case ctx.Err() != nil:
		return 0, false, ctx.Err()
	case errors.As(err, &own):
		return 0, false, own.error
	case isTooLarge(err) && f.limit > minChunk:
		f.limit = minChunk
		return 0, true, nil
	case verdictOf(err) != nil || errors.Is(err, clusterlog.ErrCorrupt):
		return f.confirm(ctx, err)
	default: // no answer: another server next time, and now if there is one
		f.failed++
		f.watch.restart()
		return 0, f.failed%len(f.log.servers) != 0, nil
	}
}

// ownError is an error of fn.
type ownError struct{ error }

// give passes the sound entries of a chunk to fn.
func (f *follower) give(ctx context.Context, c *chunk) (n int, more bool, err error) {
	if ctx.Err() != nil {
		return 0, false, ctx.Err() // not one call after its end
	}
	entries, after, err := c.follow(&f.log.keys, f.at)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.server.endpoint, err)
	}
	p := clusterlog.Progress{Entries: entries, After: after, Head: c.state.head.Sequence, Leader: c.state.leader}
	if err == nil && c.fresh && after == c.state.head {
		p.AsOf = c.sent
	}
	if len(entries) > 0 || err == nil {
		if err := f.fn(p); err != nil {
			return 0, false, &ownError{err}
		}
	}
	f.at = after
	f.adapt(c)
	return len(entries), err == nil && after.Sequence < c.state.head.Sequence, err
}

// adapt chooses how many entries the next read asks for, by the sizes of those in the last.
func (f *follower) adapt(c *chunk) {
	bytes := 0
	for _, kv := range slices.Concat(c.kvs, c.privates) {
		bytes += len(kv.Value)
	}
	if n := len(c.kvs); n > 0 {
		fitting := uint64(chunkBytes * n / max(bytes, 1))
		f.limit = min(max(fitting, minChunk), f.limit*2, maxChunk)
	}
}

// verdictOf returns which error of those that end a follower, if the servers agree on it, err is; nil: none.
func verdictOf(err error) error {
	for _, v := range []error{
		clusterlog.ErrBelowFloor, clusterlog.ErrAhead, clusterlog.ErrDiverged, clusterlog.ErrForeignLog, clusterlog.ErrNewerVersion,
	} {
		if errors.Is(err, v) {
			return v
		}
	}
	return nil
}

// confirm asks all servers for what one server answered badly. The first that has a sound answer is
// believed, because its entries prove themselves. If most servers answer, and all alike, it returns
// their verdict. Otherwise it reports, and the follower tries again after a pause.
func (f *follower) confirm(ctx context.Context, first error) (n int, more bool, err error) {
	f.suspect(first)
	answers, verdicts := 0, make(map[error]int)
	for i := range f.log.servers {
		c, err := f.log.read(ctx, f.log.server(f.watch.server.Load()+1+uint32(i)), f.at.Sequence+1, minChunk, true)
		if err == nil {
			n, more, err = f.give(ctx, &c)
		}
		var own *ownError
		switch {
		case errors.As(err, &own):
			return 0, false, own.error
		case err == nil || n > 0:
			f.watch.restart() // away from the server that was wrong, or lags
			return n, more || err != nil, nil
		case verdictOf(err) != nil:
			f.suspect(err)
			verdicts[verdictOf(err)]++
			first = err
			answers++
		case errors.Is(err, clusterlog.ErrCorrupt):
			f.suspect(err)
			answers++
		}
	}
	if v := verdictOf(first); v != nil && verdicts[v] == answers && answers > len(f.log.servers)/2 {
		return 0, false, first
	}
	if answers > 0 && time.Since(f.reported) >= reportEvery {
		f.reported = time.Now()
		f.log.logger.Error("No server of the cluster's log has a sound next entry; this node waits for one.", "next", f.at.Sequence+1, "error", first)
	}
	if !wait(ctx, pollInterval) {
		return 0, false, ctx.Err()
	}
	return 0, true, nil
}

// suspect counts and reports an answer that cannot be right. One that may only be late is neither.
func (f *follower) suspect(err error) {
	if !errors.Is(err, clusterlog.ErrCorrupt) && !errors.Is(err, clusterlog.ErrDiverged) {
		return
	}
	f.log.counts.corruptReads.Add(1)
	if time.Since(f.reported) >= reportEvery {
		f.reported = time.Now()
		f.log.logger.Warn("An answer from the cluster's log does not fit what this node has applied; other servers are asked.", "next", f.at.Sequence+1, "error", err)
	}
}
