package sheet

import "strings"

// A Sheet is what was read of a text.
type Sheet struct {
	Head string // the line of headings as it stands; empty: the text is a list of addresses
	Rows []Row  // without blank ones
}

// plainColumns are those of a list of addresses.
var plainColumns = []*column{&columns[0]}

// Read reads a text, of which the rows keep parts: at most most rows and one more, so that a caller can tell that there
// are too many. Its error is one of the headings, in words for people.
func Read(text string, most int) (s Sheet, err error) {
	text = strings.TrimPrefix(text, "\ufeff")
	line := 1
	for text != "" {
		first, rest := cutLine(text)
		if strings.TrimSpace(first) != "" {
			break
		}
		text = rest
		line++
	}
	separator, of := rune(0), plainColumns
	if headings, comma := headingsOf(text); headings != nil {
		if of, err = headed(headings); err != nil {
			return s, err
		}
		var lines int
		s.Head, text, lines, _ = CutRow(text, comma)
		separator, line = comma, line+lines
	}
	s.readRows(text, line, most, of, separator)
	return s, nil
}

// readRows reads the rows of text, the first of which is on line.
func (s *Sheet) readRows(text string, line, most int, of []*column, separator rune) {
	for text != "" && len(s.Rows) <= most {
		row, lines, open := Row{Line: line}, 1, false
		if separator == 0 {
			row.Text, text = cutLine(text)
		} else {
			row.Text, text, lines, open = CutRow(text, separator)
		}
		line += lines
		if open {
			row.Refused = "has a quotation mark that is never closed, so this row and all after it could not be read"
		} else {
			row.read(of, separator)
		}
		if len(row.cells) > 0 || row.Refused != "" {
			s.Rows = append(s.Rows, row)
		}
	}
}

// Separators are those that a sheet may have, in the order in which they are tried.
var Separators = []rune{',', ';', '\t'}

// maxHeadBytes bounds the line in which headings are looked for.
const maxHeadBytes = 4 << 10

// headingsOf returns the headings with which text begins, and what separates them; nil: it begins with none.
func headingsOf(text string) (headings []string, separator rune) {
	most := 0
	for _, comma := range Separators {
		row, _, _, _ := CutRow(text[:min(len(text), maxHeadBytes)], comma)
		cells, err := Cells(row, comma)
		if n := known(cells); err == nil && n > most {
			headings, separator, most = cells, comma, n
		}
	}
	return headings, separator
}
