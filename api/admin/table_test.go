package admin

import (
	"slices"
	"testing"

	"shunt/api/words"
	"shunt/engine/expect"
)

// TestTheTableIsInGerman: a text that a longer one begins with would be translated as far as that goes, so tests of the
// page cannot see that one is missing.
func TestTheTableIsInGerman(t *testing.T) {
	german := words.New().For("de", "")
	has := func(text string) {
		t.Helper()
		expect.That(t, slices.Contains([]string{"", "Go", "shunt"}, text) || german.Has(text), "%q has no German text", text)
	}
	for _, s := range table {
		for _, m := range s.metrics {
			has(m.words)
			for _, v := range m.values {
				has(v.words)
			}
		}
	}
}
