package source

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
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
	t.passBlanks()
	head, separator := headOf(t.text, given)
	if t.separator = separator; head == nil {
		t.names = namesWithout(t.text, separator)
		if t.names == nil || len(given) > 0 {
			return nil, ErrNoTarget
		}
		return t, nil
	}
	fields := slices.Sorted(maps.Keys(given)) // so that the same file is always read in the same way
	for _, field := range fields {
		column := given[field]
		if !slices.ContainsFunc(head, func(heading string) bool { return isHeading(heading, column) }) {
			return nil, fmt.Errorf("no heading is %s, which --map says to be %s: there are %s", shortened(column), field, shownNames(head))
		}
	}
	for _, heading := range head {
		t.headings = append(t.headings, heading)
		name := plainName(heading)
		for _, field := range fields {
			if isHeading(heading, given[field]) {
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
				if isHeading(cell, column) {
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

func isHeading(heading, column string) bool {
	return strings.EqualFold(strings.TrimSpace(column), heading)
}

// shownNames lists names of columns or tables in a message.
func shownNames(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = fmt.Sprintf("%q", shortened(name))
	}
	return strings.Join(shown, ", ")
}

// passBlanks passes over blank lines, and the one by which Excel is told the separator.
func (t *table) passBlanks() {
	for t.text != "" {
		line, rest, _ := strings.Cut(t.text, "\n")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "sep=") {
			return
		}
		t.text, t.line = rest, t.line+1
	}
}

// namesWithout returns the names of the columns of a table without headings: an address and a code, or the other way
// round; nil: it is neither.
func namesWithout(text string, separator rune) []string {
	row, _, _, _ := sheet.CutRow(text[:min(len(text), maxRowBytes)], separator)
	cells, err := sheet.Cells(row, separator)
	if err != nil || len(cells) < 2 {
		return nil
	}
	switch first, second := strings.Contains(cells[0], "://"), strings.Contains(cells[1], "://"); {
	case first && !second:
		return []string{"url", "code"}
	case second && !first:
		return []string{"code", "url"}
	}
	return nil
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
	within := t.text[:min(len(t.text), maxRowBytes+1)]
	text, rest, lines, open := sheet.CutRow(within, t.separator)
	if !sheet.Strict(text, t.separator) { // else two rows, or two cells, become one
		open = true
	}
	rest = t.text[len(within)-len(rest):]
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
	errMoreCells = errors.New("has more cells than there are headings: a cell with a separator needs quotation marks")
)

// next implements rows.
func (t *table) next() (f fields, line int64, refused, err error) {
	for {
		text, line, open, tooLong, err := t.row()
		switch {
		case err != nil:
			return nil, 0, nil, err
		case tooLong:
			return textOnly(text), line, errLongRow, nil
		case open:
			return textOnly(text), line, errOpenQuote, nil
		case strings.TrimSpace(text) == "":
			continue
		}
		cells, err := sheet.Cells(text, t.separator)
		switch {
		case err != nil:
			return textOnly(text), line, errNoCSV, nil
		case strings.Join(cells[min(len(cells), len(t.names)):], "") != "":
			return textOnly(text), line, errMoreCells, nil
		}
		return t.fields(cells), line, nil, nil
	}
}

// fields returns the cells of a row by the names of their columns.
func (t *table) fields(cells []string) fields {
	f := make(fields, len(cells))
	for i, cell := range cells {
		if i < len(t.names) && t.names[i] != "" && f[t.names[i]].empty() {
			f[t.names[i]] = value{text: sheet.Unharmed(cell)}
		}
	}
	return f
}

func (t *table) passed() int64 { return t.at - int64(len(t.text)) }

// hasAddress reports whether the second row of a text has an address: then the first one has headings, whatever they
// are.
func hasAddress(text string, separator rune) bool {
	_, rest, _, _ := sheet.CutRow(text, separator)
	row, _, _, _ := sheet.CutRow(rest, separator)
	return strings.Contains(row, "://")
}
