package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// AccountTable is the table of accounts. It implements the interface of package api/account, which
// lays out keys and values. Any goroutine may call its methods at once.
type AccountTable struct {
	r pebble.Reader
	s *Store // nil: read-only
}

// Accounts returns the table of accounts.
func (s *Store) Accounts() *AccountTable {
	if s.reads != nil {
		return &AccountTable{r: s.db}
	}
	return &AccountTable{s.db, s}
}

// Get returns the value of key, or nil if there is none. The caller may keep it.
func (t *AccountTable) Get(key []byte) ([]byte, error) {
	v, err := kv.Read(t.r, row.AccountKey(key))
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return v, nil
}

// Scan calls fn for each row whose key begins with prefix, in the order of keys, until fn returns
// false or an error. Key and value are valid only during the call. All rows are of one moment.
func (t *AccountTable) Scan(prefix []byte, fn func(key, value []byte) (more bool, err error)) (err error) {
	keys := row.PrefixRange(row.AccountKey(prefix))
	it, err := t.r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return fmt.Errorf("storage: scanning accounts: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("storage: scanning accounts: %w", err)
		}
		if more, err := fn(it.Key()[1:], value); !more || err != nil {
			return err
		}
	}
	return it.Error()
}

// maxAccountWrites bounds the writes under way. api/account never has more than one.
const maxAccountWrites = 64

// Write commits all sets (key, value), then all deletes, and the entry of the audit log, if it is not
// nil, as one atomic batch, and calls done exactly once: with nil after the batch is durable. It does
// not wait: on a disk that does not answer, done is called when the disk answers, and Close returns after that. If the write is
// refused, done is called before Write returns, with engine.ErrReadOnly or engine.ErrOverloaded.
// Deletes alone are never refused for lack of space, because a token must be revocable even then.
func (t *AccountTable) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	if err := t.admit(sets, entry); err != nil {
		done(err)
		return
	}
	w := &t.s.accountWrites
	w.Go(func() {
		err := t.write(sets, deletes, entry)
		<-w.slots // before done, which may lead to the next write
		done(err)
	})
}

// admit takes a slot for a write, or returns the error with which the write is refused.
func (t *AccountTable) admit(sets [][2][]byte, entry *engine.AuditEntry) error {
	if t.s == nil {
		return fmt.Errorf("storage: writing accounts: %w", errReads)
	}
	if entry != nil {
		if err := row.CheckAudit(entry); err != nil {
			return fmt.Errorf("storage: writing accounts: %w", err)
		}
	}
	if len(sets) > 0 {
		if err := t.s.mayWrite(); err != nil {
			return err
		}
	}
	select {
	case t.s.accountWrites.slots <- struct{}{}:
		return nil
	default:
		return fmt.Errorf("storage: writing accounts: %w", engine.ErrOverloaded)
	}
}

func (t *AccountTable) write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry) error {
	b := t.s.db.NewBatch()
	defer b.Close()
	for _, put := range sets {
		kv.Set(b, row.AccountKey(put[0]), put[1])
	}
	for _, key := range deletes {
		kv.Remove(b, row.AccountKey(key))
	}
	if entry != nil {
		audited := mutationBatch{batch: b, stamps: &t.s.stamps}
		audited.addAudit(entry)
		audited.finish()
	}
	return t.s.share(b, "storage: writing accounts")
}
