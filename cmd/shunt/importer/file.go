package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"shunt/api/source"
	"shunt/cmd/shunt/console"
)

// A file is what is imported.
type file struct {
	*os.File
	name     string // for people
	size     int64
	modified time.Time
	spooled  bool // it is a copy of what can be read only once
}

// open opens the file called name; - is stdin. Input that can be read only once becomes a file first,
// because its last line decides about the order.
func open(name string, stdin io.Reader) (f *file, err error) {
	f = &file{name: console.Printable(name)}
	if name == "-" {
		f.name = "standard input"
		err = f.spool(stdin)
	} else if f.File, err = os.Open(name); err == nil {
		err = f.spoolPipe()
	}
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			f.size, f.modified = info.Size(), info.ModTime()
			return f, nil
		}
	}
	_ = f.Close() // also of a nil File
	return nil, err
}

// spoolPipe spools what is not a regular file.
func (f *file) spoolPipe() error {
	info, err := f.Stat()
	switch {
	case err != nil || info.Mode().IsRegular():
		return err
	case info.IsDir():
		return &os.PathError{Op: "read", Path: f.Name(), Err: syscall.EISDIR}
	}
	pipe := f.File
	defer pipe.Close()
	return f.spool(pipe)
}

// spool copies the input into a file. The file has no name any more, so nothing stays after a crash.
func (f *file) spool(from io.Reader) (err error) {
	f.spooled = true
	if f.File, err = os.CreateTemp("", "shunt-import-"); err == nil {
		err = os.Remove(f.Name())
	}
	if err == nil {
		_, err = io.Copy(f, from)
	}
	return err
}

// records returns the records of the file.
func (f *file) records() (source.Source, error) {
	s, err := source.Open(f, f.size)
	if errors.Is(err, source.ErrBroken) {
		err = fmt.Errorf("%s: %w: it is not complete, and nothing was imported", f.name, err)
	}
	return s, err
}
