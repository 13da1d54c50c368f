package kv

import (
	"testing"
	"time"
)

func TestWaitsAreCountedFromTheLastAnswer(t *testing.T) {
	var w commitWaits
	at := time.Unix(1000, 0)
	for i, step := range []struct {
		do   func(time.Time)
		want time.Duration // five seconds later
	}{{w.begin, 5 * time.Second}, {w.begin, 10 * time.Second}, {w.end, 5 * time.Second}, {w.end, 0}, {w.begin, 5 * time.Second}} {
		step.do(at)
		at = at.Add(5 * time.Second)
		if got := w.Wait(at); got != step.want {
			t.Errorf("step %d: got %v, want %v", i, got, step.want)
		}
	}
}
