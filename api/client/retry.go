package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry says how calls are repeated; the package comment says which. A zero field has its default.
type Retry struct {
	// Attempts of one call, including the first. Default: 4. 1: nothing is repeated.
	Attempts int
	// BaseWait is the longest random wait before the first repeat; it doubles with each repeat. The
	// wait is a random part of it, in addition to Retry-After. Default: 250 ms.
	BaseWait time.Duration
	// MaxWait is the longest wait between two attempts. If Retry-After is longer, the call returns
	// the problem instead. Default: 20 s.
	MaxWait time.Duration
	// If reports whether to repeat a call that failed with that error and may be repeated. Any
	// goroutine may call it. Default: always.
	If func(error) bool
}

const (
	defaultAttempts = 4
	defaultBaseWait = 250 * time.Millisecond
	defaultMaxWait  = 20 * time.Second
)

func (p Retry) complete() (Retry, error) {
	if p.Attempts < 0 || p.BaseWait < 0 || p.MaxWait < 0 {
		return p, errors.New("client: Retry has a negative field")
	}
	p.Attempts = cmp.Or(p.Attempts, defaultAttempts)
	p.BaseWait = cmp.Or(p.BaseWait, defaultBaseWait)
	p.MaxWait = cmp.Or(p.MaxWait, defaultMaxWait)
	return p, nil
}

// retry makes attempts of r until one succeeds or none is left to make.
func retry[T any](ctx context.Context, p *Retry, r *request, attempt func() (T, error)) (T, error) {
	var doubt error // the error of the first attempt with an unknown outcome
	for n := 1; ; n++ {
		answer, err := attempt()
		if err == nil {
			return answer, nil
		}
		outcome := outcomeOf(err)
		wait, again := p.wait(n, err)
		if !again || !p.repeats(r, outcome, err) || endsWithin(ctx, wait) {
			return answer, withDoubt(err, outcome, doubt)
		}
		if outcome == unknown && doubt == nil && !r.reads {
			doubt = err
		}
		if !sleep(ctx, wait) {
			return answer, fmt.Errorf("%w, while waiting after: %w", ended(ctx), withDoubt(err, outcome, doubt))
		}
	}
}

// An outcome is what is known about a failed attempt.
type outcome int

const (
	settled outcome = iota // the server's answer will stay the same
	refused                // nothing was changed, and a repeat may succeed
	unknown                // the change may have been made
)

func outcomeOf(err error) outcome {
	var problem *Problem
	var lost *lostError
	switch {
	case errors.As(err, &problem):
		return problem.outcome()
	case errors.As(err, &lost):
		return unknown
	}
	return settled
}

func (p *Problem) outcome() outcome {
	switch {
	case p.Status == http.StatusTooManyRequests:
		return refused
	case p.Status != http.StatusServiceUnavailable:
		return settled
	case p.Kind == ErrOutcomeUnknown, p.Kind == "": // a proxy's 503 does not say what the server did
		return unknown
	}
	return refused
}

func (p *Retry) repeats(r *request, o outcome, err error) bool {
	return (o == refused || o == unknown && r.repeatable) && (p.If == nil || p.If(err))
}

// withDoubt adds to err that an earlier attempt may have succeeded.
func withDoubt(err error, o outcome, doubt error) error {
	if doubt == nil || o == unknown {
		return err
	}
	return fmt.Errorf("%w; an earlier attempt may have been done: %w", err, doubt)
}

// wait returns how long to wait after attempt n, which failed with err; false: do not repeat.
func (p *Retry) wait(n int, err error) (time.Duration, bool) {
	if n >= p.Attempts {
		return 0, false
	}
	told := time.Duration(0)
	if problem := (*Problem)(nil); errors.As(err, &problem) {
		told = problem.RetryAfter
	}
	if told > p.MaxWait {
		return 0, false
	}
	most := p.MaxWait
	if doublings := n - 1; doublings < 32 && p.BaseWait < p.MaxWait>>doublings {
		most = p.BaseWait << doublings
	}
	return min(told+rand.N(most+1), p.MaxWait), true
}

// endsWithin reports whether ctx ends before wait is over.
func endsWithin(ctx context.Context, wait time.Duration) bool {
	deadline, limited := ctx.Deadline()
	return limited && time.Until(deadline) <= wait
}

// sleep returns false if ctx ends before wait is over.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
