package offsite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

const (
	runsFolder = "runs/"

	beatInterval = 20 * time.Second // between two renewals of a turn
	beatTimeout  = 60 * time.Second // a run whose turn is older ends
	deadAfter    = 90 * time.Second // a turn that is older is that of a run that was killed
	waitTimeout  = 5 * time.Minute  // for the turns of others
	stepBack     = 4 * time.Second  // at most, before another attempt
)

var (
	// ErrBusy: other runs of the same store kept their turns.
	ErrBusy = errors.New("another backup of this store is under way")
	errBeat = errors.New("the S3 server did not answer for a minute, so another run may take the place of this one")
)

// A turn lets one run at a time write to the place of a store. The package comment has its rules.
type turn struct {
	b    *bucket
	name string // of its object
	pace pace
	last time.Time // before its last renewal
}

// A pace has the times of turns; tests have shorter ones.
type pace struct{ beat, timeout, dead, wait, step time.Duration }

var normalPace = pace{beatInterval, beatTimeout, deadAfter, waitTimeout, stepBack}

// takeTurn waits until no other run of the store has its turn. say tells that it waits. The caller calls leave, also
// after an error.
func takeTurn(ctx context.Context, b *bucket, store string, p pace, say func(string)) (*turn, error) {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	t := &turn{b: b, name: store + "/" + runsFolder + hex.EncodeToString(random), pace: p}
	for until := time.Now().Add(p.wait); ; {
		others, err := t.attempt(ctx, store)
		if err != nil || others == 0 {
			return t, err
		}
		if time.Now().After(until) {
			return t, fmt.Errorf("%s: %w", b.place, ErrBusy)
		}
		say("waiting for another backup of this store, or for the end of the turn of one that was killed")
		select {
		case <-ctx.Done():
			return t, context.Cause(ctx)
		case <-time.After(p.step/4 + mathrand.N(p.step)):
		}
	}
}

// attempt takes the turn, and gives it back if there are others, whose number it returns.
func (t *turn) attempt(ctx context.Context, store string) (others int, err error) {
	t.last = time.Now()
	if err = t.renew(ctx); conflict(err) {
		return 1, nil
	}
	if err == nil {
		others, err = t.others(ctx, store)
	}
	if err == nil && others > 0 {
		err = t.leave(ctx)
	}
	return others, err
}

const turnText = "the turn of a backup under way; it is renewed, and may be removed when it is older than two minutes\n"

func (t *turn) renew(ctx context.Context) error {
	return t.b.put(ctx, t.name, strings.NewReader(turnText), int64(len(turnText)))
}

// others returns how many other runs have their turns, and removes those of runs that were killed.
func (t *turn) others(ctx context.Context, store string) (n int, err error) {
	found, err := t.b.list(ctx, store+"/"+runsFolder)
	if err != nil {
		return 0, err
	}
	now := time.Time{}
	for _, o := range found {
		if store+"/"+runsFolder+o.name == t.name {
			now = o.written
		}
	}
	if now.IsZero() {
		return 0, fmt.Errorf("%s does not list what was just written, so it cannot keep backups", t.b.place)
	}
	for _, o := range found {
		name := store + "/" + runsFolder + o.name
		switch {
		case name == t.name:
		case now.Sub(o.written) <= t.pace.dead:
			n++
		default:
			err = errors.Join(err, t.b.remove(ctx, name))
		}
	}
	return n, err
}

// hold calls run with a context that ends if the turn cannot be renewed.
func (t *turn) hold(ctx context.Context, run func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.beat(ctx, end)
	}()
	err := run(ctx)
	end(nil)
	<-ended
	return err
}

// passed returns the time since then, also that in which this machine slept: only the wall clock counts that.
func passed(then time.Time) time.Duration {
	return max(time.Since(then), time.Now().Round(0).Sub(then.Round(0)))
}

// held fails if the turn is not there any more: others took this run for dead.
func (t *turn) held(ctx context.Context) error {
	if passed(t.last) >= t.pace.dead {
		return fmt.Errorf("%s: %w", t.b.place, errBeat)
	}
	_, err := t.b.read(ctx, t.name, int64(len(turnText)))
	if missing(err) {
		return fmt.Errorf("%s: %w", t.b.place, errBeat)
	}
	return err
}

// beat renews the turn until ctx ends, or ends it.
func (t *turn) beat(ctx context.Context, end context.CancelCauseFunc) {
	last := t.last
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.pace.beat):
		}
		began, late := time.Now(), passed(last) >= t.pace.dead
		if !late && t.renewBy(ctx, last.Add(t.pace.timeout)) == nil {
			last = began
		} else if late || passed(last) >= t.pace.timeout {
			end(fmt.Errorf("%s: %w", t.b.place, errBeat))
			return
		}
	}
}

// renewBy renews the turn before a time. If ctx ends meanwhile it goes on for a moment: the server could else write
// the turn after leave has removed it.
func (t *turn) renewBy(ctx context.Context, until time.Time) error {
	within, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-within.Done():
		case <-time.After(leaveTimeout):
			cancel()
		}
	})
	defer stop()
	return t.renew(within)
}

// leave ends the turn, also if ctx has ended.
func (t *turn) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	return t.b.remove(ctx, t.name)
}
