package tables

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/audit"
	"shunt/storage/check"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Table is a table of rows. It implements the interface of package api/table; who uses it lays out keys and values. Any
// goroutine may call its methods at once.
type Table struct {
	table byte // of package row
	r     pebble.Reader
	w     *Writes // nil: read-only
}

// Writes are those of one store. They are under way until Wait returns.
type Writes struct {
	sync.WaitGroup
	slots    chan struct{}
	db       *pebble.DB
	mayWrite func() error
	share    kv.Share
	log      *audit.Log
}

// Init gives the writes the open database of their store. mayWrite returns the error with which the store refuses to
// write, such as engine.ErrReadOnly.
func (w *Writes) Init(db *pebble.DB, mayWrite func() error, share kv.Share, log *audit.Log) {
	w.slots = make(chan struct{}, MaxWrites)
	w.db, w.mayWrite, w.share, w.log = db, mayWrite, share, log
}

// New returns a table of package row that is written through w; nil: it is read-only.
func New(table byte, r pebble.Reader, w *Writes) *Table { return &Table{table, r, w} }

// key returns the whole key of a row.
func (t *Table) key(key []byte) []byte { return append([]byte{t.table}, key...) }

// Get returns the value of key, or nil if there is none. The caller may keep it.
func (t *Table) Get(key []byte) ([]byte, error) {
	v, err := kv.Read(t.r, t.key(key))
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return v, nil
}

// Scan calls fn for each row whose key begins with prefix, in the order of keys, until fn returns
// false or an error. Key and value are valid only during the call. All rows are of one moment.
func (t *Table) Scan(prefix []byte, fn func(key, value []byte) (more bool, err error)) (err error) {
	keys := row.PrefixRange(t.key(prefix))
	it, err := t.r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return fmt.Errorf("storage: scanning a table: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("storage: scanning a table: %w", err)
		}
		if more, err := fn(it.Key()[1:], value); !more || err != nil {
			return err
		}
	}
	return it.Error()
}

// MaxWrites bounds the writes under way. Each user of a table has at most one.
const MaxWrites = 64

// Write commits all sets (key, value), then all deletes, and the entry of the audit log, if it is not
// nil, as one atomic batch, and calls done exactly once: with nil after the batch is durable. It does
// not wait: on a disk that does not answer, done is called when the disk answers, and Close returns after that. If the
// write is refused, done is called before Write returns, with engine.ErrReadOnly or engine.ErrOverloaded.
// Deletes alone are never refused for lack of space, because a token must be revocable even then.
func (t *Table) Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error)) {
	if err := t.admit(sets, entry); err != nil {
		done(err)
		return
	}
	w := t.w
	w.Go(func() {
		err := t.write(sets, deletes, entry)
		<-w.slots // before done, which may lead to the next write
		done(err)
	})
}

// admit takes a slot for a write, or returns the error with which the write is refused.
func (t *Table) admit(sets [][2][]byte, entry *engine.AuditEntry) error {
	if t.w == nil {
		return fmt.Errorf("storage: writing a table: %w", kv.ErrReads)
	}
	if entry != nil {
		if err := row.CheckAudit(entry); err != nil {
			return fmt.Errorf("storage: writing a table: %w", err)
		}
	}
	if len(sets) > 0 {
		if err := t.w.mayWrite(); err != nil {
			return err
		}
	}
	select {
	case t.w.slots <- struct{}{}:
		return nil
	default:
		return fmt.Errorf("storage: writing a table: %w", engine.ErrOverloaded)
	}
}

func (t *Table) write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry) error {
	b := t.w.db.NewBatch()
	defer b.Close()
	for _, put := range sets {
		kv.Set(b, t.key(put[0]), put[1])
	}
	for _, key := range deletes {
		kv.Remove(b, t.key(key))
	}
	if entry != nil {
		entries := t.w.log.Entries()
		entries.Add(entry)
		entries.Put(b)
	}
	return t.w.share(b, "storage: writing a table")
}

// Check returns how the rows of all tables are checked: they are only counted, since those who lay them out check them.
func Check(*check.Run) check.Subject {
	counted := func(table byte, name string, rows func(*check.Report) *uint64) check.Table {
		return check.Table{Table: table, Name: name, Rows: rows, Begin: check.Each(func(_, _ []byte) error { return nil })}
	}
	return check.Subject{Tables: []check.Table{
		counted(row.TableAccounts, "accounts", func(r *check.Report) *uint64 { return &r.Accounts }),
		counted(row.TableDomains, "domains", func(r *check.Report) *uint64 { return &r.Domains }),
		counted(row.TableCertificates, "certificates", func(r *check.Report) *uint64 { return &r.Certificates }),
		counted(row.TableFolders, "folders", func(r *check.Report) *uint64 { return &r.Folders }),
	}}
}
