package api

import "sync/atomic"

// A turnstile lets so many through at a time, and so many wait. Who finds it full is to be told so, so that what anybody may
// ask for takes no more than a share of the machine.
type turnstile struct {
	slots   chan struct{} // one taken by each that is inside
	present *atomic.Int64 // inside or waiting
	most    int64
}

func newTurnstile(inside, waiting int) turnstile {
	return turnstile{make(chan struct{}, inside), new(atomic.Int64), int64(inside + waiting)}
}

// enter waits for its turn; false: too many wait. Who has entered must leave.
func (t *turnstile) enter() bool {
	if t.present.Add(1) > t.most {
		t.present.Add(-1)
		return false
	}
	t.slots <- struct{}{}
	return true
}

func (t *turnstile) leave() {
	<-t.slots
	t.present.Add(-1)
}
