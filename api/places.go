package api

import "sync"

// places bounds how many answers that go on there are at a time, in all and for one caller.
type places struct {
	what             string // they are, in the plural
	limit, perCaller int

	mu struct {
		sync.Mutex
		open     int
		byCaller map[uint32]int // by the caller's id; those without any are not in it
	}
}

func (p *places) init(what string, limit, perCaller int) {
	p.what, p.limit, p.perCaller = what, limit, perCaller
	p.mu.byCaller = make(map[uint32]int)
}

// take takes one of the places, to be given back with release.
func (p *places) take(caller uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mu.open >= p.limit:
		return refuse(kindOverloaded, "%d %s are open, and no more are served", p.limit, p.what)
	case p.mu.byCaller[caller] >= p.perCaller:
		return refuse(kindOverloaded, "you have %d %s open; close some", p.perCaller, p.what)
	}
	p.mu.open++
	p.mu.byCaller[caller]++
	return nil
}

func (p *places) release(caller uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.open--
	if p.mu.byCaller[caller]--; p.mu.byCaller[caller] == 0 {
		delete(p.mu.byCaller, caller)
	}
}
