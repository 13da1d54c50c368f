package backups

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The tar archive of a backup has one folder, named as in a series, with the files of the backup:
//
//	shunt-20260102T150405Z/
//	shunt-20260102T150405Z/db/
//	shunt-20260102T150405Z/db/…      in order of their names
//	shunt-20260102T150405Z/format    last
//
// A folder without format is not a backup, so an archive that was cut off never looks like one,
// also when tar unpacked it.

// The folder of a backup has FormatName, and all else in the folder DBName.
const (
	DBName     = "db"
	FormatName = "format"
	lockName   = "LOCK"
)

// Files returns the names of the files of the backup in dir, with slashes: FormatName is the last.
func Files(dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, DBName))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries { // ReadDir sorts
		if entry.Name() != lockName {
			names = append(names, DBName+"/"+entry.Name())
		}
	}
	return append(names, FormatName), nil
}

// Belongs reports whether a backup may have a file of that name. No such name leads out of the backup's folder.
func Belongs(name string) bool {
	base, inDB := strings.CutPrefix(name, DBName+"/")
	return name == FormatName || inDB && fileName.MatchString(base)
}

// SyncFolder makes the names of the files of a backup durable.
func SyncFolder(dir string) error {
	return errors.Join(syncDir(filepath.Join(dir, DBName)), syncDir(dir))
}

// maxStreamFiles bounds the files that Receive takes. A table has 2 MiB or more, so no store that
// fits on a disk has that many.
const maxStreamFiles = 10_000_000

// chunkBytes is how much is copied between two calls of progress.
const chunkBytes = 1 << 20

// ErrNotABackup: a stream is not the archive of a backup.
var ErrNotABackup = errors.New("not a backup in tar form, as 'shunt backup --tar -' writes it")

// Send writes the backup in dir to w. at is the time for the name and for the files.
func Send(ctx context.Context, w io.Writer, dir string, at time.Time, progress func(bytes uint64)) error {
	s := sender{ctx: ctx, tar: tar.NewWriter(w), dir: dir, at: at.UTC().Truncate(time.Second), progress: progress}
	if err := s.all(); err != nil {
		return err
	}
	return s.tar.Close()
}

type sender struct {
	ctx      context.Context
	tar      *tar.Writer
	dir      string
	at       time.Time
	sent     uint64
	progress func(bytes uint64)
}

func (s *sender) all() error {
	top := s.at.Format(nameLayout)
	for _, name := range []string{top + "/", top + "/" + DBName + "/"} {
		if err := s.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: folderMode, ModTime: s.at}); err != nil {
			return err
		}
	}
	names, err := Files(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.file(top, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *sender) file(top, name string) (err error) {
	f, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: top + "/" + name, Size: info.Size(), Mode: fileMode, ModTime: s.at,
	}
	if err := s.tar.WriteHeader(header); err != nil {
		return err
	}
	return copyChunks(s.ctx, s.tar, f, &s.sent, s.progress)
}

// Receive reads an archive that Send wrote from r, and puts the files into
// dir, which must be empty or absent. They are durable when it returns. It takes nothing but the
// files of one backup, and reads r to its end.
func Receive(ctx context.Context, r io.Reader, dir string, progress func(bytes uint64)) error {
	to := receiver{ctx: ctx, tar: tar.NewReader(r), dir: dir, progress: progress}
	if err := os.MkdirAll(filepath.Join(dir, DBName), folderMode); err != nil {
		return err
	}
	if err := to.all(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // what pads the archive; else the writer gets SIGPIPE
		return err
	}
	return SyncFolder(dir)
}

type receiver struct {
	ctx      context.Context
	tar      *tar.Reader
	dir      string
	top      string // the archive's one folder
	files    int
	whole    bool // format has come
	received uint64
	progress func(bytes uint64)
}

func (r *receiver) all() error {
	for {
		header, err := r.tar.Next()
		if errors.Is(err, io.EOF) && r.whole {
			return nil
		}
		if err == nil {
			err = r.entry(header)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("the stream ended before the backup was whole: %w", io.ErrUnexpectedEOF)
		case errors.Is(err, tar.ErrHeader):
			return fmt.Errorf("%w (if it is compressed, pipe it through gunzip or zstd -d)", ErrNotABackup)
		case err != nil:
			return err
		}
	}
}

// fileName is a name of a file in db: Pebble's, nothing else.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// entry takes an entry of the archive. Its name never leads out of dir, and no file is written
// twice.
func (r *receiver) entry(header *tar.Header) error {
	top, name, _ := strings.Cut(strings.TrimPrefix(header.Name, "./"), "/")
	if r.top == "" {
		r.top = top
	}
	switch {
	case r.whole, top == "" || top != r.top, r.files == maxStreamFiles:
	case header.Typeflag == tar.TypeDir && (name == "" || name == DBName+"/" || name == DBName):
		return nil
	case header.Typeflag != tar.TypeReg:
	case Belongs(name):
		r.files++
		r.whole = name == FormatName
		return r.file(filepath.Join(r.dir, filepath.FromSlash(name)))
	}
	return fmt.Errorf("%w: it has %.100q", ErrNotABackup, header.Name)
}

func (r *receiver) file(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := copyChunks(r.ctx, f, r.tar, &r.received, r.progress); err != nil {
		return err
	}
	return f.Sync()
}

// copyChunks copies r to w until the end of r or of ctx.
func copyChunks(ctx context.Context, w io.Writer, r io.Reader, total *uint64, progress func(bytes uint64)) error {
	for {
		n, err := io.CopyN(w, r, chunkBytes)
		*total += uint64(n)
		progress(*total)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
