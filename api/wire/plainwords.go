package wire

import (
	"encoding/binary"
	"math/bits"
)

// The reader of plain requests tests eight bytes at a time, in a word with the first byte lowest. A
// test sets the highest bit of the bytes that fail it. It is right up to the first of them: what is
// carried from a byte, or borrowed, changes only bytes after it. The other bits mean nothing.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// toTop moves the highest bits of the eight bytes to the highest byte of the product, in order, if
// all other bits are 0.
const toTop = 1<<49 | 1<<42 | 1<<35 | 1<<28 | 1<<21 | 1<<14 | 1<<7 | 1

// notText fails all but printable ASCII and the space.
func notText(w uint64) uint64 { return (w - ' '*ones) | (w + ones) }

// notTarget fails all but visible ASCII without #. The rest of inTarget is left to fasthttp.
func notTarget(w uint64) uint64 {
	return (w - '!'*ones) | (w + ones) | (highs - (w ^ '#'*ones)) // the last is 0x80 or more for # alone
}

// notName fails all but letters, dashes and CR, of bytes below 0x80.
func notName(w uint64) uint64 {
	lower := w | 0x20*ones
	letter := (lower + (0x80-'a')*ones) ^ (lower + (0x7f-'z')*ones)
	return ^(letter | (highs - (lower ^ '-'*ones)))
}

// wordAt returns the eight bytes of b from at on, with zeros for those after the end of b. b must
// have at least eight bytes.
func wordAt(b []byte, at int) uint64 {
	if at+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:])
	}
	return binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * uint(at+8-len(b)))
}

// nameBytes returns how many bytes pass notName, from the first of two words on.
func nameBytes(first, second uint64) int {
	return bits.TrailingZeros64(notName(first)&highs*toTop>>56 | notName(second)&highs*toTop>>56<<8 | 1<<16)
}

// targetEnd returns the end of the target that b[at] is a byte of.
func targetEnd(b []byte, at int) int {
	for ; at < len(b); at += 8 {
		if failed := notTarget(wordAt(b, at)) & highs; failed != 0 {
			return at + bits.TrailingZeros64(failed)/8
		}
	}
	return at
}

// notTextAt returns which of 64 bytes of b from at on fail notText: bit i is that of b[at+i]. After
// the end of b there are none. After a control character, a space may fail, too.
func notTextAt(b []byte, at int) (failed uint64) {
	if at+64 <= len(b) {
		return notText64((*[64]byte)(b[at:]))
	}
	for i := 0; at+i < len(b); i += 8 {
		failed |= notText(wordAt(b, at+i)) & highs * toTop >> 56 << uint(i)
	}
	return failed &^ (^uint64(0) << uint(len(b)-at))
}

// notText64 is written out because it would take twice as long as a loop.
func notText64(p *[64]byte) uint64 {
	return notText(binary.LittleEndian.Uint64(p[0:]))&highs*toTop>>56 |
		notText(binary.LittleEndian.Uint64(p[8:]))&highs*toTop>>56<<8 |
		notText(binary.LittleEndian.Uint64(p[16:]))&highs*toTop>>56<<16 |
		notText(binary.LittleEndian.Uint64(p[24:]))&highs*toTop>>56<<24 |
		notText(binary.LittleEndian.Uint64(p[32:]))&highs*toTop>>56<<32 |
		notText(binary.LittleEndian.Uint64(p[40:]))&highs*toTop>>56<<40 |
		notText(binary.LittleEndian.Uint64(p[48:]))&highs*toTop>>56<<48 |
		notText(binary.LittleEndian.Uint64(p[56:]))&highs*toTop>>56<<56
}
