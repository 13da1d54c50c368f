package row

import "fmt"

// A Payload is that of an entry of a cluster's log: a batch of operations on rows, or a part of one.
//
//	┌───────────┬─────────┬───────────────────────────────────────────────────┐
//	│ version 1 │ flags 1 │ operations on rows (Operation), or a part of them │
//	└───────────┴─────────┴───────────────────────────────────────────────────┘
//
// They are not the bytes of Pebble's batch, whose reader trusts what it reads and panics if it is damaged.
//
// The version stands for everything in the payload, the formats of rows included: whoever reads a version
// reads all rows that a leader writes under it. So a new format of a shared row takes a new version here,
// and the row is written in the old format under older versions.
type Payload struct {
	Version     int
	First, Last bool   // part of its batch
	Part        []byte // aliases what it was decoded from
}

const (
	// OldestPayload is the version that every program reads.
	OldestPayload = 1

	// PayloadHeadBytes is what a payload has before the operations.
	PayloadHeadBytes = 2

	flagFirst = 1
	flagLast  = 2
)

// AppendPayload appends the encoding of p.
func AppendPayload(dst []byte, p *Payload) []byte {
	flags := byte(0)
	if p.First {
		flags |= flagFirst
	}
	if p.Last {
		flags |= flagLast
	}
	return append(append(dst, byte(p.Version), flags), p.Part...)
}

// DecodePayload decodes a payload. If its version is newer than NewestPayload, nothing else is known of
// it. The error is ErrCorrupt.
func DecodePayload(b []byte) (p Payload, err error) {
	if len(b) < PayloadHeadBytes || b[0] < OldestPayload {
		return p, fmt.Errorf("%w: a payload of %d bytes", ErrCorrupt, len(b))
	}
	if p.Version = int(b[0]); p.Version > NewestPayload {
		return p, nil
	}
	if b[1]&^(flagFirst|flagLast) != 0 {
		return p, fmt.Errorf("%w: a payload with flags %#x", ErrCorrupt, b[1])
	}
	p.First, p.Last, p.Part = b[1]&flagFirst != 0, b[1]&flagLast != 0, b[PayloadHeadBytes:]
	return p, nil
}
