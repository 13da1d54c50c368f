package core

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestAStackStopsItsPartsInReverseAndJoinsThem(t *testing.T) {
	var log []string // written by one part after the other: stop waits for each
	s := NewStack()
	s.OnStop("store", func() error { log = append(log, "store closed"); return nil })
	for _, name := range []string{"journal", "server"} {
		s.Run(name, func(ctx context.Context) error {
			<-ctx.Done()
			log = append(log, name+" ended")
			return ctx.Err()
		})
	}
	err := s.Stop()
	expect.That(t, err == nil, "stop: got %v, want nil: the end of a part's context is no failure", err)
	want := []string{"server ended", "journal ended", "store closed"}
	expect.Slices(t, log, want)
	err = s.Stop()
	expect.That(t, err == nil && len(log) == len(want), "a second stop: got %v and %q, want it to do nothing", err, log)
}

func TestAPartThatEndsByItselfIsAFailure(t *testing.T) {
	for name, err := range map[string]error{"with an error": errors.New("disk on fire"), "without one": nil} {
		t.Run(name, func(t *testing.T) {
			s := NewStack()
			s.Run("store", func(context.Context) error { return err })
			got := <-s.Fails()
			expect.That(t, got != nil && strings.HasPrefix(got.Error(), "store: "), "got %v, want an error that names the part", got)
			stopped := s.Stop()
			expect.Equal(t, stopped == nil, err == nil, "stop: got %v, want the part's own %v", stopped, err)
		})
	}
}

// TestSomePartsAreStoppedAndStartedAgain stops the upper parts of a stack, as is no failure of theirs.
func TestSomePartsAreStoppedAndStartedAgain(t *testing.T) {
	var log []string
	s := NewStack()
	part := func(name string) {
		s.Run(name, func(ctx context.Context) error {
			<-ctx.Done()
			log = append(log, name)
			return nil
		})
	}
	part("service manager")
	before := s.Len()
	part("store")
	part("accounts")
	expect.OK(t, s.StopAfter(before))
	expect.Slices(t, log, []string{"accounts", "store"})
	part("store again")
	select {
	case err := <-s.Fails():
		t.Errorf("a part that was stopped has failed: %v", err)
	default:
	}
	expect.OK(t, s.Stop())
	expect.Slices(t, log, []string{"accounts", "store", "store again", "service manager"})
}

func TestEveryPartIsStoppedAlthoughOneFails(t *testing.T) {
	closed := false
	broken := errors.New("broken")
	s := NewStack()
	s.OnStop("store", func() error { closed = true; return nil })
	s.OnStop("journal", func() error { return broken })
	err := s.Stop()
	expect.That(t, errors.Is(err, broken) && closed, "got %v, closed %v; want the error, and the store closed", err, closed)
}

func TestNothingBelowAPartThatHangsIsStopped(t *testing.T) {
	s := NewStack()
	s.OnStop("store", func() error { t.Error("the store was closed under a flush"); return nil })
	s.OnStop("last flush", func() error { return engine.ErrStalled })
	closed := false
	s.OnStop("server", func() error { closed = true; return nil })
	err := s.Stop()
	expect.That(t, errors.Is(err, engine.ErrStalled) && closed, "got %v, server closed %v", err, closed)
}

// Docker kills after 10 s.
func TestAServerStopsWithin8SecondsWhateverHangs(t *testing.T) {
	for part, fails := range map[string]bool{"last flush": true, storePart: false} {
		synctest.Test(t, func(t *testing.T) {
			hangs := make(chan struct{})
			s := NewServeStack()
			s.OnStop(part, func() error { <-hangs; return nil })
			s.OnStop("drain", func() error { time.Sleep(drainBy); return nil })
			start := time.Now()
			err := WithoutLateStore(s.Stop(), slog.New(slog.DiscardHandler))
			took := time.Since(start)
			expect.That(t, took == 8*time.Second && (err != nil) == fails, "%s hangs: got %v after %v", part, err, took)
			close(hangs)
			synctest.Wait()
		})
	}
}
