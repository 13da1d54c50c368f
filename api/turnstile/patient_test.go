package turnstile

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// patient begins a request that enters patiently, and reports its outcome.
func patient(t *Turnstile, key Key, waiting int) <-chan error {
	outcome := make(chan error, 1)
	go func() { outcome <- t.EnterPatiently(key, waiting, 5*time.Second) }()
	synctest.Wait()
	return outcome
}

func TestPatientRequestsWaitForTheirCallersShareInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 3, PerCaller: 1})
		if err := x.Enter(user(1)); err != nil {
			t.Fatal(err)
		}
		first, second := patient(x, user(1), 2), patient(x, user(1), 2)
		if err := <-patient(x, user(1), 2); !errors.Is(err, ErrShare) {
			t.Errorf("a third one: got %v, want ErrShare", err)
		}
		if err := x.Enter(user(1)); !errors.Is(err, ErrShare) {
			t.Errorf("an impatient one: got %v, want ErrShare", err)
		}
		if err := <-patient(x, user(2), 2); err != nil {
			t.Errorf("another caller: got %v", err)
		}
		for n, outcome := range []<-chan error{first, second} {
			x.Leave(user(1))
			if err := <-outcome; err != nil {
				t.Errorf("request %d: got %v", n+1, err)
			}
		}
		x.Leave(user(1))
		x.Leave(user(2))
		if x.Held() != 0 || x.Waiting() != 0 || len(x.mu.present) != 0 {
			t.Errorf("got %d held, %d waiting, %d present; want none", x.Held(), x.Waiting(), len(x.mu.present))
		}
	})
}

func TestAFreePlaceGoesToACallerWithAShareLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 2, PerCaller: 1})
		for n := range uint32(2) {
			if err := x.Enter(user(n + 1)); err != nil {
				t.Fatal(err)
			}
		}
		again, third := patient(x, user(1), 1), patient(x, user(3), 1)
		x.Leave(user(2))
		if err := <-third; err != nil {
			t.Errorf("got %v, want the place", err)
		}
		x.Leave(user(1))
		if err := <-again; err != nil {
			t.Errorf("got %v, want the place", err)
		}
	})
}

func TestPatienceEndsWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 1, PerCaller: 1})
		if err := x.Enter(user(1)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		share, full := patient(x, user(1), 1), patient(x, user(2), 1)
		if err := <-share; !errors.Is(err, ErrShare) {
			t.Errorf("got %v, want ErrShare", err)
		}
		if err := <-full; !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
		if d := time.Since(start); d != 5*time.Second || x.Waiting() != 0 {
			t.Errorf("after %v %d wait, want 0 after 5s", d, x.Waiting())
		}
		if err := x.Enter(user(3)); !errors.Is(err, ErrFull) {
			t.Errorf("an impatient one: got %v, want ErrFull", err)
		}
	})
}

func TestWorkInStepsLetsOthersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 1, Waiting: 1, Patience: time.Second})
		var order []string
		done := make(chan error, 1)
		go func() {
			done <- x.DoInSteps(user(1), 4*time.Millisecond, func(pause func() error) error {
				for range 6 {
					time.Sleep(2 * time.Millisecond)
					order = append(order, "part")
					if err := pause(); err != nil {
						return err
					}
				}
				return nil
			})
		}()
		synctest.Wait()
		if err := x.Do(user(2), func() error { order = append(order, "other"); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || x.Held() != 0 {
			t.Errorf("got %v, %d held", err, x.Held())
		}
		if want := "other"; len(order) != 7 || order[2] != want {
			t.Errorf("got %v, want the other after two parts", order)
		}
	})
}

func TestWorkInStepsThatGetsNoFurtherTurnHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 1, Waiting: 1, Patience: time.Second})
		done := make(chan error, 1)
		go func() {
			done <- x.DoInSteps(user(1), time.Millisecond, func(pause func() error) error {
				time.Sleep(time.Millisecond)
				_ = pause()
				return pause()
			})
		}()
		synctest.Wait()
		if err := x.Enter(user(2)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want ErrFull", err)
		}
		x.Leave(user(2))
		if x.Held() != 0 || x.Waiting() != 0 {
			t.Errorf("got %d held, %d waiting; want none", x.Held(), x.Waiting())
		}
	})
}
