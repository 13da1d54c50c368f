package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry says how calls are repeated; what may be, the package's comment says. Zero fields have the defaults.
type Retry struct {
	// Attempts of one call, the first included. Default: 4. 1: nothing is repeated.
	Attempts int
	// BaseWait is the most before the first repeat; it doubles from one to the next. What is waited is a random part of it,
	// after what Retry-After says. Default: 250 ms.
	BaseWait time.Duration
	// MaxWait is the longest wait between two attempts. Who is told to wait longer gets the problem instead. Default: 20 s.
	MaxWait time.Duration
	// If has the last word on what would be repeated. It is called by any goroutine. Default: all of it.
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
	p.Attempts = orDefault(p.Attempts, defaultAttempts)
	p.BaseWait = orDefault(p.BaseWait, defaultBaseWait)
	p.MaxWait = orDefault(p.MaxWait, defaultMaxWait)
	return p, nil
}

// retry makes attempts of r until one succeeds or none is left to make.
func retry[T any](ctx context.Context, p *Retry, r *request, attempt func() (T, error)) (T, error) {
	var doubt error // the first attempt's whose outcome is not known
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

// An outcome is what is known of an attempt that failed.
type outcome int

const (
	settled outcome = iota // the server has answered, and will not answer otherwise
	refused                // nothing was changed, and it may go better later
	unknown                // it may have been done
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
	case p.Kind == ErrOutcomeUnknown, p.Kind == "": // a proxy's 503 says nothing of what the server did
		return unknown
	}
	return refused
}

func (p *Retry) repeats(r *request, o outcome, err error) bool {
	return (o == refused || o == unknown && r.repeatable) && (p.If == nil || p.If(err))
}

// withDoubt is err, and that an attempt before it may have been done.
func withDoubt(err error, o outcome, doubt error) error {
	if doubt == nil || o == unknown {
		return err
	}
	return fmt.Errorf("%w; an earlier attempt may have been done: %w", err, doubt)
}

// wait returns how long to wait after attempt n, which failed with err; false: there is to be no other.
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

// endsWithin tells whether ctx ends before wait is over.
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
