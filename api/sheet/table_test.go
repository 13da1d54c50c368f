package sheet

import (
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestNoCellOfATableIsAFormula(t *testing.T) {
	var b strings.Builder
	table := NewTable(&b, "a", "b")
	table.Row(`=HYPERLINK("x")`, "-1")
	table.Row("@x,y", "two\nlines")
	expect.OK(t, table.End())
	expect.Equal(t, b.String(), "\ufeffa,b\n\"'=HYPERLINK(\"\"x\"\")\",'-1\n\"'@x,y\",\"two\nlines\"\n")
}
