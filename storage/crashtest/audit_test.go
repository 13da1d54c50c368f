package crashtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"shunt/engine"
)

// by returns who makes the change a, for the audit log: its request id is the name of a. The clocks
// of the workers differ by up to an hour.
func (h *history) by(a *attempt, rng *rand.Rand) *engine.By {
	return &engine.By{AtMs: h.nowMs.Load() - rng.Int64N(int64(time.Hour/time.Millisecond)), User: 1, Name: "ann", RequestID: a.by}
}

// auditOfAccount returns the entry of a row of accounts that becomes state.
func (h *history) auditOfAccount(key string, a *attempt, rng *rand.Rand) *engine.AuditEntry {
	return &engine.AuditEntry{
		Action: engine.UserEdited, By: *h.by(a, rng), Changes: []engine.AuditChange{{Field: key, After: a.state}},
	}
}

// auditLog is the audit log after a crash, played from its first entry to its last.
type auditLog struct {
	entries []*engine.AuditEntry // the oldest first
	rows    map[string]found     // what they make of each row: state and version
}

// play adds an entry. It reports an entry that does not continue from the state before it.
func (l *auditLog) play(h *history, c *crash, e *engine.AuditEntry) {
	l.entries = append(l.entries, e)
	if e.Action == engine.UserEdited {
		l.rows[accountRow+e.Changes[0].Field] = found{state: e.Changes[0].After}
		return
	}
	before, code := stateOf(e.Before)
	after, made := stateOf(e.After)
	code = max(code, made) // one of them may be empty
	if was := l.rows[code]; was.state != before.state || was.version != before.version {
		h.t.Errorf("after %v, the entry %d of %s begins with %+v, and the one before it ends with %+v", c, e.Stamp, code, before, was)
	}
	l.rows[code] = after
}

// stateOf returns what a session shows of a link with this record.
func stateOf(r *engine.Record) (f found, code string) {
	if r == nil {
		return found{}, ""
	}
	hot, cold := &r.Hot, &r.Cold
	f.state = shows(hot.Target, cold.Title, cold.Tags, hot.Owner, hot.MaxHits, hot.ExpiresAtMs, hot.Flags.RedirectStatus())
	f.version = cold.Version
	return f, hot.Code
}

// checkAudit checks the audit log against the rows that are there: played from the beginning, it
// makes exactly these rows, so each change has its entry and each entry its change. Every change that
// was acknowledged before the crash has one entry, and none that was refused has any. It returns
// the names of the changes that have one.
func (h *history) checkAudit(s *session, c *crash, rows map[string]found) (names map[string]bool) {
	l := auditLog{rows: map[string]found{}}
	var all []engine.AuditEntry
	if err := s.store.ListAudit(0, math.MaxUint64, func(e *engine.AuditEntry) bool { all = append(all, *e); return true }); err != nil {
		h.t.Errorf("after %v: %v", c, err)
	}
	for i := range slices.Backward(all) {
		l.play(h, c, &all[i])
	}
	for row, is := range rows {
		if said := l.rows[row]; said.state != is.state || said.version != is.version {
			h.t.Errorf("after %v, %s is %q v%d, and the audit log says %q v%d", c, row, is.state, is.version, said.state, said.version)
		}
		delete(l.rows, row)
	}
	for row, said := range l.rows {
		if said.state != "" {
			h.t.Errorf("after %v, the audit log has %s as %q, which is not there", c, row, said.state)
		}
	}
	return h.ledger.checkEntries(h.t, c, l.entries)
}

// checkEntries compares the entries, the oldest first, with the changes that were asked for.
func (l *ledger) checkEntries(t judge, c *crash, entries []*engine.AuditEntry) (names map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	names = map[string]bool{}
	acked := int64(math.MaxInt64) // the first acknowledgement of a change with a later entry
	for _, e := range slices.Backward(entries) {
		a := l.named[e.By.RequestID]
		switch {
		case a == nil || names[e.By.RequestID]:
			t.Errorf("after %v, an entry of change %q, twice or of none", c, e.By.RequestID)
			continue
		case a.refused:
			t.Errorf("after %v, an entry of change %q of %s, which was refused", c, a.by, a.row)
		case a.begun > acked:
			t.Errorf("after %v, change %q was begun after one that has a later entry was acknowledged", c, a.by)
		}
		names[a.by] = true
		if a.acked != 0 {
			acked = min(acked, a.acked)
		}
	}
	for name, a := range l.named {
		if a.acked != 0 && a.acked < c.began && !names[name] {
			t.Errorf("after %v, change %q of %s was acknowledged and has no entry", c, name, a.row)
		}
	}
	return names
}

// settleEntries forgets changes without an entry: they have not happened, or a crash has undone them.
func (l *ledger) settleEntries(names map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.named {
		if !names[name] {
			delete(l.named, name)
		}
	}
}
