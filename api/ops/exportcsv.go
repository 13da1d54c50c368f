package ops

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"shunt/api/sheet"
)

// listSeparator is between the items of a list in a cell.
const listSeparator = "|"

// A LinkWriter writes links as CSV (RFC 4180): a column for each field of a link object, by its name. A cell is the text
// of a string, a number, true or false, a list of texts with | between them, and JSON for what is none of these; null is
// an empty cell. api/source reads it back.
type LinkWriter struct {
	csv   *csv.Writer
	cells []string
	value []byte
}

// exported are the fields that have a column, in their order.
var exported = slices.DeleteFunc(slices.Clone(table), func(f row) bool { return f.write == nil || f.name == "warnings" })

// NewLinkWriter begins a table with the names of the columns.
func NewLinkWriter(w io.Writer) *LinkWriter {
	x := &LinkWriter{csv: csv.NewWriter(w)}
	for i := range exported {
		x.cells = append(x.cells, exported[i].name)
	}
	_ = x.csv.Write(x.cells) // End returns the error
	return x
}

// Add adds a row.
func (x *LinkWriter) Add(l *Link) {
	for i := range exported {
		f := &exported[i]
		if x.cells[i] = ""; f.omitted == nil || !f.omitted(l) {
			x.value = f.write(x.value[:0], l)
			x.cells[i] = sheet.Harmless(cellOf(x.value))
		}
	}
	_ = x.csv.Write(x.cells) // End returns the error
}

// End writes what is not written yet. It returns the first error.
func (x *LinkWriter) End() error {
	x.csv.Flush()
	return x.csv.Error()
}

// cellOf returns a value of JSON as a cell.
func cellOf(value []byte) string {
	var text string
	var list []string
	switch {
	case string(value) == "null", string(value) == "[]":
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text
	case value[0] == '[' && json.Unmarshal(value, &list) == nil:
		joined := strings.Join(list, listSeparator)
		if strings.Count(joined, listSeparator) == len(list)-1 && joined[0] != '[' {
			return joined
		}
	}
	return string(value)
}
