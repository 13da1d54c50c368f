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
func (r *Results) Refused(row *Row, why string) { r.write("", "", Harmless(row.URL()), Harmless(why)) }

// End writes what is not written yet. It returns the first error.
func (r *Results) End() error {
	r.w.Flush()
	return r.w.Error()
}

func (r *Results) write(cells ...string) { _ = r.w.Write(cells) } // End returns the error

// Harmless returns a cell that a spreadsheet does not take for a formula: such a text, and one that begins with an
// apostrophe, gets one more, which Unharmed takes off.
func Harmless(cell string) string {
	if isFormula(cell) || cell != "" && cell[0] == '\'' {
		return "'" + cell
	}
	return cell
}

// Unharmed returns the text of a cell that Harmless, or another system, has made.
func Unharmed(cell string) string {
	if len(cell) > 1 && cell[0] == '\'' && (cell[1] == '\'' || isFormula(cell[1:])) {
		return cell[1:]
	}
	return cell
}

func isFormula(cell string) bool { return cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 }
