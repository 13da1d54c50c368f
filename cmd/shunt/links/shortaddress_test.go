package links

import (
	"errors"
	"strings"
	"testing"

	"shunt/cmd/shunt/settings"
	"shunt/engine/expect"
)

// Cases are in testdata; -rewrite writes what is found now.
func TestALinkIsNamedByCodeOrShortAddress(t *testing.T) {
	expect.Lines(t, "testdata/names.txt", func(t *testing.T, _, text string) string {
		got, err := parseLinkName(text)
		if usage := (settings.UsageError{}); errors.As(err, &usage) {
			expect.Equal(t, got, linkName{}, text)
			return "refused"
		}
		expect.OK(t, err, text)
		return strings.TrimSpace(got.code + " " + got.address + " " + got.whole)
	})
}
