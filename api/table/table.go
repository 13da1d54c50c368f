package table

import "shunt/engine"

// Table keeps rows of bytes. storage.Store.Accounts and Domains return those in use. Any number of
// goroutines may call its methods at once.
type Table interface {
	// Get returns the value of key, nil if there is none. The caller may keep it.
	Get(key []byte) ([]byte, error)
	// Scan calls fn for each row whose key begins with prefix, in the order of keys, until fn
	// returns false or an error. Key and value are valid only during the call, which must not call
	// the table.
	Scan(prefix []byte, fn func(key, value []byte) (more bool, err error)) error
	// Write applies all sets (key, value) and deletes, and adds entry to the audit log if it is not nil,
	// as one atomic batch. It does not wait for the
	// end of the write. At the end, however late, done is called exactly once, by any goroutine and
	// maybe before Write returns: with nil if the batch is durable and every later Get and Scan
	// sees it, with an error if nothing of it will ever be seen. A write that has begun must not be
	// abandoned before that. done returns soon, and does not call the table. The slices must not
	// change until done is called.
	Write(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry, done func(error))
}
