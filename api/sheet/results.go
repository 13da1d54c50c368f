package sheet

import (
	"encoding/csv"
	"io"
	"strings"
)

// Results writes what became of the rows of a sheet as CSV: code, short_url, url and error. They are no
// sheet: a refused row has lost its other cells, and would become a link without them.
type Results struct{ w *csv.Writer }

// NewResults begins results with their headings.
func NewResults(w io.Writer) *Results {
	r := &Results{csv.NewWriter(w)}
	r.write("code", "short_url", "url", "error")
	return r
}

// Made adds a row that has a link.
func (r *Results) Made(code, shortURL, url string) { r.write(code, shortURL, url, "") }

// Refused adds a row that has none.
func (r *Results) Refused(row *Row, why string) { r.write("", "", harmless(row.URL()), harmless(why)) }

// End writes what is not written yet. It returns the first error.
func (r *Results) End() error {
	r.w.Flush()
	return r.w.Error()
}

func (r *Results) write(cells ...string) { _ = r.w.Write(cells) } // End returns the error

// harmless returns a cell that a spreadsheet does not take for a formula.
func harmless(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 {
		return "'" + cell
	}
	return cell
}
