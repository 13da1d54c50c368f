package sheet

import (
	"encoding/csv"
	"io"
)

// ByteOrderMark begins a table for a spreadsheet: without it, they take the file for one of an older encoding.
const ByteOrderMark = "\ufeff"

// A Table writes rows as CSV with headings, for a spreadsheet: no cell is a formula there.
type Table struct{ w *csv.Writer }

// NewTable begins a table.
func NewTable(w io.Writer, headings ...string) *Table {
	_, _ = io.WriteString(w, ByteOrderMark) // End returns the error
	t := &Table{csv.NewWriter(w)}
	t.Row(headings...)
	return t
}

// Row adds a row. It may change cells.
func (t *Table) Row(cells ...string) {
	for i := range cells {
		cells[i] = Harmless(cells[i])
	}
	_ = t.w.Write(cells) // End returns the error
}

// End writes what is not written yet. It returns the first error.
func (t *Table) End() error {
	t.w.Flush()
	return t.w.Error()
}
