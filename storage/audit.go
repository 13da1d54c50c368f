package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/check"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// auditStamps gives the entries of the audit log their places. Changes of links and of accounts are
// committed by different goroutines, so it may be used by any.
type auditStamps struct {
	last atomic.Uint64 // the highest

	// Of stamps that are lower than the highest, because the clock was ahead.
	behind struct {
		sync.Mutex
		last uint64
		has  func(stamp uint64) bool // reports whether the store has an entry there
	}

	inUse atomic.Pointer[timeInUse]
	floor *atomic.Uint32 // the first day that is kept
}

// timeInUse is the time that the engine goes by, as of some flush: see Engine.Now.
type timeInUse struct {
	ms int64
	at time.Time
}

// credible returns atMs, or if that is before all days that are kept, because the clock is far behind, the time
// in use.
func (a *auditStamps) credible(atMs int64) int64 {
	t := a.inUse.Load()
	if t == nil || atMs >= int64(a.floor.Load())*row.HoursPerDay*3600*1000 {
		return atMs
	}
	return t.ms + time.Since(t.at).Milliseconds()
}

// A clock that goes back by stampsRiseMs at most leaves the log in the order of commits. After one that was further ahead,
// entries are where the clock puts them, so that each is kept for its time and no longer.
const stampsRiseMs = 3600 * 1000

// next returns a stamp for a change at that time; 0: now. No entry has it, and it is higher than all before
// unless the clock has gone back.
func (a *auditStamps) next(atMs int64) uint64 {
	if atMs == 0 {
		atMs = time.Now().UnixMilli()
	}
	atMs = a.credible(atMs)
	for {
		last := a.last.Load()
		if last > engine.AuditStamp(atMs+stampsRiseMs) {
			return a.nextBehind(atMs)
		}
		stamp := max(engine.AuditStamp(atMs), last+1)
		if a.last.CompareAndSwap(last, stamp) {
			return stamp
		}
	}
}

func (a *auditStamps) nextBehind(atMs int64) uint64 {
	b := &a.behind
	b.Lock()
	defer b.Unlock()
	stamp := engine.AuditStamp(atMs)
	if b.last >= stamp && b.last <= engine.AuditStamp(atMs+stampsRiseMs) {
		stamp = b.last + 1
	}
	for b.has(stamp) {
		stamp++
	}
	b.last = stamp
	return stamp
}

// raise makes later stamps higher than stamp.
func (a *auditStamps) raise(stamp uint64) {
	for last := a.last.Load(); last < stamp && !a.last.CompareAndSwap(last, stamp); {
		last = a.last.Load()
	}
}

// readAuditStamp finds the place of the last entry, from which stamps go on. It does not read the
// entry: one that is damaged keeps no server from starting.
func (s *Store) readAuditStamp() (err error) {
	keys := row.TableRange(row.TableAudit)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	s.stamps.floor = &s.firstDay
	s.stamps.behind.has = func(stamp uint64) bool {
		found, err := s.writer.Known(row.AppendAuditKey(nil, stamp))
		return err == nil && found
	}
	if !it.Last() {
		return it.Error()
	}
	stamp, err := row.SplitAuditKey(it.Key())
	s.stamps.last.Store(stamp)
	return err
}

// auditOf returns the entry of a mutation. It is valid until the next one.
func (b *mutationBatch) auditOf(m *engine.Mutation, deleted bool) *engine.AuditEntry {
	b.entry = engine.AuditEntry{Action: engine.LinkEdited, By: *m.By, Before: m.Before}
	e := &b.entry
	switch {
	case deleted:
		e.Action = engine.LinkDeleted
	case m.Before == nil:
		e.Action = engine.LinkCreated
	case m.ResetAtMs != 0:
		e.Action = engine.LinkReset
	}
	if !deleted {
		b.after = engine.Record{Hot: m.Hot, Cold: m.Cold}
		e.After = &b.after
	}
	return e
}

// auditOfBulk returns the entry of the creations of one request.
func auditOfBulk(x *engine.Bulk) *engine.AuditEntry {
	e := &engine.AuditEntry{
		Action: engine.LinksCreated, By: *x.By,
		Created: uint32(len(x.Creations)), Existing: x.Existing, Failed: x.Failed,
	}
	if x.Imported {
		e.Action = engine.LinksImported
	}
	for i := range x.Creations {
		code := x.Creations[i].Hot.Code
		if i == 0 || code < e.FirstCode {
			e.FirstCode = code
		}
		e.LastCode = max(e.LastCode, code)
	}
	return e
}

// addAudit adds an entry, which finish writes into the batch of the change that it describes.
func (b *mutationBatch) addAudit(e *engine.AuditEntry) {
	e.Stamp = b.stamps.next(e.By.AtMs)
	b.entries = row.AppendAudit(b.entries, e)
	b.places = append(b.places, auditPlace{e.Stamp, len(b.entries)})
}

// ListAudit implements engine.Store.
func (s *Store) ListAudit(from, before uint64, fn func(*engine.AuditEntry) bool) error {
	if err := listAudit(s.db, from, before, fn); err != nil {
		return fmt.Errorf("storage: reading the audit log: %w", err)
	}
	return nil
}

func listAudit(r pebble.Reader, from, before uint64, fn func(*engine.AuditEntry) bool) (err error) {
	if from >= before {
		return nil
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: row.AppendAuditKey(nil, from), UpperBound: row.AppendAuditKey(nil, before)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.Last(); valid; valid = it.Prev() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		stamp, err := row.SplitAuditKey(it.Key())
		if err != nil {
			return err
		}
		e, err := row.DecodeAudit(stamp, value)
		if err != nil {
			return err
		}
		if !fn(&e) {
			break
		}
	}
	return it.Error()
}

// OldestAudit implements engine.Store.
func (s *Store) OldestAudit() (stamp uint64, err error) {
	keys := row.TableRange(row.TableAudit)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return 0, fmt.Errorf("storage: reading the audit log: %w", err)
	}
	if it.First() {
		stamp, err = row.SplitAuditKey(it.Key())
	}
	if err = errors.Join(err, it.Close()); err != nil {
		return 0, fmt.Errorf("storage: reading the audit log: %w", err)
	}
	return stamp, nil
}

// SweepAudit implements engine.Store. It deletes a range and reads no entry, so a damaged one does not
// keep the log from being swept.
func (s *Store) SweepAudit(before uint64) error {
	keys := row.Range{Lower: row.AppendAuditKey(nil, 0), Upper: row.AppendAuditKey(nil, before)}
	found, err := kv.HasRows(s.db, keys)
	if err != nil || !found {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	return s.share(b, "storage: sweeping the audit log")
}

// checkAudit returns how the entries of the audit log are checked, each alone: what it says may be gone by now.
func checkAudit(c *check.Run) check.Subject {
	entry := func(key, value []byte) error {
		stamp, err := row.SplitAuditKey(key)
		if err == nil {
			_, err = row.DecodeAudit(stamp, value)
		}
		return err
	}
	return check.Subject{Tables: []check.Table{
		{Table: row.TableAudit, Name: "audit", Begin: c.Alone("audit", entry), Rows: func(r *check.Report) *uint64 { return &r.Audit }},
	}}
}
