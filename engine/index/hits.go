package index

import "shunt/engine/internal/limits"

// Admit reports whether link l, whose id is id, may have another hit, and counts that hit if raise
// is set. It returns false if the cap is used up: the cap in force now, not the cap that the link
// had when it was resolved.
//
// The cap is read after the counter. A change of the cap is published first and then added to the
// counter (CapChanged), so a swap succeeds only if the cap was in force at that moment or the
// change is not over yet. (1,024 changes between load and swap would go unnoticed; each of them
// waits for an fsync.) Nothing is added and taken back, so the sum over all callers that got true
// is exact.
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

// AdmitUncapped is Admit for a link whose cap is shared out among the nodes of a cluster: it admits hits
// only while the link has no cap.
func (x *Index) AdmitUncapped(l Link, id uint64, raise bool) (admitted bool) {
	counter := x.counters.at(id)
	for {
		was := counter.Load()
		switch {
		case x.capInForce(l, id) != 0:
			return false
		case !raise, counter.CompareAndSwap(was, was+1):
			return true
		}
	}
}

// capInForce returns the cap that link l has now; 0: no cap. If the link is gone, it returns the
// cap that l had.
func (x *Index) capInForce(l Link, id uint64) uint64 {
	var room [limits.MaxCodeBytes]byte
	now, ok := x.Resolve(l.Key(room[:0]))
	if !ok || now.ID() != id {
		now = l
	}
	limit := now.MaxHits()
	now.Release()
	return limit
}

// CountsAtOnce reports whether hits of link l now raise its counter themselves.
func (x *Index) CountsAtOnce(l Link) bool {
	var room [limits.MaxCodeBytes]byte
	now, ok := x.Resolve(l.Key(room[:0]))
	if !ok {
		return false
	}
	defer now.Release()
	return now.ID() == l.ID() && now.CountsAtOnce()
}

// CapChanged must be called after a link was put with a different cap. After it returns, no hit is
// admitted under the link's previous cap.
func (x *Index) CapChanged(id uint64) { x.counters.at(id).Add(capChange) }

// Hits returns the hit count of a link; 0 if no link has that id.
func (x *Index) Hits(id uint64) uint64 {
	if c := x.counters.find(id); c != nil {
		return c.Load() & hitsMask
	}
	return 0
}

// AddHits raises the hit count of a link by n. It does nothing if no link has that id.
func (x *Index) AddHits(id, n uint64) {
	if c := x.counters.find(id); c != nil {
		c.Add(n)
	}
}

// FetchHits brings the counter of a link into the cache, if one has that id. Unlike AddHits it does not
// wait for it, so the counters of several links come at the same time.
func (x *Index) FetchHits(id uint64) {
	if c := x.counters.find(id); c != nil {
		c.Load()
	}
}

// RaiseHits is AddHits for a link that need not be put yet: its counter is kept for it.
func (x *Index) RaiseHits(id, n uint64) error {
	if err := x.counters.ensure(id); err != nil {
		return err
	}
	x.counters.at(id).Add(n)
	return nil
}

// SetHits sets the hit count of a link that is not put yet.
func (x *Index) SetHits(id, n uint64) error {
	if err := x.counters.ensure(id); err != nil {
		return err
	}
	x.counters.at(id).Store(n)
	return nil
}
