package caps

// Unended returns the links in m of which this node is to end the hits before a generation, with that
// generation.
func (t *Table) Unended(m *Message) map[uint64]uint64 {
	var found map[uint64]uint64
	for i := range m.Reports {
		r := &m.Reports[i]
		e := t.find(r.ID)
		if e == nil {
			continue
		}
		e.mu.Lock()
		if (!e.cap.Open || !e.ended) && e.cap.Generation == r.Generation {
			if found == nil {
				found = make(map[uint64]uint64)
			}
			found[r.ID] = r.Generation
		}
		e.mu.Unlock()
	}
	return found
}

// Ended notes in m that this node has ended the hits before the generations of found: all of them are in
// records of its outbox before a position, and the store counts those after as used.
func (t *Table) Ended(m *Message, found map[uint64]uint64, position uint64) {
	for i := range m.Reports {
		r := &m.Reports[i]
		e := t.find(r.ID)
		if generation, ended := found[r.ID]; e == nil || !ended || generation != r.Generation {
			continue
		}
		r.Ended, r.Position = true, position
		e.mu.Lock()
		if e.cap.Generation == r.Generation && !e.ended {
			e.ended = true
			t.settle(r.ID, e)
		}
		e.mu.Unlock()
	}
}

// Message returns what the leader must hear, of at most MaxReports links. It lowers the blocks that it
// releases. ticked says that 1/LooksPerSecond s have passed since the last call for which it was set. Only one
// goroutine may call it.
func (t *Table) Message(ticked bool) Message {
	t.self.Serial++
	m := Message{Node: t.self.Node, Session: t.self.Number, Serial: t.self.Serial}
	for id, code := range t.take() {
		e := t.find(id)
		if e == nil {
			if code != "" {
				m.Reports = append(m.Reports, Report{ID: id, Code: code, Wants: true})
			}
			continue
		}
		e.asked.Store(false)
		r, again := t.report(id, e, m.Serial, ticked)
		if r.ID != 0 {
			m.Reports = append(m.Reports, r)
		}
		if again {
			t.ask(id, e)
		}
	}
	return m
}

// LooksPerSecond is how often a node with hits that others may need looks how many it has used.
const LooksPerSecond = 4

// report returns what the leader is to hear of a link, and whether it must hear of it again. With the zero
// Report there is nothing as yet.
func (t *Table) report(id uint64, e *entry, serial uint64, ticked bool) (r Report, again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.left.Load()
	r = Report{ID: id, Generation: e.cap.Generation, Used: e.granted - left, Wants: left <= e.low.Load() && !e.cap.Spent}
	if b := t.own(&e.cap); b != nil && b.Serial < e.believes { // it may not have heard the last time
		e.believes = serial
		r.Releases, r.Limit = true, e.granted
		return r, true
	}
	switch {
	case !e.cap.Open:
		if ticked || !e.ended {
			return r, true
		}
		return Report{}, true
	case !e.ended, left == 0, r.Wants && e.cap.Free() > 0:
		return r, false
	case e.cap.Spent || e.cap.Free() > 0:
		return Report{}, false
	case !ticked:
		return Report{}, true
	}
	// Nothing is free. What this node has used since its last look, it may need again within a second.
	used, looked := r.Used-min(r.Used, e.lastUsed), e.looked
	if e.lastUsed, e.looked = r.Used, true; !looked {
		return Report{}, true
	}
	keep := used * LooksPerSecond
	if left <= keep {
		return Report{}, true
	}
	before, after := t.left(e, func(left uint64) uint64 { return min(left, keep) })
	e.granted -= before - after
	e.believes = serial
	r.Used, r.Wants, r.Releases, r.Limit = e.granted-after, false, true, e.granted
	return r, true
}

// Failed has the leader hear again of what m says, which it may not have got.
func (t *Table) Failed(m *Message) {
	for i := range m.Reports {
		if e := t.find(m.Reports[i].ID); e != nil { // else the next redirect asks
			t.ask(m.Reports[i].ID, e)
		}
	}
}
