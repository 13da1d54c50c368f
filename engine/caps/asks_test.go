package caps

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
	"shunt/engine/index"
)

// asker runs Asks with a leader that the test plays.
type asker struct {
	Asks
	send func([]Ask) ([]Answer, error)
	stop context.CancelFunc
}

func startAsks(t *testing.T, send func([]Ask) ([]Answer, error)) *asker {
	a := &asker{send: send}
	a.Init()
	var ctx context.Context
	ctx, a.stop = context.WithCancel(t.Context())
	go a.Run(ctx, func(_ context.Context, asks []Ask) ([]Answer, error) { return a.send(asks) })
	synctest.Wait()
	return a
}

// hits has n redirects of a link wait, one after the other, and returns how to get their answers in that order.
func (a *asker) hits(id uint64, n int) func() []Answer {
	answers := make([]Answer, n)
	var waiting sync.WaitGroup
	for i := range n {
		waiting.Go(func() { answers[i] = a.Hit(id, keyOf("code"), nil) })
		synctest.Wait()
	}
	return func() []Answer {
		waiting.Wait()
		return answers
	}
}

func granted(answers []Answer) (n, spent int) {
	for _, a := range answers {
		n += int(a.Granted)
		if a.Spent {
			spent++
		}
	}
	return n, spent
}

// TestRedirectsThatWaitGoTogether has ten wait while the first is asked for: they are one question, and those who
// came first get what is left.
func TestRedirectsThatWaitGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [][]Ask
		a := startAsks(t, func(asks []Ask) ([]Answer, error) {
			asked = append(asked, asks)
			time.Sleep(time.Second)
			return []Answer{{Granted: min(asks[0].Hits, 4), Generation: 3, Spent: asks[0].Hits > 4}}, nil
		})
		defer a.stop()
		first := a.hits(7, 1)
		rest := a.hits(7, 10)
		n, spent := granted(first())
		expect.That(t, n == 1 && spent == 0, "the first: %d granted, %d told that the cap is used up", n, spent)
		all := rest()
		if n, spent := granted(all[:4]); n != 4 || spent != 0 || all[0].Generation != 3 {
			t.Errorf("the next four: %+v", all[:4])
		}
		if n, spent := granted(all[4:]); n != 0 || spent != 6 {
			t.Errorf("the last six: %+v", all[4:])
		}
		expect.That(t, len(asked) == 2 && reflect.DeepEqual(asked[1][0], Ask{ID: 7, Domain: index.DefaultDomain, Code: "code", Hits: 10}), "asked %+v", asked)
	})
}

// TestNothingIsGrantedWithoutTheLeader while it does not answer, answers too little, or nobody asks it.
func TestNothingIsGrantedWithoutTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var never Asks
		never.Init()
		expect.Equal(t, never.Hit(1, keyOf("code"), nil), Answer{}, "before Run")
		a := startAsks(t, func([]Ask) ([]Answer, error) { return nil, errors.New("gone") })
		for name, send := range map[string]func([]Ask) ([]Answer, error){
			"an error":  func(asks []Ask) ([]Answer, error) { return []Answer{{Granted: 1}}, errors.New("gone") },
			"no answer": func(asks []Ask) ([]Answer, error) { return nil, nil },
		} {
			a.send = send
			got := a.hits(1, 1)()
			expect.Equal(t, got[0], Answer{}, "%s: %+v", name, got)
		}
		a.stop()
		synctest.Wait()
		expect.Equal(t, a.Hit(1, keyOf("code"), nil), Answer{}, "after Run")
	})
}

// TestARedirectThatHasWaitedTooLongIsNotAskedFor, and all who wait are told when Run ends.
func TestARedirectThatHasWaitedTooLongIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, took := 0, 2*patience
		a := startAsks(t, func(asks []Ask) ([]Answer, error) {
			asked += int(asks[0].Hits)
			time.Sleep(took)
			return []Answer{{Granted: asks[0].Hits}}, nil
		})
		first, late := a.hits(1, 1), a.hits(1, 5)
		n, _ := granted(first())
		expect.Equal(t, n, 1, "the first granted")
		if n, spent := granted(late()); n != 0 || spent != 0 || asked != 1 {
			t.Errorf("those who waited: %d granted, %d told that it is used up, asked for %d", n, spent, asked)
		}
		first = a.hits(1, 1)
		late = a.hits(2, 3)
		a.stop()
		if n, _ := granted(first()); n != 1 {
			t.Errorf("the one that was asked for: %d granted", n)
		}
		if n, spent := granted(late()); n != 0 || spent != 0 {
			t.Errorf("those who waited at the end: %d granted, %d told that it is used up", n, spent)
		}
	})
}

// TestAMessageAndTheQueueHaveLimits fills both.
func TestAMessageAndTheQueueHaveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		largest := 0
		a := startAsks(t, func(asks []Ask) ([]Answer, error) {
			largest = max(largest, len(asks))
			time.Sleep(time.Millisecond)
			answers := make([]Answer, len(asks))
			for i := range answers {
				answers[i].Granted = asks[i].Hits
			}
			return answers, nil
		})
		defer a.stop()
		first := a.hits(0, 1)
		var waiting sync.WaitGroup
		var mu sync.Mutex
		all := make([]Answer, 0, maxWaiting+1)
		for i := range maxWaiting + 1 {
			waiting.Go(func() {
				one := a.Hit(uint64(1+i%(2*MaxAsks)), keyOf("code"), nil)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, one)
			})
		}
		waiting.Wait()
		first()
		if n, _ := granted(all); n != maxWaiting || largest != MaxAsks {
			t.Errorf("%d of %d were granted, and the largest message has %d links; want %d and %d", n, len(all), largest, maxWaiting, MaxAsks)
		}
	})
}

func TestAGrantOfAnEarlierCapIsNotUsed(t *testing.T) {
	var table Table
	expect.That(t, table.Allows(1, 3), "a grant is refused by a node that does not know of the cap yet")
	table.Put(1, Cap{Generation: 3, Used: 1, Open: true})
	expect.That(t, table.Allows(1, 3) && table.Allows(1, 5) && !table.Allows(1, 2), "with generation 3: those of 3 and 5 are allowed, that of 2 is not")
	table.Put(1, Cap{Generation: 4}) // it was taken away
	expect.That(t, !table.Allows(1, 3), "a grant is used although its cap was taken away")
	table.Remove(1)
	expect.Equal(t, table.Of(1), Cap{}, "a link without a cap")
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) index.Key { return index.Key{Domain: index.DefaultDomain, Code: code} }
