package http1

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"testing"

	"shunt/engine/expect"
)

func TestWordsTestEveryByteAtEveryPlace(t *testing.T) {
	for name, c := range map[string]struct {
		test   func(uint64) uint64
		fill   byte // a byte that passes
		passes func(byte) bool
	}{
		"notText":   {notText, 'x', func(b byte) bool { return b >= ' ' && b < 0x7f }},
		"notTarget": {notTarget, 'x', func(b byte) bool { return bytesOf[b]&inTarget != 0 && b < 0x80 && b != '#' }},
		"notName":   {notName, 'x', func(b byte) bool { return b == '-' || b == '\r' || 'a' <= b|0x20 && b|0x20 <= 'z' }},
	} {
		for b := range 256 {
			if name == "notName" && b >= 0x80 {
				continue // only for text
			}
			for at := range 8 {
				for _, after := range []byte{0, '\r', '\n', ' ', 'x', 0x7f, 0x80, 0xff} {
					word := bytes.Repeat([]byte{after}, 8)
					copy(word, bytes.Repeat([]byte{c.fill}, at))
					word[at] = byte(b)
					failed := bits.TrailingZeros64(c.test(wordAt(word, 0))&highs) / 8
					got := failed > at
					expect.That(t, got == c.passes(byte(b)) && failed >= at, "%s: %q: first failure at %d", name, word, failed)
				}
			}
		}
	}
}

func TestTheMaskOfABlockHasTheEndsOfLines(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, 8+source.IntN(200))
		for i := range b {
			b[i] = byte(' ' + source.IntN(0x5f))
			if source.IntN(12) == 0 {
				b[i] = "\r\n\x00\x7f\x80\xff\t"[source.IntN(7)]
			}
		}
		at := source.IntN(len(b))
		got, control := notTextAt(b, at), false
		for i := range 64 {
			in := at+i < len(b)
			want := in && (b[at+i] < ' ' || b[at+i] >= 0x7f)
			// After a control character, a space may fail.
			has := got>>i&1 != 0
			expect.MustThat(t, has == want || has && in && control, "%q from %d on: bit %d is %v", b, at, i, has)
			control = in && (want || control && b[at+i] == ' ')
		}
	}
}
