package index

import (
	"fmt"
	"io"

	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

// DrawnCodeBytes is the length of a drawn code: 62^8 = 2.2e14 codes, so that at 100 M links a draw
// hits a taken code (or one that differs from it only by case) about once in ten thousand.
const DrawnCodeBytes = 8

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// unbiasedBytes is the largest multiple of 62 that a byte can stay below. A random byte at or above
// it is discarded: modulo 62 it would make the first eight characters 25 % likelier than the
// others.
const unbiasedBytes = 256 / len(base62) * len(base62)

// codeByte has true for the bytes of codes: [0-9A-Za-z_-].
var codeByte = func() (table [256]bool) {
	for _, c := range []byte(base62 + "_-") {
		table[c] = true
	}
	return table
}()

// ValidCode reports whether b can be a code: [0-9A-Za-z_-]{1,64}.
func ValidCode(b []byte) bool {
	if len(b) == 0 || len(b) > limits.MaxCodeBytes {
		return false
	}
	for _, c := range b {
		if !codeByte[c] {
			return false
		}
	}
	return true
}

// ValidateAlias returns a FieldError unless a person may choose alias as a code. An empty alias is
// an error too: a caller that wants a drawn code sends none.
func ValidateAlias(alias string) error {
	switch {
	case alias == "api" || alias == "_":
		return invalid.FieldError{Field: "alias", Code: "reserved", Message: fmt.Sprintf("%q is reserved", alias)}
	case alias == "":
		return invalid.FieldError{Field: "alias", Code: "required", Message: "must not be empty; leave it out to have a code drawn"}
	case len(alias) > limits.MaxCodeBytes:
		return invalid.FieldError{Field: "alias", Code: "too_long", Message: fmt.Sprintf("must be at most %d characters", limits.MaxCodeBytes)}
	case !ValidCode([]byte(alias)):
		return invalid.FieldError{Field: "alias", Code: "characters", Message: "may only hold letters, digits, _ and -"}
	}
	return nil
}

// DrawCode draws a code: DrawnCodeBytes characters of base62, each equally likely, from the random
// bytes of r (crypto/rand.Reader, except in tests). It fails only if r does.
func DrawCode(r io.Reader) (string, error) {
	// 8 of 256 values of a byte are discarded. With 8 random bytes at a time 22 % of draws would
	// need more; 16 are enough in all but 3 draws of 10^10.
	var random [2 * DrawnCodeBytes]byte
	d := Drawer{random: r, room: random[:]}
	return d.Draw()
}

// Drawer draws many codes as DrawCode does. It reads random bytes for several at once.
type Drawer struct {
	random       io.Reader
	room, unread []byte
}

// NewDrawer returns a drawer for n codes or more, which reads from r.
func NewDrawer(r io.Reader, n int) Drawer {
	const most = 256
	return Drawer{random: r, room: make([]byte, min(n+1, most)*DrawnCodeBytes)}
}

// Draw draws a code. It fails only if reading random bytes does.
func (d *Drawer) Draw() (string, error) {
	var code [DrawnCodeBytes]byte
	for i := 0; i < len(code); {
		if len(d.unread) == 0 {
			if _, err := io.ReadFull(d.random, d.room); err != nil {
				return "", fmt.Errorf("draw a code: %w", err)
			}
			d.unread = d.room
		}
		b := d.unread[0]
		if d.unread = d.unread[1:]; int(b) < unbiasedBytes {
			code[i] = base62[int(b)%len(base62)]
			i++
		}
	}
	return string(code[:]), nil
}
