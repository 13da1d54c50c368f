package turnstile

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

var nobody = Key{}

func user(n uint32) Key { return Key{User: n} }

// A bench is a turnstile with the requests that wait at it, by name: their user and a number.
type bench struct {
	t *testing.T
	*Turnstile
	requests map[string]*request
}

func newBench(t *testing.T, l Limits) *bench {
	return &bench{t, New(l), make(map[string]*request)}
}

// userOf: A1, A2 are requests of user 'A'; "-1" is of nobody in particular.
func userOf(name string) Key {
	if name[0] == '-' {
		return nobody
	}
	return user(uint32(name[0]))
}

// arrive lets each of names come, and holds what becomes of it: "placed", "waits", or refused with
// "full" or "share".
func (b *bench) arrive(want string, names ...string) {
	b.t.Helper()
	for _, name := range names {
		r, err := b.Turnstile.arrive(userOf(name))
		got := "placed"
		switch {
		case errors.Is(err, ErrFull):
			got = "full"
		case errors.Is(err, ErrShare):
			got = "share"
		case r != nil:
			got, b.requests[name] = "waits", r
		}
		expect.Equal(b.t, got, want, name)
	}
}

// leave lets each of holders give a place back, and returns the requests that were decided by it,
// with a minus if they were refused.
func (b *bench) leave(holders ...string) (decided []string) {
	for _, name := range holders {
		b.Leave(userOf(name))
		decided = append(decided, b.decided()...)
	}
	return decided
}

func (b *bench) decided() (names []string) {
	for name, r := range b.requests {
		if !isDecided(r) {
			continue
		}
		if delete(b.requests, name); !r.placed {
			name = "-" + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (b *bench) want(got []string, want ...string) {
	b.t.Helper()
	expect.Slices(b.t, got, want)
}

func TestCallersThatWaitTakeTurns(t *testing.T) {
	b := newBench(t, Limits{Places: 1, Waiting: 10})
	b.arrive("placed", "A1")
	b.arrive("waits", "A2", "A3", "A4", "B1", "C1", "B2")
	b.want(b.leave("A1", "B1", "C1", "A2", "B2", "A3"), "B1", "C1", "A2", "B2", "A3", "A4")
}

func TestACallerThatIsServedAgainAndAgainStarvesNobody(t *testing.T) {
	b := newBench(t, Limits{Places: 2, Waiting: 10})
	b.arrive("placed", "A1", "A2")
	b.arrive("waits", "A3", "B1")
	b.want(b.leave("A1"), "B1")
	b.arrive("waits", "A4")
	b.want(b.leave("A2", "A3"), "A3", "A4")
}

func TestACallerHasItsShareAndOthersHaveTheRest(t *testing.T) {
	b := newBench(t, Limits{Places: 3, PerCaller: 2, Waiting: 2})
	b.arrive("placed", "A1", "A2")
	b.arrive("share", "A3")
	b.arrive("placed", "B1")
	b.arrive("waits", "B2")
	b.arrive("share", "B3")
	b.arrive("waits", "C1")
	b.arrive("full", "D1")
	b.want(b.leave("A1", "A2"), "B2", "C1")
	b.arrive("waits", "A3")
}

func TestNobodyInParticularHasNoShare(t *testing.T) {
	b := newBench(t, Limits{Places: 3, PerCaller: 1, Waiting: 2})
	b.arrive("placed", "-1", "-2", "-3")
	b.arrive("waits", "-4", "-5")
	b.arrive("full", "-6")
	expect.That(t, b.Held() == 3 && b.Waiting() == 2, "got %d places and %d waiting, want 3 and 2", b.Held(), b.Waiting())
}

func TestOneCallerNeverKeepsOthersFromWaiting(t *testing.T) {
	b := newBench(t, Limits{Places: 1, Waiting: 4})
	b.arrive("placed", "A1")
	b.arrive("waits", "A2", "A3", "A4", "A5")
	b.arrive("full", "A6")
	b.arrive("waits", "B1")
	b.want(b.decided(), "-A5")
	b.arrive("waits", "B2")
	b.want(b.decided(), "-A4")
	b.arrive("full", "B3") // then A would have fewer than B
	b.arrive("waits", "C1")
	got := b.decided()
	expect.That(t, len(got) == 1 && (got[0] == "-A3" || got[0] == "-B2"), "got %v, want the youngest of A or B", got)
}

func TestWithoutAQueueRefusalsAreImmediate(t *testing.T) {
	b := newBench(t, Limits{Places: 1})
	b.arrive("placed", "A1")
	b.arrive("full", "A2", "B1")
	b.leave("A1")
	b.arrive("placed", "B1")
}

func TestARequestThatWaitsTooLongIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Limits{Places: 1, Waiting: 2, Patience: time.Second})
		expect.OK(t, s.Enter(user(1)))
		start := time.Now()
		err := s.Enter(user(2))
		expect.That(t, errors.Is(err, ErrFull) && time.Since(start) == time.Second, "got %v after %v, want %v after 1s", err, time.Since(start), ErrFull)
		time.AfterFunc(time.Second/2, func() { s.Leave(user(1)) })
		expect.NoError(t, s.Enter(user(2)))
		s.Leave(user(2))
		expect.Equal(t, len(s.mu.present)+len(s.mu.queue)+s.mu.held+s.mu.waiting, 0, "something is left: %+v", &s.mu)
	})
}

