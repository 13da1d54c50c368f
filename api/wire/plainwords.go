package wire

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes are tested at once in a word: the result of a test has the highest bit of a byte set
// where the byte fails it. See Mycroft's test for a zero byte (1987).
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	lows  = 0x7f * ones
)

// wordAt returns the eight bytes of b from at on, the first in the lowest byte. Behind the end of b
// there are zeros. at must not exceed len(b).
func wordAt(b []byte, at int) uint64 {
	if at+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:])
	}
	return lastWord(b, at)
}

func lastWord(b []byte, at int) (w uint64) {
	for i := len(b) - 1; i >= at; i-- {
		w = w<<8 | uint64(b[i])
	}
	return w
}

// firstOf returns the place of the first byte that fails a test, 8 if there is none.
func firstOf(failed uint64) int { return bits.TrailingZeros64(failed) >> 3 }

// textBytes returns how many of the first bytes of w may be in a value of a plain request: all but
// control characters, the tab among them.
func textBytes(w uint64) int {
	// A byte below 0x20 borrows from the one above it, so only the first failure is right. 0x7f is
	// the only byte below 0x80 to which 1 can be added to reach it.
	return firstOf((w - 0x20*ones | (w&lows + ones)) & ^w & highs)
}

// nameBytes returns how many of the first bytes of w are letters and dashes.
func nameBytes(w uint64) int {
	lower := w&lows | 0x20*ones
	letters := (lower + (0x80-'a')*ones) &^ (lower + (0x7f-'z')*ones) // all below 0x100: nothing is carried
	others := (w^'-'*ones)&lows + lows                                // highest bit 0: the dash, or 0xad
	return firstOf((^letters&others | w) & highs)
}

// targetBytes returns how many of the first bytes of b may be in a target.
func targetBytes(b []byte) (n int) {
	for n < len(b) && bytesOf[b[n]]&inTarget != 0 {
		n++
	}
	return n
}
