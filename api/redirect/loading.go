package redirect

import (
	"context"
	"time"

	"shunt/api/turnstile"
	"shunt/engine"
)

// While links are loaded, a link that is not in memory yet may be in the store. Reading it may take as
// long as a disk takes, so Decide does not: it says Unread, and a front door whose goroutine may wait
// calls DecideUnread. Then the link is in memory, and later requests need the store no more.

// Reads of the store at a time: two for each core, because a read that misses the cache waits for the
// disk. A client whose request does not get a turn within a second is told to try again.
const (
	unreadPerCore  = 2
	unreadWaiting  = 1024
	unreadPatience = time.Second
)

func newUnread() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: unreadPerCore * engine.Cores(), Waiting: unreadWaiting, Patience: unreadPatience,
	})
}

// decideLoading is Decide before all links are loaded. The hits of a link with a cap are known only
// when all are; until then nobody can say whether it redirects, unless it does not for another reason.
func (r *Redirector) decideLoading(buf []byte, q *Request) (Decision, []byte) {
	l, ok := r.engine.Resolve(q.KeyView)
	switch {
	case ok:
	case r.engine.Ready(): // it is by now, so that this was not the last word
		return r.Decide(buf, q)
	default:
		return Decision{Outcome: StillLoading, Unread: true}, buf
	}
	uncounted := l.Flags()&engine.FlagCapped != 0 && !r.engine.HitsLoaded()
	start := len(buf)
	d, buf := r.follow(buf, l, q)
	if uncounted && (d.Outcome == Redirected || d.Outcome == Prefetched || d.Outcome == Carded) {
		return d.missed(StillLoading), buf[:start]
	}
	return d, buf
}

// DecideUnread is Decide for a request about which Decide has said Unread: it reads the link from the
// store. It waits for its turn and for the disk, some seconds at most unless the disk hangs; key is
// that of the client, and the turnstile is fair to keys. Without a turn or an answer of the store the
// outcome is StillLoading.
func (r *Redirector) DecideUnread(key turnstile.Key, buf []byte, q *Request) (Decision, []byte) {
	o := r.fetch(key, q.KeyView)
	if o == UnknownCode && q.Fold {
		if o = Redirected; !r.engine.Ready() { // a code in another case may be there, which the store is not asked for
			o = StillLoading
		}
	}
	if o != Redirected {
		return Decision{Outcome: o}, buf
	}
	return r.Decide(buf, q)
}

// fetch has the engine read the link of k. Redirected means that the link can be decided about now.
func (r *Redirector) fetch(key turnstile.Key, k engine.KeyView) Outcome {
	var found bool
	err := r.unread.Do(key, func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), unreadPatience)
		defer cancel()
		found, err = r.engine.Fetch(ctx, k)
		return err
	})
	switch {
	case err != nil: // if the store is damaged, Load fails on the same row and says so
		return StillLoading
	case !found:
		return UnknownCode
	}
	return Redirected
}
