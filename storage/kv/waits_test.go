package kv

import (
	"testing"
	"time"

	"shunt/engine/expect"
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
		expect.Equal(t, w.Wait(at), step.want, "step %d", i)
	}
}
