package disk

import (
	"encoding/hex"
	"testing"

	"shunt/engine/expect"
)

func TestTheAckedFileIsAsPinned(t *testing.T) {
	expect.Equal(t, hex.EncodeToString(encodeAcked([16]byte{1}, 300)), "2c01000000000000"+"86e19138", "acked")
}
