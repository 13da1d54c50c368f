package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"shunt/engine"
)

// A Stack is the life of a process: parts are started top to bottom, each relying on those above
// it, and stopped in reverse. It is used by one goroutine; the parts run on their own.
type Stack struct {
	stops    []func() error         // of the parts, in the order of their start
	timeout  time.Duration          // of stop
	began    time.Time              // when stop began; of stop's goroutine and what it calls
	at       atomic.Pointer[string] // the part that is being stopped
	stopping atomic.Bool
	failed   chan error // the first part that ended by itself
}

// NewStack returns the stack of a command.
func NewStack() *Stack { return &Stack{timeout: commandTimeout, failed: make(chan error, 1)} }

// NewServeStack is NewStack for a server.
func NewServeStack() *Stack {
	s := NewStack()
	s.timeout = serveTimeout
	return s
}

// Run starts a part on a goroutine of its own. At its turn in stop, the part's ctx ends and its
// return is awaited. A part that returns before stop, even without an error, has failed: Fails
// delivers that.
func (s *Stack) Run(name string, run func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := run(ctx)
		if !s.stopping.Load() && ctx.Err() == nil {
			s.fail(name, err)
		}
		ended <- err
	}()
	s.OnStop(name, func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
}

// OnStop registers what stop does when it comes back to this place.
func (s *Stack) OnStop(name string, stop func() error) {
	s.stops = append(s.stops, func() error {
		s.at.Store(&name)
		if err := stop(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// Fails delivers the error of a part that ended by itself.
func (s *Stack) Fails() <-chan error { return s.failed }

func (s *Stack) fail(name string, err error) {
	if err == nil {
		err = errors.New("ended unexpectedly")
	}
	select {
	case s.failed <- fmt.Errorf("%s: %w", name, err):
	default: // an earlier failure is the cause
	}
}

// How long a stop may take, from its begin. Docker and many a script wait 10 s before they kill, and a
// machine that shuts down does not wait for long either. Each part of a server has until a fixed time, so that what one
// does not need is left for the next: requests until drainBy, the last flush until flushBy, tables until settleBy.
const (
	serveTimeout = 8 * time.Second
	drainBy      = 5 * time.Second // with api's time for what is cut off it is 6 s
	leastDrain   = time.Second     // however long a node of a cluster took to stop leading
	settleBy     = 7 * time.Second
	flushBy      = serveTimeout - 500*time.Millisecond

	// commandTimeout is for commands, which have a person and no manager.
	commandTimeout = 2*engine.DefaultCloseTimeout + 15*time.Second
)

// A lateError says that a part took too long to stop.
type lateError struct {
	part  string
	after time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%s: not stopped within %v: the disk is full or does not answer; hits that are not written yet are in the "+
		"journal, and the next start counts them", e.part, e.after)
}

// WithoutLateStore returns the error of a stop. That the store was not closed in time is only logged: all that was
// acknowledged, and every hit, is in its log then.
func WithoutLateStore(err error, log *slog.Logger) error {
	if late := (*lateError)(nil); errors.As(err, &late) && late.part == storePart {
		log.Warn("the store was still writing tables; all is in its log, and the next start takes longer", "after", late.after)
		return nil
	}
	return err
}

// Stop stops every part in reverse order, whatever fails on the way, and joins their goroutines. A
// disk that is full or does not answer may hold a part for ever: after the timeout that is a lateError.
// If a part reports it itself (engine.ErrStalled), the parts below it are not stopped.
// Either way the caller ends the process.
func (s *Stack) Stop() error {
	s.began = time.Now()
	s.stopping.Store(true)
	stopped := make(chan error, 1)
	go func() { stopped <- s.stopAll() }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(s.timeout):
		return &lateError{*s.at.Load(), s.timeout}
	}
}

// Len returns how many stops are registered.
func (s *Stack) Len() int { return len(s.stops) }

// StopAfter stops the parts that were started after there were n stops, so that they can be started again.
func (s *Stack) StopAfter(n int) error { return s.stopDownTo(n) }

func (s *Stack) stopAll() error { return s.stopDownTo(0) }

func (s *Stack) stopDownTo(n int) error {
	var errs []error
	for len(s.stops) > n {
		last := len(s.stops) - 1
		err := s.stops[last]()
		errs = append(errs, err)
		s.stops = s.stops[:last]
		if errors.Is(err, engine.ErrStalled) {
			s.stops = nil
		}
	}
	return errors.Join(errs...)
}

// storePart is the part whose stop closes the store, when nothing uses it any more.
const storePart = "closing the store"
