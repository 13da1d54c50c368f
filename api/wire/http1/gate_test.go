package http1

import (
	"slices"
	"testing"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

// A request must have the same result in one piece and byte by byte.
func TestARefusedRequestIsRefusedHoweverItIsCut(t *testing.T) {
	for _, row := range wiretest.Refused() {
		whole, bytewise := endOf(row.Raw+wiretest.Smuggled, len(row.Raw)+len(wiretest.Smuggled)), endOf(row.Raw+wiretest.Smuggled, 1)
		expect.That(t, whole == bytewise, "%s: in one piece %s, byte by byte %s", row.Name, whole, bytewise)
	}
}

// endOf sends raw through a gate in pieces and returns the result.
func endOf(raw string, piece int) string {
	var g Gate
	for b := []byte(raw); len(b) > 0 && !g.Closed(); b = b[min(piece, len(b)):] {
		g.Pass(slices.Clone(b[:min(piece, len(b))]))
	}
	if g.Refused != nil {
		return g.Refused.Error()
	}
	return "let through"
}
