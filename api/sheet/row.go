package sheet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxRowBytes is the limit of a row, that of an item of a bulk.
const maxRowBytes = 64 << 10

// A Row is one row of a sheet, with the values of a link or the reason why it has none.
type Row struct {
	Line    int    // on which it begins, from 1 on
	Text    string // as it stands in the sheet, without the end of its last line
	Refused string // why it cannot be read; empty: it was
	cells   []cell // that are not empty
}

type cell struct {
	of   *column
	text string
}

// URL returns the cell of the target, the whole text of a row that cannot be read.
func (r *Row) URL() string {
	for _, c := range r.cells {
		if c.of.name == "url" {
			return c.text
		}
	}
	if r.Refused != "" {
		return r.Text
	}
	return ""
}

// Has reports whether the row has a value of that name of the API.
func (r *Row) Has(name string) bool {
	return slices.ContainsFunc(r.cells, func(c cell) bool { return c.of.name == name })
}

// Item returns the row as an item of POST /shorten/bulk, by the names of the API. Times without a zone
// are those of zone.
func (r *Row) Item(zone *time.Location) map[string]any {
	item := make(map[string]any, len(r.cells))
	for _, c := range r.cells {
		item[c.of.name] = c.of.value(c.text, zone)
	}
	return item
}

// cutLine cuts the first line off text.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// CutRow cuts the first row of CSV off text: a line, and those after it as long as a quotation mark is open.
// lines is how many it has. open: the mark is never closed.
func CutRow(text string, separator rune) (row, rest string, lines int, open bool) {
	begins, closed := true, -1 // closed: where a mark was closed last, which the next one opens again
	lines = 1
	for i, c := range text {
		switch {
		case c == '"' && open:
			open, closed = false, i
		case c == '"':
			open = begins || closed == i-1 && closed >= 0
		case c == '\n' && !open:
			return strings.TrimSuffix(text[:i], "\r"), text[i+1:], lines, false
		case c == '\n':
			lines++
		}
		begins = !open && (c == separator || begins && c == ' ' && separator != '\t') // as Cells trims
	}
	return strings.TrimSuffix(text, "\r"), "", lines, open
}

// Cells returns the cells of a row of CSV, without the blanks around them.
func Cells(row string, separator rune) ([]string, error) {
	r := csv.NewReader(strings.NewReader(row))
	r.Comma, r.TrimLeadingSpace, r.FieldsPerRecord, r.LazyQuotes = separator, separator != '\t', -1, true
	cells, err := r.Read()
	if _, more := r.Read(); err == nil && more != io.EOF { // the row was cut in another way than it is read
		err = csv.ErrQuote
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells, err
}

// Strict reports whether each mark that closes a cell of a row is followed by the next cell. A mark within a cell that
// has none around it is one of its text.
func Strict(row string, separator rune) bool {
	r := csv.NewReader(strings.NewReader(row))
	r.Comma, r.TrimLeadingSpace, r.FieldsPerRecord = separator, separator != '\t', -1
	_, err := r.Read()
	return !errors.Is(err, csv.ErrQuote)
}

// read fills the row with the cells of its text.
func (r *Row) read(of []*column, separator rune) {
	switch {
	case !utf8.ValidString(r.Text):
		r.Refused = "must be UTF-8: save the sheet as “CSV UTF-8”"
		return
	case strings.TrimSpace(r.Text) == "":
		return
	case len(r.Text) > maxRowBytes:
		r.Refused = fmt.Sprintf("must be at most %d bytes", maxRowBytes)
		return
	}
	texts := []string{strings.TrimSpace(r.Text)}
	if separator != 0 && (len(of) > 1 || strings.HasPrefix(texts[0], `"`)) { // an address alone may have separators
		var err error
		if texts, err = Cells(r.Text, separator); err != nil {
			r.Refused = "is not CSV"
			return
		}
	}
	for i, text := range texts {
		switch {
		case text == "":
		case i >= len(of):
			r.Refused, r.cells = "has more cells than there are headings: a cell with a separator needs quotation marks", nil
			return
		case of[i] != nil:
			r.cells = append(r.cells, cell{of[i], text})
		}
	}
}
