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

// open opens the file called name; - is stdin. Input that can be read only once becomes a file first,
// because its last line decides about the order.
func open(name string, stdin io.Reader) (f *file, err error) {
	f = &file{name: console.Printable(name)}
	if name == "-" {
		f.name, f.spooled = "standard input", true
		err = f.spool(stdin)
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

// fetched makes a file of what fetch writes, which name names.
func fetched(name string, fetch func(to io.Writer) error) (f *file, err error) {
	f = &file{name: console.Printable(name), spooled: true}
	if f.File, err = os.CreateTemp("", "shunt-import-"); err == nil {
		err = os.Remove(f.Name())
	}
	if err == nil {
		buffered := bufio.NewWriterSize(f, 1<<20)
		err = errors.Join(fetch(buffered), buffered.Flush())
	}
	if err == nil {
		f.size, err = f.Seek(0, io.SeekEnd)
		f.bytes = f.size
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
		err = f.spool(io.LimitReader(text, maxUnpacked+1))
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
	return f.spool(pipe)
}

// spool copies the input into a file. The file has no name any more, so nothing stays after a crash.
func (f *file) spool(from io.Reader) (err error) {
	if f.File, err = os.CreateTemp("", "shunt-import-"); err == nil {
		err = os.Remove(f.Name())
	}
	if err == nil {
		_, err = io.Copy(f, from)
	}
	return err
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
