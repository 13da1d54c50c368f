package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine/expect"
)

// sick is a file system in memory on which each operation of some kinds fails for a while.
type sick struct {
	*PatientFS
	err      error
	left     int // number of operations that still fail
	kinds    []errorfs.OpKind
	wasFull  int
	attempts int
}

func newSick(err error, left int, kinds ...errorfs.OpKind) *sick {
	s := &sick{err: err, left: left, kinds: kinds}
	inject := func(op errorfs.Op) error {
		for _, kind := range s.kinds {
			if op.Kind != kind {
				continue
			}
			if s.attempts++; s.left != 0 {
				s.left--
				return &os.PathError{Op: "test", Path: op.Path, Err: s.err}
			}
		}
		return nil
	}
	s.PatientFS = &PatientFS{
		FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(inject)), Dir: "/", Full: func() { s.wasFull++ },
	}
	return s
}

func TestAFullDiskIsWaitedForWithoutWritingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSick(syscall.ENOSPC, 100, errorfs.OpFileWrite)
		s.Waits.Store(true)
		f, err := s.Create("/a", vfs.WriteCategoryUnspecified)
		expect.OK(t, err)
		start := time.Now()
		n, err := f.Write([]byte("whole"))
		expect.That(t, n == 5 && err == nil, "got %d, %v", n, err)
		took := time.Since(start)
		expect.That(t, took == 100*retryPause && s.wasFull == 100, "it took %v, and %d times the disk was full", took, s.wasFull)
		expect.OK(t, f.Close())
		wantContent(t, s, "/a", "whole")
	})
}

func wantContent(t *testing.T, s *sick, name, want string) {
	t.Helper()
	f, err := s.Open(name)
	expect.OK(t, err)
	defer f.Close()
	got, err := io.ReadAll(f)
	expect.That(t, string(got) == want && err == nil, "%s: got %q, %v, want %q", name, got, err, want)
}

// shortFile writes two bytes at a time and then finds the disk full.
type shortFile struct {
	vfs.File
	got []byte
}

func (f *shortFile) Write(b []byte) (int, error) {
	if len(b) <= 2 {
		f.got = append(f.got, b...)
		return len(b), nil
	}
	f.got = append(f.got, b[:2]...)
	return 2, syscall.ENOSPC
}

func TestAWriteGoesOnWhereSpaceRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSick(nil, 0)
		s.Waits.Store(true)
		short := new(shortFile)
		n, err := (patientFile{short, s.PatientFS, "file"}).Write([]byte("1234567"))
		expect.That(t, n == 7 && err == nil && string(short.got) == "1234567", "got %d, %v, %q", n, err, short.got)
	})
}

func TestEveryChangingOperationWaitsForSpaceAndForDescriptors(t *testing.T) {
	for name, c := range map[string]struct {
		kind errorfs.OpKind
		do   func(fs vfs.FS) error
	}{
		"create":  {errorfs.OpCreate, func(fs vfs.FS) error { return closed(fs.Create("/new", "")) }},
		"open rw": {errorfs.OpOpen, func(fs vfs.FS) error { return closed(fs.OpenReadWrite("/old", "")) }},
		"reuse":   {errorfs.OpRename, func(fs vfs.FS) error { return closed(fs.ReuseForWrite("/old", "/reused", "")) }},
		"dir":     {errorfs.OpOpenDir, func(fs vfs.FS) error { return closed(fs.OpenDir("/")) }},
		"link":    {errorfs.OpLink, func(fs vfs.FS) error { return fs.Link("/old", "/linked") }},
		"rename":  {errorfs.OpRename, func(fs vfs.FS) error { return fs.Rename("/old", "/renamed") }},
		"mkdir":   {errorfs.OpMkdirAll, func(fs vfs.FS) error { return fs.MkdirAll("/dir", 0o700) }},
	} {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE} {
			t.Run(name+" "+errno.Error(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSick(errno, 3)
					expect.OK(t, closed(s.Create("/old", "")))
					s.Waits.Store(true)
					s.kinds = []errorfs.OpKind{c.kind}
					err := c.do(s)
					expect.That(t, err == nil && s.attempts == 4, "got %v after %d attempts", err, s.attempts)
				})
			})
		}
	}
}

