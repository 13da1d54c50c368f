package replicate

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/row"
)

// splitRows returns what a batch does to its rows: to those that an edge keeps, as it keeps them, and to
// all others, with the whole of those rows of which an edge keeps a part. Whoever applies the first and then
// the second has what the batch has.
func splitRows(b *pebble.Batch) (open, private []byte, err error) {
	var whole wholes
	for r := b.Reader(); ; {
		kind, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return open, whole.appendTo(private), err
		}
		operation, known := operations[kind]
		switch {
		case !known:
			return nil, nil, fmt.Errorf("an operation of kind %d on row %x", kind, key)
		case !row.KeptByEdge(key):
			private = row.AppendOperation(private, operation, key, value)
			continue
		case key[0] == row.TableCold && operation == row.OpSet:
			part, err := row.ColdOfEdge(value)
			if err != nil {
				return nil, nil, err
			}
			whole.note(key, value, bytes.Equal(part, value))
			value = part
		case key[0] == row.TableCold:
			whole.note(key, nil, true)
		}
		open = row.AppendOperation(open, operation, key, value)
	}
}

// wholes are the cold records that a batch leaves, of which an edge keeps a part. A batch may set one several
// times, so only the last counts.
type wholes struct {
	last map[string][]byte
	keys [][]byte // in their order; some may not be in last
}

// note notes what a batch does to a record. If same, an edge has the same after it.
func (w *wholes) note(key, value []byte, same bool) {
	if same {
		delete(w.last, string(key))
		return
	}
	if w.last == nil {
		w.last = make(map[string][]byte)
	}
	w.last[string(key)] = value
	w.keys = append(w.keys, key)
}

// appendTo appends what sets the records.
func (w *wholes) appendTo(dst []byte) []byte {
	for _, key := range w.keys {
		if value, ok := w.last[string(key)]; ok {
			dst = row.AppendOperation(dst, row.OpSet, key, value)
			delete(w.last, string(key))
		}
	}
	return dst
}

var operations = map[pebble.InternalKeyKind]row.Operation{
	pebble.InternalKeyKindSet:         row.OpSet,
	pebble.InternalKeyKindDelete:      row.OpDelete,
	pebble.InternalKeyKindMerge:       row.OpMerge,
	pebble.InternalKeyKindRangeDelete: row.OpDeleteRange,
}
