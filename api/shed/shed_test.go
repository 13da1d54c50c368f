package shed

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
)

// loops are event loops that are pressed since a time; zero: they rest.
type loops struct{ since time.Time }

func (l *loops) pressed(now time.Time) time.Duration {
	if l.since.IsZero() {
		return 0
	}
	return now.Sub(l.since)
}

// creates sends a create each 10 ms for a time, without waiting for answers, and returns how many
// were admitted and refused.
func creates(t *testing.T, s *Shedder, lasts time.Duration) (admitted, refused int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range lasts / (10 * time.Millisecond) {
		all.Go(func() {
			err := s.Enter(Create)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				admitted++
				s.Leave()
			case errors.Is(err, ErrPressed):
				refused++
			default:
				t.Errorf("got %v", err)
			}
		})
		time.Sleep(10 * time.Millisecond)
	}
	all.Wait()
	return admitted, refused
}

func TestCreatesAreShedWhileLoopsArePressedAndOnlyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(loops)
		s := New(l.pressed)
		admitted, refused := creates(t, s, time.Second)
		expect.That(t, refused == 0 && admitted == 100, "while loops rest: %d admitted, %d refused, want all of 100 admitted", admitted, refused)
		l.since = time.Now()
		creates(t, s, 200*time.Millisecond)
		if admitted, refused := creates(t, s, time.Second); admitted < 15 || admitted > 21 || admitted+refused != 100 {
			t.Errorf("while loops are pressed: %d admitted, %d refused, want 1 each 50 ms admitted", admitted, refused)
		}
		for _, k := range []Kind{Other, Freeing} {
			expect.NoError(t, s.Enter(k), "kind %d while loops are pressed", k)
			s.Leave()
		}
		l.since = time.Time{}
		creates(t, s, time.Second)
		_, refused = creates(t, s, time.Second)
		expect.Equal(t, refused, 0, "a second after the loops rest again refused")
		pressed, inFlight := s.Refused()
		expect.That(t, pressed >= 80 && inFlight == 0, "got %d and %d refused", pressed, inFlight)
	})
}

func TestAPressedMomentAloneShedsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(loops)
		s := New(l.pressed)
		for range 10 {
			time.Sleep(time.Minute)
			l.since = time.Now().Add(-time.Second)
			for range 2 {
				expect.OK(t, s.Enter(Create))
				s.Leave()
			}
			l.since = time.Time{}
			creates(t, s, time.Second)
		}
	})
}

func TestASingleClientIsServedSoonAfterAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loops{since: time.Now()}
		s := New(l.pressed)
		creates(t, s, 2*time.Second)
		l.since = time.Time{}
		begun, served := time.Now(), 0
		for served < 10 {
			if served++; s.Enter(Create) != nil {
				served = 0
				continue
			}
			s.Leave()
			time.Sleep(10 * time.Millisecond)
		}
		took := time.Since(begun)
		expect.That(t, took <= 5*time.Second, "it took %v", took)
	})
}

func TestAShortBurstShedsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(loops)
		s := New(l.pressed)
		for range 50 { // 30 ms of a burst each second
			l.since = time.Now()
			_, first := creates(t, s, 30*time.Millisecond)
			l.since = time.Time{}
			_, refused := creates(t, s, 970*time.Millisecond)
			expect.MustThat(t, first+refused <= 0, "%d creates were refused", first+refused)
		}
	})
}

func TestARefusalTakesASecondUnlessManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loops{since: time.Now().Add(-time.Minute)}
		s := New(l.pressed)
		creates(t, s, time.Second)
		var all sync.WaitGroup
		var mu sync.Mutex
		soon, late := 0, 0
		for range 2 * maxDelayed {
			all.Go(func() {
				begun := time.Now()
				if s.Enter(Create) == nil {
					s.Leave()
					return
				}
				mu.Lock()
				defer mu.Unlock()
				switch time.Since(begun) {
				case 0:
					soon++
				case refusalDelay:
					late++
				}
			})
		}
		all.Wait()
		expect.That(t, late == maxDelayed && soon >= maxDelayed-1, "%d refusals after a second, %d at once, want %d of each", late, soon, maxDelayed)
		expect.That(t, s.delayed.Load() == 0 && s.inFlight.Load() == 0,
			"%d wait and %d are under way at the end", s.delayed.Load(), s.inFlight.Load())
	})
}

func TestRequestsInFlightAreBoundedButFreeingOnesGoOn(t *testing.T) {
	s := New(new(loops).pressed)
	for range maxInFlight {
		expect.OK(t, s.Enter(Other))
	}
	for _, k := range []Kind{Create, Other} {
		expect.Error(t, s.Enter(k), ErrInFlight, "kind %d", k)
	}
	expect.NoError(t, s.Enter(Freeing), "a revocation")
	s.Leave()
	s.Leave()
	expect.NoError(t, s.Enter(Other), "after one has left")
	_, inFlight := s.Refused()
	expect.Equal(t, inFlight, 2, "refused")
}
