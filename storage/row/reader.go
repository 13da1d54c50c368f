package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"shunt/engine"
)

// ErrCorrupt: a key or a value is not one that this package writes.
var ErrCorrupt = errors.New("store is corrupt")

// Value formats. Each value begins with the version of its format. Numbers are uvarints in their
// shortest form, unless a diagram gives a width; signed numbers are zigzag varints. A string comes
// after its length, unless it ends the value. So everything has exactly one encoding, and a decoder
// accepts no other: decoding and encoding are inverse to each other.

// reader decodes a value from front to back. The first failure is kept, and end returns it; values
// read after it are zero and mean nothing. A reader allocates nothing unless the value is
// malformed.
type reader struct {
	rest []byte
	what string // name of the value, for errors
	err  error
}

// readValue begins reading a value of the given format, of which this program knows one version.
func readValue(what string, v []byte, version byte) reader {
	r := reader{rest: v, what: what}
	if got := r.byte(); r.err == nil && got != version {
		r.fail(fmt.Sprintf("format %d; this program knows format %d", got, version))
	}
	return r
}

func (r *reader) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s: %s", ErrCorrupt, r.what, why)
	}
	r.rest = nil
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail("it ends early")
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // most numbers are small
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.fail("malformed number")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) uint32() uint32 {
	v := r.uvarint()
	if v > 1<<32-1 {
		r.fail("number too large")
		return 0
	}
	return uint32(v)
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// bytes returns a string of at most limit bytes, which aliases the value.
func (r *reader) bytes(limit int) []byte {
	n := r.uvarint()
	if n > uint64(limit) || n > uint64(len(r.rest)) {
		r.fail("string too long")
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// key reads what appendKey has written; its code aliases the value.
func (r *reader) key() engine.KeyView {
	return engine.KeyView{Domain: r.domain(), Code: r.bytes(engine.MaxCodeBytes)}
}

func (r *reader) domain() engine.Domain {
	v := r.uvarint()
	if v > math.MaxUint16 {
		r.fail("number too large")
		return 0
	}
	return engine.Domain(v)
}

// fixed returns n bytes, which alias the value.
func (r *reader) fixed(n int) []byte {
	if n > len(r.rest) {
		r.fail("it ends early")
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// remaining returns the rest of the value, at most limit bytes; it aliases the value.
func (r *reader) remaining(limit int) []byte {
	b := r.rest
	if len(b) > limit {
		r.fail("string too long")
		return nil
	}
	r.rest = nil
	return b
}

func (r *reader) end() error {
	if len(r.rest) != 0 {
		r.fail("bytes after its end")
	}
	return r.err
}

// appendKey appends the key of a link: its domain, and its code with its length.
func appendKey(dst []byte, k engine.Key) []byte {
	return appendString(binary.AppendUvarint(dst, uint64(k.Domain)), k.Code)
}

func appendString[S string | []byte](dst []byte, s S) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
