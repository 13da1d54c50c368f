package disk

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// OnlyRead is a file system on which nothing can be changed. Its lock is shared, and is taken on a
// file that is opened for reading, so that it needs no permission to write and changes no time of the
// file. A backup has no lock file and may be on a read-only disk: without one, no process has ever opened the
// database.
type OnlyRead struct{ vfs.FS }

func (o OnlyRead) Unwrap() vfs.FS { return o.FS }

func (o OnlyRead) Lock(name string) (io.Closer, error) {
	if _, err := o.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return noLock{}, nil
	}
	if vfs.Root(o) != vfs.Default { // in memory, for tests
		return o.FS.Lock(name)
	}
	return lockHere(name, func() (io.Closer, error) {
		file, err := o.FS.Open(name)
		if err != nil {
			return nil, err
		}
		spec := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
		if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &spec); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return file, nil
	})
}

// The methods that would change something.

func (OnlyRead) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("create", name)
}

func (OnlyRead) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, refused("open", name)
}

func (OnlyRead) ReuseForWrite(_, name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("rename", name)
}

func (OnlyRead) Link(_, name string) error { return refused("link", name) }

func (OnlyRead) Remove(name string) error { return refused("remove", name) }

func (OnlyRead) RemoveAll(name string) error { return refused("remove", name) }

func (OnlyRead) Rename(_, name string) error { return refused("rename", name) }

func (OnlyRead) MkdirAll(name string, _ fs.FileMode) error { return refused("mkdir", name) }

func refused(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS} }
