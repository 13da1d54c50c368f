package hash

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// Mix multiplies a and b and folds the 128 bits of the product to 64. It is small enough to be
// inlined everywhere.
func Mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Key is a random key of the process. Without knowing it nobody can choose texts that collide.
type Key [3]uint64

// NewKey draws a key.
func NewKey() (k Key) {
	for i := range k {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		k[i] = binary.LittleEndian.Uint64(b[:])
	}
	return k
}

// Sum is SumIn of domain 0.
func (k *Key) Sum(text []byte) uint64 { return k.SumIn(0, text) }

// SumIn hashes a case-folded text in a domain, eight bytes at a time by folded multiplication as in wyhash. Every
// instruction saved matters: the shorter a look-up is, the more of it overlaps with waiting for
// memory. The number of the domain, which is below 2^32, is multiplied by a random word, so that nobody can choose
// texts that collide in two domains; domain 0 changes nothing.
func (k *Key) SumIn(domain uint64, text []byte) uint64 {
	h := k[0] ^ uint64(len(text)) ^ Mix(domain, k[2])
	for len(text) > 8 {
		h = Mix(h^FoldCase(binary.LittleEndian.Uint64(text)), k[1])
		text = text[8:]
	}
	return Mix(Mix(h^FoldCase(tail(text)), k[1]), k[2])
}

// SumWord returns what Sum returns for a text of eight bytes.
func (k *Key) SumWord(text uint64) uint64 { return Mix(Mix(k[0]^8^FoldCase(text), k[1]), k[2]) }

// FoldCase lowers the letters of eight bytes of ASCII by setting bit 5 of each byte. It makes some
// other bytes equal too, but of the bytes of codes only those that differ by case.
func FoldCase(eightBytes uint64) uint64 { return eightBytes | 0x2020202020202020 }

// tail packs up to eight bytes into a word, so that different texts of one length give different
// words.
func tail(b []byte) uint64 {
	switch n := len(b); {
	case n == 8:
		return binary.LittleEndian.Uint64(b)
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return 0
}
