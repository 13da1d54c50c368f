package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"shunt/cmd/shunt/console"
)

// A source is the file that is imported.
type source struct {
	name     string // for people
	file     *os.File
	size     int64
	modified time.Time
	spooled  bool // file is a copy of what can be read only once
	// backwards: the last line has the oldest link and is imported first.
	backwards bool
}

// openSource opens the file called name; - is stdin. Input that can be read only once becomes a
// file first, because its last line decides about the order.
func openSource(name string, stdin io.Reader) (*source, error) {
	s := &source{name: name}
	err := s.open(stdin)
	if err == nil {
		var info os.FileInfo
		if info, err = s.file.Stat(); err == nil {
			s.size, s.modified = info.Size(), info.ModTime()
			s.backwards, err = s.newestFirst()
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) open(stdin io.Reader) (err error) {
	if s.name == "-" {
		s.name = "standard input"
		return s.spool(stdin)
	}
	if s.file, err = os.Open(s.name); err != nil {
		return err
	}
	info, err := s.file.Stat()
	switch {
	case err != nil || info.Mode().IsRegular():
		return err
	case info.IsDir():
		return &os.PathError{Op: "read", Path: s.name, Err: syscall.EISDIR}
	}
	pipe := s.file
	defer pipe.Close()
	return s.spool(pipe)
}

// spool copies the input into a file. The file has no name any more, so nothing stays after a
// crash.
func (s *source) spool(from io.Reader) (err error) {
	s.spooled = true
	if s.file, err = os.CreateTemp("", "shunt-import-"); err == nil {
		err = os.Remove(s.file.Name())
	}
	if err == nil {
		_, err = io.Copy(s.file, from)
	}
	return err
}

func (s *source) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// start returns the position of the line that is imported first.
func (s *source) start() (position, error) {
	if !s.backwards {
		return position{Offset: 0, Line: 1}, nil
	}
	n, err := countLines(s.file, s.size)
	return position{Offset: s.size, Line: n}, err
}

// passed returns how many bytes have been read when at is reached.
func (s *source) passed(at position) int64 {
	if s.backwards {
		return s.size - at.Offset
	}
	return at.Offset
}

// linesFrom returns the lines in the order of the import.
func (s *source) linesFrom(at position) *lines { return linesFrom(s.file, s.size, at, s.backwards) }

// brokenExport begins the type of what ends an export that could not go on.
const brokenExport = "urn:shunt:problem:"

// newestFirst reports whether the file begins with the newest link: if it is an export, or if the
// first line is of a newer link than the last. It is an error if the last line ends an export that
// broke off.
func (s *source) newestFirst() (bool, error) {
	first, err := firstLink(linesFrom(s.file, s.size, position{}, false))
	if err != nil {
		return false, err
	}
	last, err := firstLink(linesFrom(s.file, s.size, position{Offset: s.size}, true))
	if err != nil {
		return false, err
	}
	if strings.HasPrefix(last.Type, brokenExport) {
		return false, fmt.Errorf("%s: the last line says that the export broke off here: it is not complete, and nothing was imported", console.Printable(s.name))
	}
	return first.ShortURL != "" || !last.CreatedAt.IsZero() && first.CreatedAt.After(last.CreatedAt), nil
}

// linkEnd has the parts of the first and the last line that decide about the order.
type linkEnd struct {
	Type      string    `json:"type"`
	ShortURL  string    `json:"short_url"` // only exports have it
	CreatedAt time.Time `json:"created_at"`
}

// firstLink returns the first line that has a text.
func firstLink(l *lines) (end linkEnd, err error) {
	for {
		read, err := l.next()
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		if len(read.text) > 0 {
			_ = json.Unmarshal(read.text, &end) // what is wrong will be refused
			return end, nil
		}
	}
}
