package crashtest

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// faultMode is how an operation fails.
type faultMode string

const (
	notDone   faultMode = "not done"
	done      faultMode = "done, reported failed"
	halfDone  faultMode = "half done"
	noSpace   faultMode = "no space, 3 times"
	noHandles faultMode = "no descriptor, 3 times"
)

var faultModes = []faultMode{notDone, done, halfDone, noSpace, noHandles}

const passingFaults = 3

// faultFS is a file system whose operation number k fails. (Pebble's errorfs can only fail before
// the operation.)
type faultFS struct {
	vfs.FS
	k     int64
	mode  faultMode
	n     atomic.Int64
	fault func(op string) // told of each fault
	skip  func()          // called instead if the mode does not apply to the operation
}

// kind is the resources that an operation needs, and of which it may fail.
type kind struct{ writes, takesSpace, takesHandle bool }

var (
	reading  = kind{}
	changing = kind{}
	linking  = kind{takesSpace: true}
	opening  = kind{takesHandle: true}
	making   = kind{takesSpace: true, takesHandle: true}
	writing  = kind{writes: true, takesSpace: true}
)

func (f *faultFS) applies(k kind) bool {
	switch f.mode {
	case halfDone:
		return k.writes
	case noSpace:
		return k.takesSpace
	case noHandles:
		return k.takesHandle
	}
	return true
}

func (f *faultFS) errno() error {
	switch f.mode {
	case noSpace:
		return syscall.ENOSPC
	case noHandles:
		return syscall.EMFILE
	}
	return syscall.EIO
}

// do runs an operation, or fails it. A passing fault fails several operations from operation k on,
// if they need what has run out.
func (f *faultFS) do(k kind, op, path string, do func() error, half func()) error {
	n := f.n.Add(1)
	passing := f.mode == noSpace || f.mode == noHandles
	switch {
	case f.k == 0 || n < f.k, !passing && n > f.k, passing && n >= f.k+passingFaults:
		return do()
	case !f.applies(k):
		if n == f.k {
			f.skip()
		}
		return do()
	}
	f.fault(op + " " + path)
	err := &os.PathError{Op: op, Path: path, Err: f.errno()}
	switch f.mode {
	case done:
		_ = do()
	case halfDone:
		half()
	}
	return err
}

// open runs an operation that returns a file.
func (f *faultFS) open(k kind, op, path string, open func() (vfs.File, error)) (file vfs.File, err error) {
	err = f.do(k, op, path, func() (err error) {
		file, err = open()
		return err
	}, nil)
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return &faultFile{file, f, path}, nil
}

func (f *faultFS) Unwrap() vfs.FS { return f.FS }

func (f *faultFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(making, "create", name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

func (f *faultFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	return f.open(opening, "open", name, func() (vfs.File, error) { return f.FS.Open(name, o...) })
}

func (f *faultFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.open(making, "open to write", name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, o...) })
}

func (f *faultFS) OpenDir(name string) (vfs.File, error) {
	return f.open(opening, "open folder", name, func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f *faultFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(making, "reuse", to, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, c) })
}

func (f *faultFS) Lock(name string) (lock io.Closer, err error) {
	err = f.do(opening, "lock", name, func() (err error) {
		lock, err = f.FS.Lock(name)
		return err
	}, nil)
	if err != nil && lock != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, err
}

func (f *faultFS) Link(from, to string) error {
	return f.do(linking, "link", to, func() error { return f.FS.Link(from, to) }, nil)
}

func (f *faultFS) Rename(from, to string) error {
	return f.do(linking, "rename", to, func() error { return f.FS.Rename(from, to) }, nil)
}

func (f *faultFS) MkdirAll(dir string, mode os.FileMode) error {
	return f.do(linking, "mkdir", dir, func() error { return f.FS.MkdirAll(dir, mode) }, nil)
}

func (f *faultFS) Remove(name string) error {
	return f.do(changing, "remove", name, func() error { return f.FS.Remove(name) }, nil)
}

func (f *faultFS) RemoveAll(name string) error {
	return f.do(changing, "remove all", name, func() error { return f.FS.RemoveAll(name) }, nil)
}

func (f *faultFS) List(dir string) (names []string, err error) {
	err = f.do(reading, "list", dir, func() (err error) {
		names, err = f.FS.List(dir)
		return err
	}, nil)
	return names, err
}

func (f *faultFS) Stat(name string) (info vfs.FileInfo, err error) {
	err = f.do(reading, "stat", name, func() (err error) {
		info, err = f.FS.Stat(name)
		return err
	}, nil)
	return info, err
}

func (f *faultFS) GetDiskUsage(path string) (usage vfs.DiskUsage, err error) {
	err = f.do(reading, "look at space", path, func() (err error) {
		usage, err = f.FS.GetDiskUsage(path)
		return err
	}, nil)
	return usage, err
}

// faultFile is a file of a faultFS.
type faultFile struct {
	vfs.File
	fs   *faultFS
	path string
}

func (f *faultFile) do(k kind, op string, do func() error, half func()) error {
	return f.fs.do(k, op, f.path, do, half)
}

func (f *faultFile) Close() error {
	closed := false
	err := f.do(changing, "close", func() error {
		closed = true
		return f.File.Close()
	}, nil)
	if !closed { // a descriptor is released whatever close returns
		_ = f.File.Close()
	}
	return err
}

func (f *faultFile) Read(b []byte) (n int, err error) {
	err = f.do(reading, "read", func() (err error) {
		n, err = f.File.Read(b)
		return err
	}, nil)
	return n, err
}

func (f *faultFile) ReadAt(b []byte, at int64) (n int, err error) {
	err = f.do(reading, "read", func() (err error) {
		n, err = f.File.ReadAt(b, at)
		return err
	}, nil)
	return n, err
}

func (f *faultFile) Write(b []byte) (n int, err error) {
	err = f.do(writing, "write", func() (err error) {
		n, err = f.File.Write(b)
		return err
	}, func() { n, _ = f.File.Write(b[:len(b)/2]) })
	return n, err
}

func (f *faultFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.do(writing, "write", func() (err error) {
		n, err = f.File.WriteAt(b, at)
		return err
	}, func() { n, _ = f.File.WriteAt(b[:len(b)/2], at) })
	return n, err
}

func (f *faultFile) Preallocate(at, length int64) error {
	return f.do(changing, "preallocate", func() error { return f.File.Preallocate(at, length) }, nil)
}

func (f *faultFile) Stat() (info vfs.FileInfo, err error) {
	err = f.do(reading, "stat", func() (err error) {
		info, err = f.File.Stat()
		return err
	}, nil)
	return info, err
}

func (f *faultFile) Sync() error { return f.do(changing, "sync", f.File.Sync, nil) }

func (f *faultFile) SyncData() error { return f.do(changing, "sync", f.File.SyncData, nil) }

func (f *faultFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(changing, "sync", func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	}, nil)
	return full, err
}
