package source

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
)

// A dump reads the statements of a dump of MySQL or MariaDB word by word, since texts in it may have semicolons,
// quotation marks and ends of lines. Of what it reads it keeps one row.
type dump struct {
	in      *bufio.Reader
	n       int64 // bytes that were read
	line    int64
	table   string              // of the last INSERT, without its database
	full    string              // the same with it
	fulls   map[string]string   // names with a database, the first one of each table, by those without
	columns map[string][]string // of the tables that the dump makes, without their database
	inRows  bool                // the next word begins a row, or ends the statement
	given   []string            // the columns that an INSERT names
	unread  bool                // the texts of the next words are passed over
	base    string              // the database that USE names
	plain   bool                // a backslash stands for itself
	before  bool                // plain before the last change of it
}

func newDump(file io.ReaderAt, size int64) *dump {
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, size), blockBytes)
	if mark, _ := in.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = in.Discard(len(mark)) // it is there
	}
	return &dump{in: in, line: 1, columns: make(map[string][]string), fulls: make(map[string]string)}
}

// A word is one of SQL.
type word struct {
	kind byte // 'n' a name, which may be a keyword, or a number; 'q' a name in marks; 's' a text; '0' NULL; or a sign
	text string
}

// maxWordBytes bounds a word. The rest of a longer one is not kept, and its row is refused.
const maxWordBytes = 1 << 20

var (
	errLongWord = errors.New("has a value of more than a MiB")
	errRowEnd   = errors.New("has not one value for each column")
)

func (d *dump) read() (byte, error) {
	b, err := d.in.ReadByte()
	if err == nil {
		d.n++
		if b == '\n' {
			d.line++
		}
	}
	return b, err
}

// peek returns the next byte, 0 at the end.
func (d *dump) peek() byte {
	if b, err := d.in.Peek(1); err == nil {
		return b[0]
	}
	return 0
}

// word reads the next word; io.EOF after the last one.
func (d *dump) word() (w word, err error) {
	for {
		b, err := d.read()
		switch {
		case err != nil:
			return w, err
		case b <= ' ':
		case b == '#', b == '-' && d.peek() == '-':
			d.passLine()
		case b == '/' && d.peek() == '*':
			d.passComment()
		case b == '\'', b == '"':
			text, err := d.text(b, true)
			return word{'s', text}, err
		case b == '`':
			text, err := d.text(b, false)
			return word{'q', text}, err
		case isWordByte(b):
			return d.plainWord(b)
		default:
			return word{kind: b}, nil
		}
	}
}

func isWordByte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '_' || b == '$' || b == '.' || b == '-' || b == '+' || b == '@' || b >= 0x80
}

// passLine passes over the rest of a line. An error shows at the next word.
func (d *dump) passLine() {
	for b, err := d.read(); err == nil && b != '\n'; {
		b, err = d.read()
	}
}

// passComment passes over a comment, also one whose text MySQL runs: none of those has links, but some set how to read.
func (d *dump) passComment() {
	var begin []byte
	last := byte(0)
	for b, err := d.read(); err == nil && !(last == '*' && b == '/'); {
		if last = b; len(begin) < maxSetBytes {
			begin = append(begin, b)
		}
		b, err = d.read()
	}
	if bytes.HasPrefix(begin, []byte("*!")) || bytes.HasPrefix(begin, []byte("*M!")) {
		d.setMode(string(begin))
	}
}

// escapes are what a letter after a backslash stands for; others stand for themselves.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '0': 0, 'b': '\b', 'Z': 0x1a}

// text reads up to the quotation mark that ends a text.
func (d *dump) text(quote byte, escaped bool) (string, error) {
	var b strings.Builder
	long := false
	for {
		c, err := d.read()
		switch {
		case err != nil:
			return "", io.ErrUnexpectedEOF
		case c == quote && d.peek() != quote:
			if long {
				return "", errLongWord
			}
			return b.String(), nil
		case c == quote:
			c, err = d.read()
		case c == '\\' && escaped && !d.plain:
			if c, err = d.read(); err == nil {
				if plain, ok := escapes[c]; ok {
					c = plain
				}
			}
		}
		if err != nil {
			return "", io.ErrUnexpectedEOF
		}
		if d.unread {
			continue
		}
		if long = long || b.Len() >= maxWordBytes; !long {
			b.WriteByte(c)
		}
	}
}

