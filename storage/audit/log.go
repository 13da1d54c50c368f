package audit

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Log is the audit log of a store. Its methods are those of engine.Store.
type Log struct {
	db     *pebble.DB
	writer *kv.Writer
	share  kv.Share
	stamps stamps
}

// Init gives the log its open database.
func (l *Log) Init(db *pebble.DB, w *kv.Writer, share kv.Share) {
	l.db, l.writer, l.share = db, w, share
}

// Entries returns what collects entries for a batch.
func (l *Log) Entries() Entries { return Entries{stamps: &l.stamps} }

// Raise makes later stamps higher than stamp.
func (l *Log) Raise(stamp uint64) { l.stamps.raise(stamp) }

// Use says what time the engine goes by, as of now: see Engine.Now.
func (l *Log) Use(ms int64) { l.stamps.inUse.Store(&timeInUse{ms, time.Now()}) }

// Start finds the place of the last entry, from which stamps go on. It does not read the
// entry: one that is damaged keeps no server from starting. floor is the first day that is kept.
func (l *Log) Start(floor *atomic.Uint32) (err error) {
	l.stamps.floor = floor
	l.stamps.behind.has = func(stamp uint64) bool {
		found, err := l.writer.Known(row.AppendAuditKey(nil, stamp))
		return err == nil && found
	}
	keys := row.TableRange(row.TableAudit)
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return it.Error()
	}
	stamp, err := row.SplitAuditKey(it.Key())
	l.stamps.last.Store(stamp)
	return err
}

// ListAudit implements engine.Store.
func (l *Log) ListAudit(from, before uint64, fn func(*engine.AuditEntry) bool) error {
	if err := listAudit(l.db, from, before, fn); err != nil {
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
func (l *Log) OldestAudit() (stamp uint64, err error) {
	keys := row.TableRange(row.TableAudit)
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
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
func (l *Log) SweepAudit(before uint64) error {
	keys := row.Range{Lower: row.AppendAuditKey(nil, 0), Upper: row.AppendAuditKey(nil, before)}
	found, err := kv.HasRows(l.db, keys)
	if err != nil || !found {
		return err
	}
	b := l.db.NewBatch()
	defer b.Close()
	kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	return l.share(b, "storage: sweeping the audit log")
}
