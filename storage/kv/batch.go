package kv

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/row"
)

// Read returns a copy of a value, or nil if there is none. A value that exists and is empty is not
// nil.
func Read(r pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := r.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading a row: %w", PebbleError{Cause: err})
	}
	v = append([]byte{}, v...)
	if err := closer.Close(); err != nil {
		return nil, fmt.Errorf("reading a row: %w", PebbleError{Cause: err})
	}
	return v, nil
}

// Set puts a row into a batch without index.
func Set(b *pebble.Batch, key, value []byte) { Must(b.Set(key, value, nil)) }

// Remove puts the deletion of a row into one.
func Remove(b *pebble.Batch, key []byte) { Must(b.Delete(key, nil)) }

// Merge puts a merge operand into one.
func Merge(b *pebble.Batch, key, value []byte) { Must(b.Merge(key, value, nil)) }

// Must panics on an error of a batch without index, which returns none.
func Must(err error) {
	if err != nil {
		panic(fmt.Sprintf("storage: putting an operation into a batch: %v", err))
	}
}

// DecodeFixed copies a value of a fixed width.
func DecodeFixed(dst, v []byte, what string) error {
	if len(v) != len(dst) {
		return fmt.Errorf("%w: %s has %d bytes instead of %d", row.ErrCorrupt, what, len(v), len(dst))
	}
	copy(dst, v)
	return nil
}

// Each calls fn with each row in keys, in their order, until fn returns false or an error. Key and value are valid only
// during the call.
func Each(r pebble.Reader, keys row.Range, fn func(key, value []byte) (more bool, err error)) (err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if more, err := fn(it.Key(), value); err != nil || !more {
			return err
		}
	}
	return it.Error()
}

// HasRows reports whether there are rows in keys.
func HasRows(r pebble.Reader, keys row.Range) (found bool, err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	return it.First(), nil
}

// Share commits a batch of rows that all nodes of a cluster have, or, without a cluster, any batch. It returns
// when the batch is durable.
type Share func(b *pebble.Batch, doing string) error