// plainWord reads a name, a number, NULL, or a text in hexadecimal digits.
func (d *dump) plainWord(first byte) (word, error) {
	text := []byte{first}
	for b := d.peek(); isWordByte(b) && b != 0; b = d.peek() {
		if b, err := d.read(); err != nil {
			return word{}, err
		} else if len(text) < maxWordBytes {
			text = append(text, b)
		}
	}
	switch lower := strings.ToLower(string(text)); {
	case lower == "null":
		return word{kind: '0'}, nil
	case lower == "_binary", lower == "_utf8", lower == "_utf8mb4": // the text follows
		return d.word()
	case lower == "x" && d.peek() == '\'':
		if w, err := d.word(); err != nil {
			return w, err
		} else if plain, err := hex.DecodeString(w.text); err == nil {
			return word{'s', string(plain)}, nil
		}
	case strings.HasPrefix(lower, "0x"):
		if len(text) >= maxWordBytes {
			return word{}, errLongWord
		}
		if plain, err := hex.DecodeString(lower[2:]); err == nil {
			return word{'s', string(plain)}, nil
		}
	}
	return word{'n', string(text)}, nil
}

// is reports whether w is a keyword, which is in upper case.
func (w word) is(keyword string) bool { return w.kind == 'n' && strings.ToUpper(w.text) == keyword }

// row returns the next row of a table of which wanted returns the names of columns to keep, by these names (plainName);
// the values of a column with an empty name are passed over. The name of the table has its database before it if that
// is said. io.EOF comes after the last one. line is where it begins.
func (d *dump) row(wanted func(table string, columns []string) []string) (f fields, line int64, refused, err error) {
	for {
		if !d.inRows {
			if err := d.statement(); err != nil {
				return nil, 0, nil, err
			}
			continue
		}
		w, err := d.word()
		switch {
		case errors.Is(err, io.EOF):
			return nil, 0, nil, io.ErrUnexpectedEOF // after a comma, or without a semicolon
		case err != nil:
			return nil, 0, nil, err
		case w.kind == '(':
			line := d.line
			columns := d.given
			if columns == nil {
				columns = d.columns[d.table]
			}
			keep := wanted(d.full, columns)
			f, refused, err := d.values(keep)
			if d.unread = false; err != nil || keep != nil {
				return f, line, refused, err
			}
		case w.kind != ',':
			d.inRows = false
		}
	}
}

// only returns the plain names of columns, but of others than names none.
func only(columns []string, names ...string) []string {
	kept := plainNames(columns)
	for i, name := range kept {
		if !slices.Contains(names, name) {
			kept[i] = ""
		}
	}
	return kept
}

func plainNames(columns []string) []string {
	plain := make([]string, len(columns))
	for i, column := range columns {
		plain[i] = plainName(column)
	}
	return plain
}

// values reads the values of a row, after its bracket, by the names of its columns; nil: none is wanted.
func (d *dump) values(columns []string) (f fields, refused, err error) {
	f = make(fields, len(columns))
	n, depth := 0, 0
	name := func() string {
		if n < len(columns) {
			return columns[n]
		}
		return ""
	}
	for {
		d.unread = name() == ""
		w, err := d.word()
		switch {
		case errors.Is(err, errLongWord):
			refused = err
		case err == nil && w.kind == '(': // of a function, whose first text is the value
			depth++
			delete(f, name())
		case err == nil && depth > 0:
			if w.kind == ')' {
				depth--
			} else if w.kind == 's' && name() != "" && f[name()].empty() {
				f[name()] = value{text: w.text}
			}
		case errors.Is(err, io.EOF):
			return nil, nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, nil, err
		case w.kind == ')':
			if columns != nil && refused == nil && n+1 != len(columns) {
				refused = errRowEnd
			}
			return f, refused, nil
		case w.kind == ',':
			n++
		case name() != "" && (w.kind == 's' || w.kind == 'n'):
			f[name()] = value{text: w.text}
		}
	}
}

// statement reads up to the rows of an INSERT, or a whole statement of another kind.
func (d *dump) statement() error {
	w, err := d.word()
	if err != nil {
		return err
	}
	switch {
	case w.is("CREATE"):
		return d.create()
	case w.is("INSERT"), w.is("REPLACE"):
		return d.insert()
	case w.is("SET"):
		return d.set()
	case w.is("USE"):
		return d.use()
	case w.kind == ';':
		return nil
	}
	return d.passStatement()
}

