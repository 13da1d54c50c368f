package link

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
)

// TestAWriterWaitsForItsTimeAtMost uses a fake clock. Writers begin all over a step.
func TestAWriterWaitsForItsTimeAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		var writing sync.WaitGroup
		for n := range 100 {
			writing.Go(func() {
				time.Sleep(time.Duration(n) * deadlineStep / 7)
				start := time.Now()
				ctx, cancel := d.within(context.Background())
				defer cancel()
				<-ctx.Done()
				took := time.Since(start)
				expect.That(t, took <= CommitTimeout && took >= CommitTimeout-deadlineStep, "writer %d waited %v", n, took)
			})
		}
		writing.Wait()
	})
}

func TestWritersWhoEndDoNotEndOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		first, endFirst := d.within(context.Background())
		second, endSecond := d.within(context.Background())
		endFirst()
		ctx, cancel := context.WithCancel(context.Background())
		third, endThird := d.within(ctx)
		defer endThird()
		cancel()
		if first.Err() != nil || second.Err() != nil || third.Err() == nil {
			t.Errorf("got %v, %v, %v, want an end of the third only", first.Err(), second.Err(), third.Err())
		}
		endSecond()
	})
}

func TestWritersOfOneStepShareADeadline(t *testing.T) {
	var d deadlines
	allocs := testing.AllocsPerRun(1000, func() {
		_, cancel := d.within(context.Background())
		cancel()
	})
	if allocs > 0 { // a new deadline each 50 ms is less than one in a thousand
		t.Errorf("%v allocations a writer, want 0", allocs)
	}
}
