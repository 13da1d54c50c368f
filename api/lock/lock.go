package lock

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/dchest/siphash"
)

// Name is the name of the cookie, which has the path of its link.
const Name = "shunt_unlock"

// LastName is the name of a second cookie of the same value, for all paths of the host: that of the link that was
// opened last. It opens the link at its other spellings, to which browsers do not send the first one. Opens reads it as
// well, because it ends in Name.
const LastName = "last_" + Name

// Life is how long a cookie opens its link.
const Life = time.Hour

const (
	endBytes = 8
	macBytes = 16

	// maxCookies is how many cookies of the name a request may have: one of each path above that of a link, and the
	// last one. A header full of them must not hold up an event loop.
	maxCookies = 16
)

// encoding is that of a cookie's value.
var encoding = base64.RawURLEncoding

// valueBytes is the size of a cookie's value.
var valueBytes = encoding.EncodedLen(endBytes + macBytes)

// Keys make and open cookies. The zero value is of no use.
type Keys struct{ k0, k1 uint64 }

// KeysOf returns the keys that follow from the visitors' key.
func KeysOf(k0, k1 uint64) Keys {
	a, b := siphash.Hash128(k0, k1, []byte("shunt: cookies of links with a password"))
	return Keys{a, b}
}

// mac returns the MAC of a cookie.
func (k Keys) mac(id, lock, end uint64) (sum [macBytes]byte) {
	var b [3 * 8]byte
	binary.LittleEndian.PutUint64(b[:], id)
	binary.LittleEndian.PutUint64(b[8:], lock)
	binary.LittleEndian.PutUint64(b[16:], end)
	x, y := siphash.Hash128(k.k0, k.k1, b[:])
	binary.LittleEndian.PutUint64(sum[:], x)
	binary.LittleEndian.PutUint64(sum[8:], y)
	return sum
}

// Value returns the value of a cookie that opens a link from nowMs on, in Unix milliseconds, for Life.
func (k Keys) Value(id, lock uint64, nowMs int64) string {
	end := uint64(nowMs + Life.Milliseconds())
	mac := k.mac(id, lock, end)
	return encoding.EncodeToString(append(binary.LittleEndian.AppendUint64(nil, end), mac[:]...))
}

// Opens reports whether a cookie among headers opens a link at nowMs. headers are the lines of a request, each with its
// end.
func (k Keys) Opens(headers []byte, id, lock uint64, nowMs int64) bool {
	left := maxCookies
	for len(headers) > 0 {
		line := headers
		if end := bytes.IndexByte(headers, '\n'); end >= 0 {
			line, headers = headers[:end], headers[end+1:]
		} else {
			headers = nil
		}
		if !isCookie(line) {
			continue
		}
		for left > 0 {
			at := bytes.Index(line, []byte(Name+"="))
			if at < 0 {
				break
			}
			left--
			line = line[at+len(Name)+1:]
			if len(line) >= valueBytes && k.opens(line[:valueBytes], id, lock, nowMs) {
				return true
			}
		}
	}
	return false
}

// opens is Opens for a value. Whatever stands before the name or after the value does not matter: only the MAC does.
func (k Keys) opens(value []byte, id, lock uint64, nowMs int64) bool {
	var b [endBytes + macBytes]byte
	if _, err := encoding.Decode(b[:], value); err != nil {
		return false
	}
	end := binary.LittleEndian.Uint64(b[:])
	mac := k.mac(id, lock, end)
	return subtle.ConstantTimeCompare(mac[:], b[endBytes:]) == 1 && uint64(nowMs) < end
}

const cookieField = "cookie:"

// isCookie reports whether a line of a header is a Cookie (RFC 6265, 5.4).
func isCookie(line []byte) bool {
	return len(line) > len(cookieField) && line[0]|0x20 == 'c' && bytes.EqualFold(line[:len(cookieField)], []byte(cookieField))
}
