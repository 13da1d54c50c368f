package row

import (
	"encoding/binary"
	"fmt"
)

// Operation is what is done to a row. Its numbers are durable: they are in the log of a cluster.
type Operation byte

// The operations.
const (
	OpSet         Operation = 1 + iota
	OpDelete                // without a value
	OpMerge                 // the value is an operand
	OpDeleteRange           // from the key to before the value
)

// AppendOperation appends an operation on a row:
//
//	┌───────────┬────────────────┬──────────────────┐
//	│ operation │ length · key   │ length · value   │
//	└───────────┴────────────────┴──────────────────┘
func AppendOperation(dst []byte, o Operation, key, value []byte) []byte {
	dst = binary.AppendUvarint(append(dst, byte(o)), uint64(len(key)))
	dst = binary.AppendUvarint(append(dst, key...), uint64(len(value)))
	return append(dst, value...)
}

// ReadOperation reads the operation at the beginning of b, whose key and value alias b, and returns what
// follows. The error is ErrCorrupt: nothing else than what AppendOperation writes is accepted.
func ReadOperation(b []byte) (o Operation, key, value, rest []byte, err error) {
	r := reader{rest: b, what: "operation on a row"}
	o = Operation(r.byte())
	key = r.bytes(len(b))
	value = r.bytes(len(b))
	switch {
	case r.err != nil:
	case o < OpSet || o > OpDeleteRange:
		r.fail(fmt.Sprintf("it is of kind %d", o))
	case len(key) == 0:
		r.fail("it has no key")
	case o == OpDelete && len(value) > 0:
		r.fail("a deletion with a value")
	}
	return o, key, value, r.rest, r.err
}
