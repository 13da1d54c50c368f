package source

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"shunt/api/sheet"
)

// An ownTable reads the CSV of an export of ours. Each of its columns is a field of a link object, with its name.
type ownTable struct {
	*table
	met met
}

// Columns whose cells are numbers, true or false; and those whose cells are JSON.
var (
	plainColumns  = []string{"redirect_status", "owner", "max_hits", "hits", "unique", "forward_query", "forward_path", "disabled", "has_password"}
	nestedColumns = []string{"rules", "split", "card", "daily"}
)

// Next implements Source.
func (t *ownTable) Next() (Record, error) {
	for {
		text, line, open, tooLong, err := t.row()
		switch {
		case err != nil:
			return Record{}, err
		case tooLong:
			return Record{Number: line, Refused: errLongRow.Error(), Rest: []byte(text)}, nil
		case open:
			return Record{Number: line, Refused: errOpenQuote.Error(), Rest: []byte(text)}, nil
		case strings.TrimSpace(text) == "":
			continue
		case !utf8.ValidString(text):
			return Record{Number: line, Refused: errNotUTF8.Error(), Rest: []byte(text)}, nil
		}
		r := csv.NewReader(strings.NewReader(text))
		r.Comma = t.separator
		if cells, err := r.Read(); err == nil && len(cells) == len(t.headings) {
			link := t.object(cells)
			t.met.note(link)
			return Record{Number: line, Link: link}, nil
		}
		return Record{Number: line, Refused: errNoCSV.Error(), Rest: []byte(text)}, nil
	}
}

// object returns a row as a link object. An empty cell is a field that is not there.
func (t *ownTable) object(cells []string) []byte {
	var b bytes.Buffer
	for i, cell := range cells {
		if cell = sheet.Unharmed(cell); cell == "" {
			continue
		}
		b.WriteByte(',')
		b.Write(quotedJSON(t.headings[i]))
		b.WriteByte(':')
		b.Write(jsonOf(t.headings[i], cell))
	}
	object := append(b.Bytes(), '}')
	if len(object) == 1 {
		return []byte("{}")
	}
	object[0] = '{' // instead of a comma
	return object
}

// jsonOf returns a cell as a value. What is not of its kind becomes a text, which the server refuses.
func jsonOf(column, cell string) []byte {
	switch {
	case slices.Contains(plainColumns, column) && json.Valid([]byte(cell)) && !strings.ContainsAny(cell[:1], "\"[{"),
		slices.Contains(nestedColumns, column) && json.Valid([]byte(cell)):
		return []byte(cell)
	case column == "tags":
		var tags []string
		if cell[0] != '[' || json.Unmarshal([]byte(cell), &tags) != nil {
			tags = strings.Split(cell, "|")
		}
		text, _ := json.Marshal(tags) // strings cannot fail
		return text
	}
	return quotedJSON(cell)
}

func quotedJSON(text string) []byte {
	quoted, _ := json.Marshal(text) // a string cannot fail
	return quoted
}

// Passed implements Source.
func (t *ownTable) Passed() int64 { return t.passed() }

// Summary implements Source.
func (t *ownTable) Summary() Summary {
	sum := Summary{Format: Shunt}
	t.met.addTo(&sum)
	return sum
}

// isOwnTable reports whether headings are those of an export of ours, in any order.
func isOwnTable(headings []string) bool {
	for _, name := range []string{"code", "url", "short_url", "redirect_status"} {
		if !slices.Contains(headings, name) {
			return false
		}
	}
	return true
}

// ownTableOf returns the rows of an export of ours; nil: it is none.
func ownTableOf(file io.ReaderAt, size int64, kind container, o *Options) (Source, error) {
	if kind != inTable || len(o.Columns) > 0 {
		return nil, nil
	}
	t, err := openTable(file, size, nil)
	if err != nil || !isOwnTable(t.headings) {
		return nil, err
	}
	return &ownTable{table: t, met: newMet(size)}, nil
}
