package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// retryPause is the time after which an operation that found no space or descriptor is tried
	// again.
	retryPause = 50 * time.Millisecond

	// logSuffix ends the names of Pebble's write-ahead logs.
	logSuffix = ".log"

	// markerPrefix begins the names of Pebble's markers.
	markerPrefix = "marker."

	// readPatience bounds the time that a read waits for a descriptor, because a caller waits for
	// its answer.
	readPatience = 2 * time.Second
)

// Pebble ends the process when its log cannot be written. So PatientFS turns a full disk, or a lack
// of file descriptors, into a stall: an operation that changes something waits and is tried again
// until it succeeds. Pebble does not learn of a stall. The writers of links wait for a commit no
// longer than their timeout.
//
// A failed fsync is not tried again, since the success of a second one would not mean that the data
// of the first is safe. After some errors Pebble panics, which would print a stack and no clear
// line. In those cases PatientFS ends the process first, by fatal: when the log fails while the
// store is open, and when a sync of the folder fails.
type PatientFS struct {
	vfs.FS
	Dir   string                           // operations in it wait; a backup is elsewhere, and its operations fail
	Full  func()                           // called when there is no space; it may free some
	Fatal func(format string, args ...any) // ends the process

	Waits atomic.Bool // if false, an operation is tried once more and then fails

	Backup atomic.Pointer[context.Context] // of the backup under way: after it ends, operations elsewhere fail
}

func (p *PatientFS) Unwrap() vfs.FS { return p.FS }

