package source

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"shunt/api/sheet"
)

const (
	maxRowBytes = 64 << 10 // that of an item of a bulk
	chunkBytes  = 256 << 10
)

// A table reads the rows of CSV one after the other. It holds a chunk of the file.
type table struct {
	file      io.ReaderAt
	size      int64
	at        int64 // where the text ends
	text      string
	line      int64 // on which the text begins
	separator rune
	headings  []string // as they stand; none: the first row is a link
	names     []string // of the columns
}

// openTable returns the rows of a file that begins with headings, or with an address and a code. given are the names of
// columns that the caller says to be those of fields.
func openTable(file io.ReaderAt, size int64, given map[string]string) (*table, error) {
	t := &table{file: file, size: size, line: 1}
	if err := t.fill(); err != nil {
		return nil, err
	}
	t.text = strings.TrimPrefix(t.text, "\ufeff")
	head, separator := headOf(t.text, given)
	t.separator = separator
	if head == nil {
		t.names = []string{"url", "code"}
		return t, nil
	}
	for _, heading := range head {
		t.headings = append(t.headings, shortened(heading))
		name := plainName(heading)
		for field, column := range given {
			if strings.EqualFold(strings.TrimSpace(column), heading) {
				name = names[field][0]
			} else if names[field][0] == name {
				name = "" // another column has its place
			}
		}
		t.names = append(t.names, name)
	}
	_, _, _, _, err := t.row()
	return t, err
}

// headOf returns the headings with which a text begins, and what separates its cells; nil: it begins with an address.
func headOf(text string, given map[string]string) (head []string, separator rune) {
	most := -1
	for _, comma := range sheet.Separators {
		row, _, _, _ := sheet.CutRow(text[:min(len(text), maxRowBytes)], comma)
		cells, err := sheet.Cells(row, comma)
		if err != nil {
			continue
		}
		known, addresses := 0, 0
		for _, cell := range cells {
			if isName(plainName(cell)) {
				known++
			}
			for _, column := range given {
				if strings.EqualFold(strings.TrimSpace(column), cell) {
					known++
				}
			}
			if strings.Contains(cell, "://") {
				addresses++
			}
		}
		if addresses > 0 {
			known = 0
		}
		if rank := 2*known + min(1, len(cells)-1); rank > most {
			most, separator, head = rank, comma, cells
			if addresses > 0 {
				head = nil
			}
		}
	}
	return head, separator
}

// fill reads on, so that the text has a whole row, or all of the rest.
func (t *table) fill() error {
	if len(t.text) > maxRowBytes || t.at == t.size {
		return nil
	}
	more := make([]byte, min(chunkBytes, t.size-t.at))
	if err := readFull(t.file, more, t.at); err != nil {
		return fmt.Errorf("reading line %d: %w", t.line, err)
	}
	t.at += int64(len(more))
	t.text += string(more)
	return nil
}

// row reads a row; io.EOF after the last one.
func (t *table) row() (text string, line int64, open, tooLong bool, err error) {
	if err := t.fill(); err != nil {
		return "", 0, false, false, err
	}
	if t.text == "" {
		return "", 0, false, false, io.EOF
	}
	line = t.line
	text, rest, lines, open := sheet.CutRow(t.text, t.separator)
	if lines > 1 && !sheet.Strict(text, t.separator) { // else two rows become one
		open = true
	}
	if open || len(text) > maxRowBytes { // one line is refused, and the next one read again
		text, _, _ = strings.Cut(t.text, "\n")
		return text, line, open, len(text) > maxRowBytes, t.skipLine()
	}
	t.text, t.line = rest, t.line+int64(lines)
	return text, line, false, false, nil
}

// skipLine passes over a line, which may be long.
func (t *table) skipLine() error {
	t.line++
	for {
		_, rest, ok := strings.Cut(t.text, "\n")
		t.text = rest
		if ok || t.at == t.size {
			return nil
		}
		if err := t.fill(); err != nil {
			return err
		}
	}
}

var (
	errOpenQuote = errors.New("has a quotation mark that is not closed as it must be")
	errLongRow   = fmt.Errorf("has more than %d bytes", maxRowBytes)
	errNoCSV     = errors.New("is not CSV")
)

// next implements rows.
func (t *table) next() (f fields, line int64, refused, err error) {
	for {
		text, line, open, tooLong, err := t.row()
		switch {
		case err != nil:
			return nil, 0, nil, err
		case tooLong:
			return nil, line, errLongRow, nil
		case open:
			return nil, line, errOpenQuote, nil
		case strings.TrimSpace(text) == "":
			continue
		}
		cells, err := sheet.Cells(text, t.separator)
		if err != nil {
			return nil, line, errNoCSV, nil
		}
		return t.fields(cells), line, nil, nil
	}
}

// fields returns the cells of a row by the names of their columns.
func (t *table) fields(cells []string) fields {
	f := make(fields, len(cells))
	for i, cell := range cells {
		name := fmt.Sprintf("column%d", i+1)
		if i < len(t.names) {
			name = t.names[i]
		}
		if name != "" && f[name].empty() {
			f[name] = value{text: sheet.Unharmed(cell)}
		}
	}
	return f
}

func (t *table) passed() int64 { return t.at - int64(len(t.text)) }

// tableOfAddresses tells whether a text is a table without headings: an address, and a code after it. A list of
// addresses alone has no codes.
func tableOfAddresses(text string, separator rune) container {
	row, _, _, _ := sheet.CutRow(text, separator)
	if cells, err := sheet.Cells(row, separator); err == nil && len(cells) == 2 && strings.Contains(cells[0], "://") && !strings.Contains(cells[1], "://") {
		return inTable
	}
	return ours
}

// hasAddress reports whether the second row of a text has an address: then the first one has headings, whatever they
// are.
func hasAddress(text string, separator rune) bool {
	_, rest, _, _ := sheet.CutRow(text, separator)
	row, _, _, _ := sheet.CutRow(rest, separator)
	return strings.Contains(row, "://")
}
