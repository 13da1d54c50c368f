package index

import (
	"encoding/binary"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/limits"
)

// place is where a code belongs: which shard, and which tag. Variants of a code that differ by case
// share it.
type place struct {
	shard int
	tag   uint64
}

// placeOf returns where a code of any length belongs.
func placeOf(k *hash.Key, code []byte) place { return placeAt(k.Sum(code)) }

// placeOfWord is placeOf for a code of eight bytes.
func placeOfWord(k *hash.Key, code uint64) place { return placeAt(k.SumWord(code)) }

func placeAt(h uint64) place {
	return place{shard: int(h >> (64 - shardBits)), tag: h & (1<<tagBits - 1)}
}

// foldCase maps the codes that differ only by case, and no others, to one. On code bytes setting
// bit 5 does that: it lowers letters, leaves digits and '-' as they are and turns '_' into 0x7f,
// which is no code byte.
func foldCase(folded *[limits.MaxCodeBytes]byte, code []byte) []byte {
	n := copy(folded[:], code)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(folded[i:], hash.FoldCase(binary.LittleEndian.Uint64(folded[i:])))
	}
	return folded[:n]
}
