package hash

import (
	"encoding/binary"
	"testing"
)

func TestAWordHashesLikeItsEightBytes(t *testing.T) {
	k := NewKey()
	for _, text := range []string{"abcdefgh", "ABCDefgh", "01234567", "a_b-c_d-"} {
		if got, want := k.SumWord(binary.LittleEndian.Uint64([]byte(text))), k.Sum([]byte(text)); got != want {
			t.Errorf("%s: got %#x, want %#x", text, got, want)
		}
	}
}
