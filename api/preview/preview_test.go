package preview

import (
	"cmp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// Cases are in testdata; -rewrite writes what is shown now.
func TestAddressesAreShownSoThatPeopleCanJudgeThem(t *testing.T) {
	expect.Lines(t, "testdata/addresses.txt", func(t *testing.T, kind, text string) string {
		if kind == "target" {
			shown, _ := shownTarget(text)
			return shown
		}
		ascii, err := unicodeOf.ToASCII(text)
		expect.OK(t, err, text)
		shown, doubtful := readableHost(ascii)
		if doubtful {
			return strings.TrimSpace("doubtful " + shown)
		}
		return cmp.Or(shown, "as it is")
	})
	for _, ascii := range []string{"xn--a.example", "xn--.example", "xn--99999999.example", "xn--mnchen-3yb", "xn--MNCHEN"} {
		got, doubtful := readableHost(strings.ToLower(ascii))
		expect.That(t, got == "" && doubtful, "%s: got %q, %v; want it doubtful", ascii, got, doubtful)
	}
}
