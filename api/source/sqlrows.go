package source

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// sqlRows read the links of a dump of YOURLS or Polr.
type sqlRows struct {
	dump   *dump
	wanted []string // columns of the table of links
	ended  bool     // the dump was cut off
}

// columnsOf are those by which the table of links of a system is known.
var columnsOf = map[string][]string{"yourls": {"keyword", "url", "clicks"}, "polr": {"short_url", "long_url", "is_disabled"}}

// openDump finds out whose dump a file is; "": it has no table of links that is known. It reads as far as the first
// row of that table.
func openDump(file io.ReaderAt, size int64) (system string, rows *sqlRows, err error) {
	d := newDump(file, size)
	_, _, _, err = d.row(func(_ string, columns []string) []string {
		for name, has := range columnsOf {
			if isTable(columns, has) {
				system = name
				return []string{}
			}
		}
		return nil
	})
	switch {
	case system != "": // an error of that row will show again
		return system, &sqlRows{dump: newDump(file, size), wanted: columnsOf[system]}, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = nil
	}
	return "", nil, err
}

func isTable(columns, has []string) bool {
	for _, name := range has {
		if !slices.ContainsFunc(columns, func(column string) bool { return strings.EqualFold(column, name) }) {
			return false
		}
	}
	return true
}

// next implements rows.
func (s *sqlRows) next() (f fields, line int64, refused, err error) {
	f, line, refused, err = s.dump.row(func(_ string, columns []string) []string {
		if !isTable(columns, s.wanted) {
			return nil
		}
		return plainNames(columns)
	})
	if errors.Is(err, io.ErrUnexpectedEOF) && !s.ended {
		s.ended = true
		return nil, s.dump.line, errDumpEnds, nil
	}
	if s.ended {
		return nil, 0, nil, io.EOF
	}
	return f, line, refused, err
}

func (s *sqlRows) passed() int64 { return s.dump.n }
