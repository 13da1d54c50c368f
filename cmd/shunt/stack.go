package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"shunt/engine"
)

// A stack is the life of a process: parts are started top to bottom, each relying on those above
// it, and stopped in reverse. It is used by one goroutine; the parts run on their own.
type stack struct {
	stops    []func() error
	stopping atomic.Bool
	failed   chan error // the first part that ended by itself
}

func newStack() *stack { return &stack{failed: make(chan error, 1)} }

// run starts a part on a goroutine of its own. At its turn in stop, the part's ctx ends and its
// return is awaited. A part that returns before stop, even without an error, has failed: fails
// delivers that.
func (s *stack) run(name string, run func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := run(ctx)
		if !s.stopping.Load() {
			s.fail(name, err)
		}
		ended <- err
	}()
	s.onStop(name, func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
}

// onStop registers what stop does when it comes back to this place.
func (s *stack) onStop(name string, stop func() error) {
	s.stops = append(s.stops, func() error {
		if err := stop(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// fails delivers the error of a part that ended by itself.
func (s *stack) fails() <-chan error { return s.failed }

func (s *stack) fail(name string, err error) {
	if err == nil {
		err = errors.New("ended unexpectedly")
	}
	select {
	case s.failed <- fmt.Errorf("%s: %w", name, err):
	default: // an earlier failure is the cause
	}
}

// stopTimeout is how long stopping may take: the draining of clients, the end of the engine's
// loops, its last flush, and what is below.
const stopTimeout = drainTimeout + 2*engine.DefaultCloseTimeout + 5*time.Second

// stop stops every part in reverse order, whatever fails on the way, and joins their goroutines. A
// disk that is full or does not answer may hold a part for ever: after stopTimeout that is an
// error. If a part reports it itself (engine.ErrStalled), the parts below it are not stopped.
// Either way the caller ends the process.
func (s *stack) stop() error {
	s.stopping.Store(true)
	stopped := make(chan error, 1)
	go func() { stopped <- s.stopAll() }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("not stopped within %v: the disk is full or does not answer; hits that are not written yet are in the "+
			"journal, and the next start counts them", stopTimeout)
	}
}

func (s *stack) stopAll() error {
	var errs []error
	for len(s.stops) > 0 {
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
