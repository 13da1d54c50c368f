package index

// NodeOf returns the node whose links have such ids: the high 16 bits.
func NodeOf(id uint64) uint16 { return uint16(id >> counterBits) }

// Admit raises the counter of link l, which has that id, if raise is set. It returns false if the
// cap is used up: the cap that is in force by now, not the one that the link had when it was
// resolved. The cap is looked up after the counter is read. A change of the cap is published first
// and then added to the counter (CapChanged), so that a swap succeeds only if the cap was in force
// at that moment or the change is not over yet. (1,024 changes between load and swap would go
// unnoticed; each of them waits for an fsync.) Nothing is added and taken back, so the sum over all
// callers that got true is exact.
func (x *Index) Admit(l Link, id uint64, raise bool) bool {
	counter := x.counters.at(id)
	for {
		was := counter.Load()
		limit := x.capInForce(l, id)
		switch {
		case limit != 0 && was&hitsMask >= limit:
			return false
		case !raise, counter.CompareAndSwap(was, was+1):
			return true
		}
	}
}

// capInForce returns the cap that link l has now; 0: none. If the link is gone, it is the cap that
// it had.
func (x *Index) capInForce(l Link, id uint64) uint64 {
	now, ok := x.Resolve(l.code())
	if !ok || now.ID() != id {
		now = l
	}
	limit := now.MaxHits()
	now.Release()
	return limit
}

// CountsAtOnce reports whether the hits of link l raise its counter themselves by now.
func (x *Index) CountsAtOnce(l Link) bool {
	now, ok := x.Resolve(l.code())
	if !ok {
		return false
	}
	defer now.Release()
	return now.ID() == l.ID() && now.Flags().CountAtOnce()
}

// CapChanged is to be called after a link was put with another cap than it had. When it returns, no
// hit is admitted any more under the cap that the link had before.
func (x *Index) CapChanged(id uint64) { x.counters.at(id).Add(capChange) }

// Hits returns the hit count of a link; 0 if the id is of none.
func (x *Index) Hits(id uint64) uint64 {
	if c := x.counters.find(id); c != nil {
		return c.Load() & hitsMask
	}
	return 0
}

// AddHits raises the hit count of a link by n. An id that is of no link is ignored.
func (x *Index) AddHits(id, n uint64) {
	if c := x.counters.find(id); c != nil {
		c.Add(n)
	}
}

// SetHits makes n the hit count of a link that is not put yet.
func (x *Index) SetHits(id, n uint64) error {
	if err := x.counters.ensure(id); err != nil {
		return err
	}
	x.counters.at(id).Store(n)
	return nil
}
