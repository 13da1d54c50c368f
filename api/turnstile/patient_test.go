package turnstile

import (
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
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
		expect.OK(t, x.Enter(user(1)))
		first, second := patient(x, user(1), 2), patient(x, user(1), 2)
		expect.Error(t, <-patient(x, user(1), 2), ErrShare, "a third one")
		expect.Error(t, x.Enter(user(1)), ErrShare, "an impatient one")
		expect.NoError(t, <-patient(x, user(2), 2), "another caller")
		for n, outcome := range []<-chan error{first, second} {
			x.Leave(user(1))
			expect.NoError(t, <-outcome, "request %d", n+1)
		}
		x.Leave(user(1))
		x.Leave(user(2))
		expect.That(t, x.Held() == 0 && x.Waiting() == 0 && len(x.mu.present) == 0,
			"got %d held, %d waiting, %d present; want none", x.Held(), x.Waiting(), len(x.mu.present))
	})
}

func TestAFreePlaceGoesToACallerWithAShareLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 2, PerCaller: 1})
		for n := range uint32(2) {
			expect.OK(t, x.Enter(user(n+1)))
		}
		again, third := patient(x, user(1), 1), patient(x, user(3), 1)
		x.Leave(user(2))
		err := <-third
		expect.That(t, err == nil, "got %v, want the place", err)
		x.Leave(user(1))
		err = <-again
		expect.That(t, err == nil, "got %v, want the place", err)
	})
}

func TestPatienceEndsWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(Limits{Places: 1, PerCaller: 1})
		expect.OK(t, x.Enter(user(1)))
		start := time.Now()
		share, full := patient(x, user(1), 1), patient(x, user(2), 1)
		expect.Error(t, <-share, ErrShare)
		expect.Error(t, <-full, ErrFull)
		d := time.Since(start)
		expect.That(t, d == 5*time.Second && x.Waiting() == 0, "after %v %d wait, want 0 after 5s", d, x.Waiting())
		expect.Error(t, x.Enter(user(3)), ErrFull, "an impatient one")
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
		expect.OK(t, x.Do(user(2), func() error { order = append(order, "other"); return nil }))
		err := <-done
		expect.That(t, err == nil && x.Held() == 0, "got %v, %d held", err, x.Held())
		want := "other"
		expect.That(t, len(order) == 7 && order[2] == want, "got %v, want the other after two parts", order)
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
		expect.OK(t, x.Enter(user(2)))
		expect.Error(t, <-done, ErrFull)
		x.Leave(user(2))
		expect.That(t, x.Held() == 0 && x.Waiting() == 0, "got %d held, %d waiting; want none", x.Held(), x.Waiting())
	})
}
