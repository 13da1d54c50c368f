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
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if n, err := f.Write([]byte("whole")); n != 5 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if took := time.Since(start); took != 100*retryPause || s.wasFull != 100 {
			t.Errorf("it took %v, and %d times the disk was full", took, s.wasFull)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		wantContent(t, s, "/a", "whole")
	})
}

func wantContent(t *testing.T, s *sick, name, want string) {
	t.Helper()
	f, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); string(got) != want || err != nil {
		t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
	}
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
		if n, err := (patientFile{short, s.PatientFS, "file"}).Write([]byte("1234567")); n != 7 || err != nil || string(short.got) != "1234567" {
			t.Errorf("got %d, %v, %q", n, err, short.got)
		}
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
					if err := closed(s.Create("/old", "")); err != nil {
						t.Fatal(err)
					}
					s.Waits.Store(true)
					s.kinds = []errorfs.OpKind{c.kind}
					if err := c.do(s); err != nil || s.attempts != 4 {
						t.Errorf("got %v after %d attempts", err, s.attempts)
					}
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
	if err := closed(s.Create("/a", "")); !errors.Is(err, syscall.ENOSPC) || s.attempts != 2 || s.wasFull != 2 {
		t.Errorf("got %v after %d attempts, %d times full", err, s.attempts, s.wasFull)
	}
}

func TestOnlyOperationsInTheStoresFolderWait(t *testing.T) {
	for _, c := range []struct {
		dir, name string
		want      bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b", "/a/b/db/1.log", true}, {"/a/b", "/a/bc", false}, {"/a/b", "/a", false}, {"/a/b", "/c", false},
		{"./b", "b/db/1.log", true}, {".", "db/1.log", true}, {"b", "../b/1.log", false}, {"b", "c", false}, {"b/", "b/..c", true},
	} {
		if got := (&PatientFS{Dir: c.dir}).concerns(c.name); got != c.want {
			t.Errorf("%s in %s: got %v", c.name, c.dir, got)
		}
	}
	s := newSick(syscall.ENOSPC, -1, errorfs.OpCreate)
	s.Dir = "/store"
	s.Waits.Store(true)
	if err := closed(s.Create("/backup", "")); !errors.Is(err, syscall.ENOSPC) || s.attempts != 1 || s.wasFull != 0 {
		t.Errorf("got %v after %d attempts, %d times full", err, s.attempts, s.wasFull)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); !errors.Is(err, syscall.ENOSPC) || s.attempts != 1 {
		t.Errorf("sync: got %v after %d attempts", err, s.attempts)
	}
}

func TestAReaderWaitsForADescriptorForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSick(syscall.EMFILE, 5, errorfs.OpOpen)
		s.Waits.Store(true)
		if err := closed(s.Create("/a", "")); err != nil {
			t.Fatal(err)
		}
		if err := closed(s.Open("/a")); err != nil {
			t.Error(err)
		}
		s.left = -1
		start := time.Now()
		if err := closed(s.Open("/a")); !errors.Is(err, syscall.EMFILE) || time.Since(start) > 2*readPatience {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
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
				if err := s.MkdirAll("/db", 0o700); err != nil {
					t.Fatal(err)
				}
				s.Waits.Store(open)
				if err := c.do(s.PatientFS); !errors.Is(err, syscall.EIO) {
					t.Errorf("got %v", err)
				}
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
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := f.Write([]byte("b")); !errors.Is(err, context.Canceled) {
		t.Errorf("write: got %v", err)
	}
	if err := closed(s.Create("/backup2", "")); !errors.Is(err, context.Canceled) {
		t.Errorf("create: got %v", err)
	}
	s.Waits.Store(true)
	if err := s.MkdirAll("/store", 0o700); err != nil {
		t.Error(err)
	}
	if err := closed(s.Create("/store/a", "")); err != nil {
		t.Errorf("in the store: %v", err)
	}
}
