package absent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// elsewhere is another server in a test.
type elsewhere struct {
	mu      sync.Mutex
	links   map[string]bool
	asked   [][]engine.Key
	takes   time.Duration
	applies time.Duration // after an answer
	err     error
	gone    atomic.Bool
}

func (e *elsewhere) source() Source {
	return Source{
		Gone: e.gone.Load,
		Ask: func(ctx context.Context, codes []engine.Key) (Found, error) {
			e.mu.Lock()
			defer e.mu.Unlock() // a second question at once would wait here, and be seen by its time
			e.asked = append(e.asked, codes)
			select {
			case <-time.After(e.takes):
			case <-ctx.Done():
				return Found{}, ctx.Err()
			}
			f := Found{After: 7}
			for _, code := range codes {
				f.Found = append(f.Found, e.links[code.Code])
			}
			return f, e.err
		},
		Applied: func(ctx context.Context, after uint64) error {
			select {
			case <-time.After(e.applies):
				if after != 7 {
					return errors.New("another position")
				}
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

func network(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}) }

// TestManyWhoMissAskOnce has many visitors of a new code, and of others while the first question is under way.
func TestManyWhoMissAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &elsewhere{links: map[string]bool{"new": true, "b": true}, takes: 50 * time.Millisecond, applies: 10 * time.Millisecond}
		a := New(e.source(), time.Now())
		var found, wrong atomic.Int64
		var all sync.WaitGroup
		visit := func(code string, from int) {
			all.Go(func() {
				here := a.Ask(keyOf(code), network(from), time.Now())
				if here {
					found.Add(1)
				}
				if here != e.links[code] {
					wrong.Add(1)
				}
			})
		}
		visit("new", 0)
		synctest.Wait()
		for i := range 20 {
			visit("new", i)
			visit("a", i)
			visit("b", i)
			visit(fmt.Sprintf("c%d", i), i)
		}
		all.Wait()
		expect.That(t, len(e.asked) == 2 && len(e.asked[0]) == 1 && len(e.asked[1]) == 22, "asked %v", e.asked)
		expect.That(t, found.Load() == 41 && wrong.Load() == 0, "found %d, wrong %d", found.Load(), wrong.Load())
		expect.That(t, !a.Ask(keyOf("a"), network(1), time.Now()) && len(e.asked) == 2, "a recent miss is asked for again")
		time.Sleep(2 * recentTime)
		expect.That(t, !a.Ask(keyOf("a"), network(1), time.Now()) && len(e.asked) == 3, "an old miss is not asked for again")
	})
}

// TestNobodyWaitsLong for another server that is slow, whose entries come late, that fails or is gone.
func TestNobodyWaitsLong(t *testing.T) {
	for name, c := range map[string]struct {
		e     *elsewhere
		found bool
		takes time.Duration
	}{
		"soon":             {&elsewhere{takes: 20 * time.Millisecond, applies: 20 * time.Millisecond}, true, 40 * time.Millisecond},
		"slow":             {&elsewhere{takes: time.Minute}, false, Patience},
		"entries are late": {&elsewhere{takes: 20 * time.Millisecond, applies: time.Minute}, false, Patience},
		"fails":            {&elsewhere{err: errors.New("x")}, false, 0},
		"gone":             {func() *elsewhere { e := new(elsewhere); e.gone.Store(true); return e }(), false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.e.links = map[string]bool{"code": true}
			a := New(c.e.source(), time.Now())
			began := time.Now()
			var all sync.WaitGroup
			for i := range 5 {
				all.Go(func() {
					got := a.Ask(keyOf("code"), network(i), time.Now())
					expect.That(t, got == c.found && time.Since(began) == c.takes, "%s: found %v after %v", name, got, time.Since(began))
				})
			}
			all.Wait()
			expect.That(t, len(a.mu.asking) == 0 && a.mu.next == nil && len(a.turn) == 0, "%s: something is left: %v", name, a.mu.asking)
			if name != "gone" {
				got := a.Ask(keyOf("code"), network(1), time.Now())
				expect.Equal(t, got, c.found, "%s: the next one", name)
			}
		})
	}
}

// TestAScannerDoesNotMakeEveryMissAQuestion asks for other codes all the time: from one network, and from many.
func TestAScannerDoesNotMakeEveryMissAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &elsewhere{takes: 10 * time.Millisecond}
		a := New(e.source(), time.Now())
		for i := range 500 {
			a.Ask(keyOf(fmt.Sprintf("one%d", i)), network(1), time.Now())
		}
		asked := len(e.asked)
		expect.That(t, asked >= perNetwork.Burst && asked <= perNetwork.Burst+20, "one network asked %d times", asked)
		e.links = make(map[string]bool)
		for i := range 500 {
			code := fmt.Sprintf("there%d", i)
			e.links[code] = true
			found := a.Ask(keyOf(code), network(600), time.Now())
			expect.That(t, found, "the link %d of one network is not found", i)
		}
		e.takes = time.Minute
		began := time.Now()
		var all sync.WaitGroup
		for i := range 4000 {
			all.Go(func() { a.Ask(keyOf(fmt.Sprintf("many%d", i)), network(2+i), time.Now()) })
		}
		synctest.Wait()
		a.mu.Lock()
		waiting := len(a.mu.asking)
		a.mu.Unlock()
		expect.That(t, waiting <= 2*MaxCodes, "%d codes wait", waiting)
		all.Wait()
		expect.Equal(t, time.Since(began), Patience, "the wait")
		for i := range 4 * maxRecent {
			a.mu.recent.add(keyOf(fmt.Sprint(i)).Own(), time.Now())
		}
		expect.That(t, len(a.mu.recent.now)+len(a.mu.recent.before) <= 2*maxRecent, "too many misses are kept")
	})
}

func keyOf(code string) engine.KeyView {
	return engine.Key{Domain: engine.DefaultDomain, Code: code}.View()
}
