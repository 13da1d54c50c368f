package expect

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Lines holds the cases of a file to what answer says of each; -rewrite writes what it says now. A case is a line with
// the escapes of Go strings. What follows a # after a tab says why it is there. Name is the word above the cases.
func Lines(t *testing.T, path string, answer func(t *testing.T, name, text string) string) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "\t#")
			text, err := strconv.Unquote(`"` + line + `"`)
			OK(t, err, line)
			fmt.Fprintf(&out, "%s => %s\n", line, answer(t, d.Cmd, text))
		}
		return out.String()
	})
}
