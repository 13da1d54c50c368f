package target

import (
	"encoding/binary"
	"slices"
)

// This file is the form in which an address goes out: ASCII only, as RFC 3986 has it. Clients disagree
// about every other byte of a Location: some take UTF-8 for Latin-1, some refuse it, or a raw "|".

// sendable has the bytes that an address may hold by RFC 3986, 2: unreserved, gen-delims, sub-delims,
// and "%", whatever follows it.
var sendable = func() (set [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		set[c] = c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c
	}
	for _, c := range "-._~" + ":/?#[]@" + "!$&'()*+,;=" + "%" {
		set[c] = true
	}
	return set
}()

// AppendASCII appends address to dst as a client may be sent it: each byte that RFC 3986 does not allow in
// an address is percent-encoded, with upper-case digits, and every other byte is as it was, "%" too. So
// what it has made it does not change. It allocates nothing if dst has room. address may not be in dst's
// room.
func AppendASCII(dst, address []byte) []byte {
	at := len(dst)
	return ToASCII(append(dst, address...), at)
}

// ToASCII is AppendASCII for the address that is in buf from at on. It returns buf with the address in that
// form, enlarged if buf has no room for it. An address that is in that form costs one look at every 8 bytes.
func ToASCII(buf []byte, at int) []byte {
	address := buf[at:]
	if isSendable(address) {
		return buf
	}
	return escape(buf, at)
}

// escape percent-encodes in place, from the end on.
func escape(buf []byte, at int) []byte {
	const digits = "0123456789ABCDEF"
	from, extra := len(buf), 2*unsendable(buf[at:])
	buf = slices.Grow(buf, extra)[:from+extra]
	for to := len(buf); from < to; { // equal: what is left has nothing to encode
		from--
		c := buf[from]
		if sendable[c] {
			to--
			buf[to] = c
			continue
		}
		to -= 3
		buf[to], buf[to+1], buf[to+2] = '%', digits[c>>4], digits[c&15]
	}
	return buf
}

// ASCIIBytes returns the length of address as AppendASCII appends it.
func ASCIIBytes[T []byte | string](address T) int { return len(address) + 2*unsendable(address) }

// unsendable counts the bytes of address that must be encoded.
func unsendable[T []byte | string](address T) (n int) {
	for i := range len(address) {
		if !sendable[address[i]] {
			n++
		}
	}
	return n
}

// isSendable reports whether AppendASCII would append address as it is.
func isSendable(address []byte) bool {
	for len(address) >= 8 {
		if !usual(binary.LittleEndian.Uint64(address)) && unsendable(address[:8]) > 0 {
			return false
		}
		address = address[8:]
	}
	return unsendable(address) == 0
}

// usual reports whether all 8 bytes of w are sendable. It takes "~" for one that is not.
func usual(w uint64) bool {
	const (
		each = 0x01_01_01_01_01_01_01_01 // a byte of which the highest bit is the answer
		top  = 0x80 * each
	)
	// Of bytes below 0x80 no sum reaches the next one, and (x^c)+0x7f has the highest bit unless x is c.
	const bit1 = 0x02 * each
	yes := w + 0x5f*each                      // from 0x21 on
	yes &= (w ^ 0x22*each) + 0x7f*each        // not "
	yes &= (w | bit1 ^ 0x3e*each) + 0x7f*each // neither < nor >
	yes &= (w | bit1 ^ 0x5e*each) + 0x7f*each // neither \ nor ^
	yes &= (w ^ 0x60*each) + 0x7f*each        // not `
	no := w | w + 5*each                      // beyond ASCII, or from { on
	return yes&^no&top == top
}
