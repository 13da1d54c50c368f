package importer

import (
	"bufio"
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
	bytes    int64  // of the file itself
	size     int64  // of what is read: what is in it, if it is packed
	modified time.Time
	spooled  bool // it is a copy of what can be read only once
}

// open opens the file called name; or else makes one of what once writes, which can be read only once: the last line
// decides about the order.
func open(name string, once func(to io.Writer) error) (f *file, err error) {
	f = &file{name: console.Printable(name), spooled: once != nil}
	if f.spooled {
		err = f.spool(once)
	} else if f.File, err = os.Open(name); err == nil {
		err = f.spoolPipe()
	}
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			f.bytes, f.modified = info.Size(), info.ModTime()
			f.size, err = f.unpack()
		}
	}
	if err != nil {
		_ = f.Close() // also of a nil File
		return nil, err
	}
	return f, nil
}

// unpack makes of a file of gzip or zstd what is in it. It returns how many bytes are read then.
func (f *file) unpack() (size int64, err error) {
	head := make([]byte, 4)
	if n, _ := f.ReadAt(head, 0); !source.IsPacked(head[:n]) { // an error will show again
		return f.bytes, nil
	}
	packed := f.File
	defer packed.Close()
	text, err := source.Unpack(head, io.NewSectionReader(packed, 0, f.bytes))
	if err == nil {
		defer text.Close()
		err = f.spool(copyOf(io.LimitReader(text, maxUnpacked+1)))
	}
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err == nil && size > maxUnpacked {
		err = fmt.Errorf("more than %d GiB are in it", maxUnpacked>>30)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: unpacking: %w", f.name, err)
	}
	return size, nil
}

// maxUnpacked bounds what a packed file may take of the disk.
const maxUnpacked = 256 << 30

// spoolPipe spools what is not a regular file.
func (f *file) spoolPipe() error {
	info, err := f.Stat()
	switch {
	case err != nil || info.Mode().IsRegular():
		return err
	case info.IsDir():
		return &os.PathError{Op: "read", Path: f.Name(), Err: syscall.EISDIR}
	}
	f.spooled = true
	pipe := f.File
	defer pipe.Close()
	return f.spool(copyOf(pipe))
}

// spool makes a file of what write writes. It has no name any more, so nothing stays after a crash.
func (f *file) spool(write func(to io.Writer) error) (err error) {
	if f.File, err = os.CreateTemp("", "shunt-import-"); err == nil {
		err = os.Remove(f.Name())
	}
	if err == nil {
		buffered := bufio.NewWriterSize(f, 1<<20)
		if err = write(buffered); err == nil {
			err = buffered.Flush()
		}
	}
	return err
}

// copyOf returns what writes all that is read.
func copyOf(from io.Reader) func(to io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	}
}

// records returns the records of the file.
func (f *file) records(o source.Options) (source.Source, error) {
	s, err := source.Open(f, f.size, o)
	if errors.Is(err, source.ErrBroken) {
		err = fmt.Errorf("%s: %w: it is not complete, and nothing was imported", f.name, err)
	}
	if err != nil && !errors.Is(err, source.ErrBroken) {
		err = fmt.Errorf("%s: %w", f.name, err)
	}
	return s, err
}
