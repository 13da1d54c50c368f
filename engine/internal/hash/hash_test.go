package hash

import (
	"encoding/binary"
	"testing"

	"shunt/engine/expect"
)

func TestAWordHashesLikeItsEightBytes(t *testing.T) {
	k := NewKey()
	for _, text := range []string{"abcdefgh", "ABCDefgh", "01234567", "a_b-c_d-"} {
		expect.Equal(t, k.SumWord(binary.LittleEndian.Uint64([]byte(text))), k.Sum([]byte(text)), text)
	}
}
