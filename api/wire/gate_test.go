package wire

import (
	"slices"
	"testing"

	"shunt/api/wiretest"
)

// A request must have the same result in one piece and byte by byte.
func TestARefusedRequestIsRefusedHoweverItIsCut(t *testing.T) {
	for _, row := range wiretest.Refused() {
		whole, bytewise := endOf(row.Raw+wiretest.Smuggled, len(row.Raw)+len(wiretest.Smuggled)), endOf(row.Raw+wiretest.Smuggled, 1)
		if whole != bytewise {
			t.Errorf("%s: in one piece %s, byte by byte %s", row.Name, whole, bytewise)
		}
	}
}

// endOf sends raw through a gate in pieces and returns the result.
func endOf(raw string, piece int) string {
	var g gate
	for b := []byte(raw); len(b) > 0 && !g.closed(); b = b[min(piece, len(b)):] {
		g.pass(slices.Clone(b[:min(piece, len(b))]))
	}
	if g.refused != nil {
		return g.refused.Error()
	}
	return "let through"
}
