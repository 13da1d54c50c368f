package disk

import (
	"encoding/hex"
	"testing"
)

func TestTheAckedFileIsAsPinned(t *testing.T) {
	if got := hex.EncodeToString(encodeAcked([16]byte{1}, 300)); got != "2c01000000000000"+"86e19138" {
		t.Errorf("acked: got %s", got)
	}
}
