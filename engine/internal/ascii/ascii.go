// Package ascii makes the form in which an address goes out: ASCII only, as RFC 3986 has it. Clients
// disagree about every other byte of a Location: some take UTF-8 for Latin-1, some refuse it, or a raw
// "|". It knows nothing of links.
package ascii

import (
	"encoding/binary"
	"slices"
)

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

// Append appends address to dst as a client may be sent it: each byte that RFC 3986 does not allow in
// an address is percent-encoded, with upper-case digits, and every other byte is as it was, "%" too. So
// what it has made it does not change. It allocates nothing if dst has room. address may not be in dst's
// room.
func Append(dst, address []byte) []byte {
	at := len(dst)
	return Rewrite(append(dst, address...), at)
}

// Rewrite does what Append does to the address that is in buf from at on. It returns buf with the address in that
// form, enlarged if buf has no room for it. An address that is in that form costs one look at every 8 bytes.
func Rewrite(buf []byte, at int) []byte {
	address := buf[at:]
	if Sendable(address) {
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

// Bytes returns the length of address as Append appends it.
func Bytes[T []byte | string](address T) int { return len(address) + 2*unsendable(address) }

// unsendable counts the bytes of address that must be encoded.
func unsendable[T []byte | string](address T) (n int) {
	for i := range len(address) {
		if !sendable[address[i]] {
			n++
		}
	}
	return n
}

// Sendable reports whether Append would append address as it is. It looks at 8 bytes at a time, and
// at each only if one of these is unusual.
func Sendable(address []byte) bool {
	n := len(address)
	if n < 8 {
		return unsendable(address) == 0
	}
	all := usual(binary.LittleEndian.Uint64(address[n-8:]))
	for i := 0; i < n-8; i += 8 {
		all &= usual(binary.LittleEndian.Uint64(address[i:]))
	}
	return all&(0x80*each) == 0x80*each || unsendable(address) == 0
}

const each = 0x01_01_01_01_01_01_01_01

// usual returns a word whose bytes have the highest bit if that byte of w is sendable. It takes "!" and "~"
// for bytes that are not, because that saves steps.
//
// Where a byte is below 0x80, no sum carries into the next one. So the answer is exact for the lowest byte
// that is not, and the others do not matter then: + 5 shows it up to 0xfa, and + 0x5d beyond.
func usual(w uint64) uint64 {
	yes := w + 0x5d*each                                 // from # on, so neither control, blank, "!" nor quote
	yes &= ((w ^ 0x1c*each) & (0x1d * each)) + 0x7f*each // none of < > \ ^ | ~
	yes &= (w ^ 0x60*each) + 0x7f*each                   // not `
	return yes &^ (w + 5*each)                           // not from { on
}