func (d *dump) passStatement() error {
	for {
		if w, err := d.word(); err != nil && !errors.Is(err, errLongWord) || w.kind == ';' {
			return err
		}
	}
}

// nameAfter reads a name that may have a database before it, base: a, `a`, b.a or `b`.`a`.
func (d *dump) nameAfter(w word) (base, name string, next word, err error) {
	name = w.text
	for next, err = d.word(); err == nil && (next.kind == '.' || next.kind == 'n' && next.text == "."); next, err = d.word() {
		if w, err = d.word(); err != nil {
			return "", "", w, err
		}
		base, name = name, w.text
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		base, name = name[:i], name[i+1:]
	}
	return base, name, next, err
}

// create reads CREATE TABLE, of which it keeps the names of the columns.
func (d *dump) create() error {
	w, err := d.word()
	if err != nil || !w.is("TABLE") {
		return errors.Join(err, d.passStatement())
	}
	for w, err = d.word(); err == nil && (w.is("IF") || w.is("NOT") || w.is("EXISTS")); {
		w, err = d.word()
	}
	if err != nil {
		return err
	}
	_, table, w, err := d.nameAfter(w)
	if err != nil {
		return err
	}
	switch w.kind {
	case ';':
		return nil
	case '(':
	default:
		return d.passStatement()
	}
	columns, err := d.columnNames()
	if err != nil {
		return err
	}
	if len(d.columns) < maxTables {
		d.columns[table] = columns
	}
	return d.passStatement()
}

// columnNames reads the columns of CREATE TABLE up to its last bracket.
func (d *dump) columnNames() (columns []string, err error) {
	begins := true
	for depth := 1; depth > 0; {
		w, err := d.word()
		switch {
		case err != nil && !errors.Is(err, errLongWord):
			return nil, err
		case w.kind == '(':
			depth++
		case w.kind == ')':
			depth--
		case depth == 1 && w.kind == ',':
			begins = true
			continue
		case depth == 1 && begins && (w.kind == 'q' || w.kind == 'n' && !isKeyOf(w)):
			if len(columns) < maxColumns {
				columns = append(columns, w.text)
			}
		}
		begins = false
	}
	return columns, nil
}

// Limits of what is kept of a dump.
const (
	maxColumns = 200
	maxTables  = 2000
)

// isKeyOf reports whether a part of CREATE TABLE that begins with w is no column.
func isKeyOf(w word) bool {
	for _, keyword := range []string{"PRIMARY", "KEY", "UNIQUE", "INDEX", "FULLTEXT", "CONSTRAINT", "FOREIGN", "CHECK", "SPATIAL"} {
		if w.is(keyword) {
			return true
		}
	}
	return false
}

// fullName returns the name of a table with its database. Before the first USE, one that names none is that of the
// first table of its name that has one.
func (d *dump) fullName(base, table string) string {
	if base = cmp.Or(base, d.base); base == "" {
		return cmp.Or(d.fulls[table], table)
	}
	full := base + "." + table
	if _, known := d.fulls[table]; !known && len(d.fulls) < maxTables {
		d.fulls[table] = full
	}
	return full
}

// insert reads INSERT INTO a table, its columns if it names them, and VALUES.
func (d *dump) insert() error {
	w, err := d.word()
	for err == nil && (w.is("INTO") || w.is("IGNORE") || w.is("LOW_PRIORITY") || w.is("DELAYED")) {
		w, err = d.word()
	}
	if err != nil {
		return err
	}
	d.given = nil
	base, table, w, err := d.nameAfter(w)
	if err != nil {
		return err
	}
	d.table, d.full = table, d.fullName(base, table)
	if w.kind == '(' {
		for err == nil && w.kind != ')' {
			if w, err = d.word(); (w.kind == 'n' || w.kind == 'q') && len(d.given) < maxColumns {
				d.given = append(d.given, w.text)
			}
		}
		if err == nil {
			w, err = d.word()
		}
	}
	if err != nil {
		return err
	}
	if d.inRows = w.is("VALUES") || w.is("VALUE"); !d.inRows && w.kind != ';' {
		return d.passStatement()
	}
	return nil
}