func closed(f vfs.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

func TestWhileOpeningAnOperationIsTriedTwice(t *testing.T) {
	s := newSick(syscall.ENOSPC, -1, errorfs.OpCreate)
	err := closed(s.Create("/a", ""))
	expect.That(t, errors.Is(err, syscall.ENOSPC) && s.attempts == 2 && s.wasFull == 2, "got %v after %d attempts, %d times full", err, s.attempts, s.wasFull)
}

func TestOnlyOperationsInTheStoresFolderWait(t *testing.T) {
	for _, c := range []struct {
		dir, name string
		want      bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b", "/a/b/db/1.log", true}, {"/a/b", "/a/bc", false}, {"/a/b", "/a", false}, {"/a/b", "/c", false},
		{"./b", "b/db/1.log", true}, {".", "db/1.log", true}, {"b", "../b/1.log", false}, {"b", "c", false}, {"b/", "b/..c", true},
	} {
		expect.Equal(t, (&PatientFS{Dir: c.dir}).concerns(c.name), c.want, "%s in %s", c.name, c.dir)
	}
	s := newSick(syscall.ENOSPC, -1, errorfs.OpCreate)
	s.Dir = "/store"
	s.Waits.Store(true)
	err := closed(s.Create("/backup", ""))
	expect.That(t, errors.Is(err, syscall.ENOSPC) && s.attempts == 1 && s.wasFull == 0, "got %v after %d attempts, %d times full", err, s.attempts, s.wasFull)
}

func TestOtherErrorsAndFailedSyncsAreNotTriedAgain(t *testing.T) {
	s := newSick(syscall.EIO, -1, errorfs.OpCreate)
	s.Waits.Store(true)
	if err := closed(s.Create("/a", "")); !errors.Is(err, syscall.EIO) || s.attempts != 1 {
		t.Errorf("create: got %v after %d attempts", err, s.attempts)
	}
	s = newSick(syscall.ENOSPC, -1, errorfs.OpFileSync)
	s.Waits.Store(true)
	f, err := s.Create("/a", "")
	expect.OK(t, err)
	err = f.Sync()
	expect.That(t, errors.Is(err, syscall.ENOSPC) && s.attempts == 1, "sync: got %v after %d attempts", err, s.attempts)
}

func TestAReaderWaitsForADescriptorForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSick(syscall.EMFILE, 5, errorfs.OpOpen)
		s.Waits.Store(true)
		expect.OK(t, closed(s.Create("/a", "")))
		expect.NoError(t, closed(s.Open("/a")))
		s.left = -1
		start := time.Now()
		err := closed(s.Open("/a"))
		expect.That(t, errors.Is(err, syscall.EMFILE) && time.Since(start) <= 2*readPatience, "got %v after %v", err, time.Since(start))
	})
}

// fatal makes s record the lines that would end the process.
func (s *sick) fatal() (said *[]string) {
	said = new([]string)
	s.PatientFS.Fatal = func(format string, args ...any) { *said = append(*said, fmt.Sprintf(format, args...)) }
	return said
}

func TestErrorsThatMakePebblePanicEndTheProcessCleanly(t *testing.T) {
	for name, c := range map[string]struct {
		kind    errorfs.OpKind
		do      func(fs vfs.FS) error
		endsNow bool // before the store is open too
		goesOn  bool // while it is open too
	}{
		"a log is created":          {kind: errorfs.OpCreate, do: func(fs vfs.FS) error { return create(fs, "/db/000001.log") }},
		"a log is synced":           {kind: errorfs.OpFileSync, do: func(fs vfs.FS) error { return create(fs, "/db/000001.log") }},
		"a log is written":          {kind: errorfs.OpFileWrite, do: func(fs vfs.FS) error { return create(fs, "/db/000001.log") }},
		"Pebble's folder is synced": {kind: errorfs.OpFileSync, do: func(fs vfs.FS) error { return syncDir(fs, "/db") }, endsNow: true},
		"a table is written":        {kind: errorfs.OpFileWrite, do: func(fs vfs.FS) error { return create(fs, "/db/000001.sst") }, goesOn: true},
		"our own folder is synced":  {kind: errorfs.OpFileSync, do: func(fs vfs.FS) error { return syncDir(fs, "/") }, goesOn: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []bool{false, true} {
				s := newSick(syscall.EIO, -1, c.kind)
				said := s.fatal()
				expect.OK(t, s.MkdirAll("/db", 0o700))
				s.Waits.Store(open)
				expect.Error(t, c.do(s.PatientFS), syscall.EIO)
				if want := !c.goesOn && (open || c.endsNow); len(*said) > 0 != want {
					t.Errorf("open %v: ends the process: %q, want %v", open, *said, want)
				}
			}
		})
	}
}

func create(fs vfs.FS, name string) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("some"))
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(fs vfs.FS, name string) error {
	d, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func TestABackupEndsWithItsContext(t *testing.T) {
	s := newSick(nil, 0)
	s.Dir = "/store"
	ctx, cancel := context.WithCancel(t.Context())
	s.PatientFS.Backup.Store(&ctx)
	f, err := s.Create("/backup", "")
	expect.OK(t, err)
	expect.OK(t, expect.Err(f.Write([]byte("a"))))
	cancel()
	expect.Error(t, expect.Err(f.Write([]byte("b"))), context.Canceled, "write")
	expect.Error(t, closed(s.Create("/backup2", "")), context.Canceled, "create")
	s.Waits.Store(true)
	expect.NoError(t, s.MkdirAll("/store", 0o700))
	expect.NoError(t, closed(s.Create("/store/a", "")), "in the store")
}