// concerns reports whether a file is in the store's folder. A backup is elsewhere, possibly on
// another disk.
func (p *PatientFS) concerns(name string) bool {
	rest, err := filepath.Rel(p.Dir, name)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

// insist repeats an operation that changes something until it does not fail for lack of space or
// descriptors.
func (p *PatientFS) insist(name string, do func() error) error {
	for attempt := 0; ; attempt++ {
		err := do()
		switch {
		case err == nil || !p.concerns(name):
			return err
		case WantsSpace(err):
			p.Full()
		case !wantsDescriptor(err):
			return err
		}
		if !p.Waits.Load() && attempt > 0 {
			return err
		}
		time.Sleep(retryPause)
	}
}

// WantsSpace reports whether an error says that there is no space.
func WantsSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func wantsDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// file opens a file with insist and makes it patient.
func (p *PatientFS) file(name string, open func() (vfs.File, error)) (f vfs.File, err error) {
	if !p.concerns(name) {
		if err := p.ended(); err != nil {
			return nil, err
		}
		if f, err = open(); err != nil {
			return nil, err
		}
		return foreignFile{f, p}, nil
	}
	err = p.insist(name, func() (err error) {
		f, err = open()
		return err
	})
	if err = p.logged(name, err); err != nil {
		return nil, err
	}
	patient := patientFile{f, p, name}
	if strings.HasSuffix(name, logSuffix) {
		return &logFile{patientFile: patient}, nil
	}
	return patient, nil
}

// ended returns the reason why the backup under way must end, or nil.
func (p *PatientFS) ended() error {
	if ctx := p.Backup.Load(); ctx != nil {
		return (*ctx).Err()
	}
	return nil
}

// foreignFile is a file of a backup.
type foreignFile struct {
	vfs.File
	fs *PatientFS
}

// Write implements vfs.File.
func (f foreignFile) Write(b []byte) (int, error) {
	if err := f.fs.ended(); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

// logged returns err. But if err is an error of the log while the store is open, it ends the
// process.
func (p *PatientFS) logged(name string, err error) error {
	if err != nil && strings.HasSuffix(name, logSuffix) && p.Waits.Load() {
		p.Fatal("the log fails: %v", err)
	}
	return err
}

// Lock implements vfs.FS.
func (p *PatientFS) Lock(name string) (io.Closer, error) {
	lock := func() (io.Closer, error) { return p.FS.Lock(name) }
	if _, reads := p.FS.(OnlyRead); reads || vfs.Root(p) != vfs.Default {
		return lock()
	}
	return lockHere(name, lock)
}

// Create implements vfs.FS. A marker file of Pebble names the manifest in use, so after a power cut
// the manifest must exist if the marker does. Most file systems preserve the order in which names
// are made in a folder, but none must, so Create syncs the folder before it makes a marker.
func (p *PatientFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(p.PathBase(name), markerPrefix) {
		if err := p.syncDir(p.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return p.file(name, func() (vfs.File, error) { return p.FS.Create(name, category) })
}

// OpenReadWrite implements vfs.FS.
func (p *PatientFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.OpenReadWrite(name, category, o...) })
}

// ReuseForWrite implements vfs.FS. When the opening fails, the renaming may already have happened,
// so the whole operation is not tried again.
func (p *PatientFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := p.logged(newname, p.Rename(oldname, newname)); err != nil {
		return nil, err
	}
	return p.OpenReadWrite(newname, category)
}

// OpenDir implements vfs.FS. Folders are opened to be synced.
func (p *PatientFS) OpenDir(name string) (vfs.File, error) {
	f, err := p.file(name, func() (vfs.File, error) { return p.FS.OpenDir(name) })
	if err != nil || !p.concerns(name) {
		return f, err
	}
	return patientDir{f, p, name}, nil
}

func (p *PatientFS) syncDir(name string) error {
	dir, err := p.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Open implements vfs.FS.
func (p *PatientFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	for start := time.Now(); ; time.Sleep(retryPause) {
		f, err := p.FS.Open(name, o...)
		if !wantsDescriptor(err) || !p.Waits.Load() || time.Since(start) > readPatience {
			return f, err
		}
	}
}

// Link implements vfs.FS.
func (p *PatientFS) Link(oldname, newname string) error {
	return p.insist(newname, func() error { return p.FS.Link(oldname, newname) })
}

// Rename implements vfs.FS.
func (p *PatientFS) Rename(oldname, newname string) error {
	return p.insist(newname, func() error { return p.FS.Rename(oldname, newname) })
}

// MkdirAll implements vfs.FS. A backup is as secret as the store.
func (p *PatientFS) MkdirAll(dir string, mode os.FileMode) error {
	if !p.concerns(dir) {
		mode = FolderMode
	}
	return p.insist(dir, func() error { return p.FS.MkdirAll(dir, mode) })
}

// patientFile is a file opened by a PatientFS.
type patientFile struct {
	vfs.File
	fs   *PatientFS
	name string
}

// Write writes all of b. It does not repeat the part that was written before space ran out.
func (f patientFile) Write(b []byte) (n int, err error) {
	err = f.fs.insist(f.fs.Dir, func() error {
		written, err := f.File.Write(b[n:])
		n += written
		return err
	})
	return n, f.fs.logged(f.name, err)
}

// WriteAt implements vfs.File.
func (f patientFile) WriteAt(b []byte, offset int64) (n int, err error) {
	err = f.fs.insist(f.fs.Dir, func() error {
		written, err := f.File.WriteAt(b[n:], offset+int64(n))
		n += written
		return err
	})
	return n, f.fs.logged(f.name, err)
}

// Sync implements vfs.File.
func (f patientFile) Sync() error { return f.fs.logged(f.name, f.File.Sync()) }

// SyncData implements vfs.File.
func (f patientFile) SyncData() error { return f.fs.logged(f.name, f.File.SyncData()) }

// SyncTo implements vfs.File.
func (f patientFile) SyncTo(length int64) (fullSync bool, err error) {
	fullSync, err = f.File.SyncTo(length)
	return fullSync, f.fs.logged(f.name, err)
}

// Stat implements vfs.File. Pebble asks for the size of a log that it reuses.
func (f patientFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	return info, f.fs.logged(f.name, err)
}

// Close implements vfs.File.
func (f patientFile) Close() error { return f.fs.logged(f.name, f.File.Close()) }

// LogStepBytes is by how much a log grows at a time.
const LogStepBytes = 4 << 20

// logFile is a log, for which Pebble would reserve 110 % of a memtable at once: 141 MB in a new store. It
// reserves the next step instead, before something is written into it.
type logFile struct {
	patientFile
	written, reserved int64
}

// Preallocate implements vfs.File.
func (f *logFile) Preallocate(int64, int64) error { return nil }

// Write implements vfs.File.
func (f *logFile) Write(b []byte) (n int, err error) {
	for f.written+int64(len(b)) > f.reserved {
		_ = f.File.Preallocate(f.reserved, LogStepBytes) // if there is no room, Write says so
		f.reserved += LogStepBytes
	}
	n, err = f.patientFile.Write(b)
	f.written += int64(n)
	return n, err
}

// patientDir is a folder that is opened to be synced.
type patientDir struct {
	vfs.File
	fs   *PatientFS
	name string
}

// Sync implements vfs.File. If a renaming cannot be synced, the file may exist or not, and Pebble
// cannot continue.
func (d patientDir) Sync() error {
	err := d.File.Sync()
	if err != nil && d.fs.PathBase(d.name) == DBName {
		d.fs.Fatal("syncing a folder: %v", err)
	}
	return err
}
