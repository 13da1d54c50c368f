package index

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/limits"
)

// place is where a key belongs: its shard and its tag (see markBits). Keys that differ only by the case of
// their codes have the same place.
type place struct {
	shard int
	tag   uint64
}

// placeOf returns the place of a key.
func placeOf(h *hash.Key, k KeyView) place {
	if !isASCII(k.Code) {
		var folded [limits.MaxCodeBytes]byte
		k.Code = foldCase(&folded, k.Code)
	}
	return placeAt(h.SumIn(uint64(k.Domain), k.Code))
}

// placeOfWord is placeOf for a code of eight bytes in the default domain.
func placeOfWord(k *hash.Key, code uint64) place { return placeAt(k.SumWord(code)) }

func placeAt(h uint64) place {
	return place{shard: int(h >> (64 - shardBits)), tag: h&(1<<tagBits-1) | max(h&markMask, 1)}
}

// foldCase maps codes that differ only by case, and no others, to the same bytes. On code bytes
// setting bit 5 does that: it lowers letters, keeps digits, '-', '.' and '/', and turns '_' into
// 0x7f, which is not a code byte.
func foldCase(folded *[limits.MaxCodeBytes]byte, code []byte) []byte {
	if !isASCII(code) {
		return foldCharacters(folded[:0], code)
	}
	n := copy(folded[:], code)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(folded[i:], hash.FoldCase(binary.LittleEndian.Uint64(folded[i:])))
	}
	return folded[:n]
}

// foldCharacters is foldCase for a code with characters beyond ASCII. Those are alike that simple case folding makes
// alike (Unicode, CaseFolding.txt, C and S). The least of them stands for all. It takes no more bytes than another one,
// so there is always room.
func foldCharacters(folded, code []byte) []byte {
	for len(code) > 0 {
		r, size := utf8.DecodeRune(code)
		code = code[size:]
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if least < utf8.RuneSelf {
			least |= asciiLower
		}
		folded = utf8.AppendRune(folded, least)
	}
	return folded
}

// asciiLower is what hash.FoldCase sets in a byte.
const asciiLower = 0x20
