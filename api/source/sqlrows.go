package source

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// sqlRows read the links of a dump of YOURLS or Polr, of one table.
type sqlRows struct {
	dump   *dump
	table  string          // with its database, if that is said
	format string          // that is asked for; empty: any
	others map[string]bool // tables of links that were named as not read; nil: none is to be named
	ended  bool            // the dump was cut off
}

// columnsOf are those by which the table of links of a system is known.
var columnsOf = map[string][]string{yourls: {"keyword", "url", "clicks"}, "polr": {"short_url", "long_url", "is_disabled"}}

// systemOfTable returns the system whose table of links has columns; empty: none.
func systemOfTable(columns []string) string {
	for _, name := range []string{yourls, "polr"} {
		if isTable(columns, columnsOf[name]) {
			return name
		}
	}
	return ""
}

// openDump returns the links of the table that o names, or of the first one that a system has, and the system. It reads
// as far as the first row of that table.
func openDump(file io.ReaderAt, size int64, o *Options) (system string, rows *sqlRows, err error) {
	d, table := newDump(file, size), ""
	var met []string
	_, _, _, err = d.row(func(name string, columns []string) []string {
		made := systemOfTable(columns)
		isAsked := o.Table == "" || strings.EqualFold(name, o.Table) || strings.EqualFold(bareName(name), o.Table)
		switch {
		case made == "":
		case !isAsked || !isOf(o.Format, made):
			if len(met) < maxNamed && !slices.Contains(met, name) {
				met = append(met, name)
			}
		case o.Table == "" || name == o.Table:
			system, table = made, name
			return []string{}
		case system == "": // unless one has the very name
			system, table = made, name
		}
		return nil
	})
	switch {
	case system != "": // an error of that row will show again
		rows = &sqlRows{dump: newDump(file, size), table: table, format: o.Format}
		if o.Table == "" {
			rows.others = make(map[string]bool)
		}
		return system, rows, nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return "", nil, err
	case len(met) > 0:
		return "", nil, fmt.Errorf("%w: it has %s", errNoSuchTable, shownNames(met))
	}
	return "", nil, ErrNoLinks
}

var (
	// ErrNoLinks is the error of a dump without a table of links that is known.
	ErrNoLinks = errors.New("the dump has no table of links of YOURLS or Polr")

	errNoSuchTable = errors.New("the dump has no such table of links")

	// errDumpEnds is why the last row of a dump that was cut off is refused.
	errDumpEnds = errors.New("the dump ends here, in the middle of a statement")
)

// maxNamed bounds the tables that are named.
const maxNamed = 100

// isOf reports whether a format allows a table of a system.
func isOf(format, made string) bool { return columnsOf[format] == nil || made == format }

func bareName(table string) string { return table[strings.LastIndexByte(table, '.')+1:] }

// isSame reports whether two names are of one table. Before the first USE, one without a database may come before the
// same one with it.
func (d *dump) isSame(a, b string) bool {
	bare := bareName(a)
	return a == b || d.base == "" && bare == bareName(b) && (a == bare || b == bare)
}

func isTable(columns, has []string) bool {
	for _, name := range has {
		if !slices.ContainsFunc(columns, func(column string) bool { return strings.EqualFold(column, name) }) {
			return false
		}
	}
	return true
}

// next implements rows. The first row of another table of links is refused for all of them.
func (s *sqlRows) next() (f fields, line int64, refused, err error) {
	other, made := "", ""
	f, line, refused, err = s.dump.row(func(table string, columns []string) []string {
		switch made = systemOfTable(columns); {
		case made == "":
			return nil
		case s.dump.isSame(table, s.table):
			if len(table) > len(s.table) { // it has a database, and the same name in another one is another table
				s.table = table
			}
			return plainNames(columns)
		case s.others == nil || s.others[table] || len(s.others) == maxNamed:
			return nil
		}
		other, s.others[table] = table, true
		return make([]string, len(columns))
	})
	if errors.Is(err, io.ErrUnexpectedEOF) && !s.ended {
		s.ended = true
		return nil, s.dump.line, errDumpEnds, nil
	}
	if s.ended {
		return nil, 0, nil, io.EOF
	}
	if err == nil && other != "" {
		refused = s.leftOut(shortened(other), shortened(s.table), made)
	}
	return f, line, refused, err
}

// leftOut returns why the links of a table of a system are left out.
func (s *sqlRows) leftOut(other, table, made string) error {
	if !isOf(s.format, made) {
		return fmt.Errorf("the links of the table %s are left out, because those of %s are imported", other, table)
	}
	return fmt.Errorf("the links of the table %s are left out, because those of %s are imported: --table %s imports them", other, table, other)
}

func (s *sqlRows) passed() int64 { return s.dump.n }