func TestAPanicGivesThePlaceBack(t *testing.T) {
	s := New(Limits{Places: 1})
	func() {
		defer func() { _ = recover() }()
		_ = s.Do(user(1), func() error { panic("inside") })
	}()
	expect.Equal(t, s.Held(), 0, "the place is still held")
}

func TestLeavingWithoutAPlacePanics(t *testing.T) {
	s := New(Limits{Places: 1, Waiting: 1})
	check := func(who Key) {
		defer func() {
			expect.That(t, recover() != nil, "%v: got no panic", who)
		}()
		s.Leave(who)
	}
	check(user(1))
	_ = s.Enter(user(1))
	expect.OK(t, expect.Err(s.arrive(user(2))))
	check(user(2)) // it waits
}

// The model is two lists: who holds places, and who waits in the order of arrival, with the number
// of times that each caller was served or gave a place back since it began to wait.
type model struct {
	limits  Limits
	held    []Key
	waiting []*request
	order   []Key // callers that wait, the next one first
}

func (m *model) waits(k Key) (n int) {
	for _, r := range m.waiting {
		if r.of.key == k {
			n++
		}
	}
	return n
}

func (m *model) present(k Key) (n int) {
	for _, h := range m.held {
		if h == k {
			n++
		}
	}
	return n + m.waits(k)
}

// settle makes order again: those that no longer wait are not in it, and served goes to the end.
func (m *model) settle(served Key) {
	last := slices.Contains(m.order, served)
	m.order = slices.DeleteFunc(m.order, func(k Key) bool { return k == served || m.waits(k) == 0 })
	if last && m.waits(served) > 0 {
		m.order = append(m.order, served)
	}
}

// next takes out and returns the request that gets the place that key gives back, nil if none
// waits.
func (m *model) next(key Key) *request {
	i := slices.Index(m.held, key)
	m.held = slices.Delete(m.held, i, i+1)
	m.settle(key)
	if len(m.order) == 0 {
		return nil
	}
	i = slices.IndexFunc(m.waiting, func(r *request) bool { return r.of.key == m.order[0] })
	r := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.settle(m.order[0])
	m.held = append(m.held, r.of.key)
	return r
}

func TestATurnstileBehavesLikeItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{
			Places: rapid.IntRange(1, 3).Draw(t, "places"), PerCaller: rapid.IntRange(0, 4).Draw(t, "share"),
			Waiting: rapid.IntRange(0, 6).Draw(t, "waiting"),
		}
		s, m := New(l), &model{limits: l}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1, 2:
				m.arrive(t, s, user(uint32(rapid.IntRange(0, 3).Draw(t, "user"))))
			case 3:
				m.leave(t, s)
			case 4:
				m.giveUp(t, s)
			}
			expect.MustThat(t, s.Held() == len(m.held) && s.Waiting() == len(m.waiting),
				"got %d held and %d waiting, want %d and %d", s.Held(), s.Waiting(), len(m.held), len(m.waiting))
			for k, c := range s.mu.present {
				if c.present != m.present(k) || len(c.queue) != m.waits(k) || c.present == 0 {
					t.Fatalf("%v: got %d present, %d waiting, want %d and %d", k, c.present, len(c.queue), m.present(k), m.waits(k))
				}
			}
		}
	})
}

func (m *model) arrive(t *rapid.T, s *Turnstile, key Key) {
	r, err := s.arrive(key)
	switch hasShare := m.limits.PerCaller > 0 && key != nobody && m.present(key) >= m.limits.PerCaller; {
	case hasShare:
		expect.MustError(t, err, ErrShare, "got %v", r)
	case len(m.held) < m.limits.Places:
		expect.MustThat(t, err == nil && r == nil, "got %v, %v, want a place", r, err)
		m.held = append(m.held, key)
	case len(m.waiting) < m.limits.Waiting:
		expect.MustThat(t, r != nil, "got %v, want to wait", err)
		m.wait(r)
	default:
		m.crowd(t, r, err, key)
	}
}

func (m *model) wait(r *request) {
	m.waiting = append(m.waiting, r)
	if !slices.Contains(m.order, r.of.key) {
		m.order = append(m.order, r.of.key)
	}
}

// crowd: nobody more may wait, so a newcomer is refused or takes the place of one that is.
func (m *model) crowd(t *rapid.T, r *request, err error, key Key) {
	most := 0
	for _, k := range m.order {
		most = max(most, m.waits(k))
	}
	if most-1 < m.waits(key)+1 {
		expect.MustError(t, err, ErrFull, "got %v", r)
		return
	}
	i := slices.IndexFunc(m.waiting, isDecided)
	expect.MustThat(t, r != nil && i >= 0, "nobody made room: %v", err)
	if out := m.waiting[i]; out.placed || m.waits(out.of.key) != most {
		t.Fatalf("%v made room, and has %d of at most %d", out.of.key, m.waits(out.of.key), most)
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.order = slices.DeleteFunc(m.order, func(k Key) bool { return m.waits(k) == 0 })
	m.wait(r)
}

func isDecided(r *request) bool {
	select {
	case <-r.decided:
		return true
	default:
		return false
	}
}

func (m *model) leave(t *rapid.T, s *Turnstile) {
	if len(m.held) == 0 {
		return
	}
	key := rapid.SampledFrom(m.held).Draw(t, "holder")
	want := m.next(key)
	s.Leave(key)
	if want == nil {
		return
	}
	expect.MustThat(t, isDecided(want) && want.placed, "%v should be next", want.of.key)
}

func (m *model) giveUp(t *rapid.T, s *Turnstile) {
	if len(m.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "impatient")
	r := m.waiting[i]
	s.giveUp(r)
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.order = slices.DeleteFunc(m.order, func(k Key) bool { return m.waits(k) == 0 })
}

func TestRacingCallersNeverExceedThePlaces(t *testing.T) {
	s := New(Limits{Places: 3, PerCaller: 4, Waiting: 8, Patience: time.Millisecond})
	var inside atomic.Int32
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			for range 500 {
				_ = s.Do(user(uint32(i%8)), func() error {
					n := inside.Add(1)
					expect.That(t, n <= 3, "%d are inside, want 3 at most", n)
					inside.Add(-1)
					return nil
				})
			}
		})
	}
	callers.Wait()
	expect.That(t, s.Held() == 0 && s.Waiting() == 0 && len(s.mu.present) == 0,
		"%d places are held, %d wait, %d are present; want none", s.Held(), s.Waiting(), len(s.mu.present))
}
