package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"shunt/engine"
	"shunt/storage/row"
)

// Inspection is a read-only store at one moment: a store that is not in use, a backup, or a
// snapshot of an open store.
type Inspection struct {
	fs     vfs.FS
	folder *folder
	db     *pebble.DB
	r      pebble.Reader // db itself, or a snapshot of it
	backup bool
	live   bool // a snapshot of a Store in use
	close  func() error
}

// Inspect opens the store or the backup in dir without changing a byte of it. Errors: those of
// Open.
func Inspect(dir string, o Options) (*Inspection, error) {
	o = o.withDefaults()
	v, err := inspectFolder(&folder{fs: onlyRead{o.FS}, dir: dir}, &o)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return v, nil
}

func inspectFolder(f *folder, options *Options) (*Inspection, error) {
	state, err := f.inspect()
	backup := errors.Is(err, ErrBackup)
	switch {
	case backup:
		if _, _, err := f.readFormat(formatName); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case state != stored:
		return nil, fmt.Errorf("%w in %s", ErrNoStore, f.dir)
	}
	lock, err := f.lock()
	if err != nil {
		return nil, err
	}
	o := pebbleOptions(f.fs, options, lock, false)
	o.ReadOnly, o.DisableTableStats = true, true
	// The reader reports damage; by default it ends the process.
	o.EventListener = &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}}
	cache := newBlockCache(options)
	defer cache.close() // db holds a reference of its own
	cache.use(o)
	db, err := pebble.Open(f.path(dbName), o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", pebbleError{err}), lock.Close())
	}
	cache.opened(db)
	return &Inspection{
		fs: f.fs, folder: f, db: db, r: db, backup: backup,
		close: func() error { return errors.Join(db.Close(), lock.Close()) },
	}, nil
}

// Inspect returns the store at this moment. The inspection must be closed before the store.
func (s *Store) Inspect() *Inspection {
	snapshot := s.db.NewSnapshot()
	return &Inspection{fs: s.folder.fs, folder: s.folder, db: s.db, r: snapshot, live: true, close: snapshot.Close}
}

// Close ends the inspection.
func (v *Inspection) Close() error {
	if err := v.close(); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// Backup reports whether the folder is a backup.
func (v *Inspection) Backup() bool { return v.backup }

// Accounts returns the table of accounts, read-only.
func (v *Inspection) Accounts() *AccountTable { return &AccountTable{r: v.r} }

// Identity returns the store's identity, as far as it can be read.
func (v *Inspection) Identity() (id engine.Identity, err error) {
	for _, field := range []struct {
		name byte
		dst  []byte
	}{{row.MetaStoreID, id.StoreID[:]}, {row.MetaVisitorKey, id.VisitorKey[:]}} {
		value, err := read(v.r, row.MetaKey(field.name))
		if err == nil {
			err = decodeFixed(field.dst, value, "identity")
		}
		if err != nil {
			return engine.Identity{}, fmt.Errorf("storage: %w", err)
		}
	}
	return id, nil
}

// Positions returns the journal's positions.
func (v *Inspection) Positions() (engine.Positions, error) {
	p, err := readPositions(v.r)
	if err != nil {
		return engine.Positions{}, fmt.Errorf("storage: %w", err)
	}
	return p, nil
}

// errReads is the error of writes to a store that is ReadOnly. No command that reads makes one.
var errReads = errors.New("the store is opened for reading")

// newReader is newStore for a store that is ReadOnly.
func newReader(dir string, o *Options) *Store {
	reads := *o
	o.FS = onlyRead{o.FS}
	s := newStore(dir, o)
	s.reads = &reads
	return s
}

// openReadOnly is openFolder for a store that is ReadOnly.
func (s *Store) openReadOnly(f *folder, o *Options) error {
	switch state, err := f.inspect(); {
	case err != nil:
		return err
	case state != stored:
		return fmt.Errorf("%w in %s", ErrNoStore, f.dir)
	}
	var err error
	if s.lock, err = f.lock(); err != nil {
		return err
	}
	options := pebbleOptions(f.fs, o, s.lock, false)
	options.ReadOnly, options.DisableTableStats = true, true
	s.cache.use(options)
	if s.db, err = f.openDB(options); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	s.cache.opened(s.db)
	s.initParts(o)
	if s.lost, err = f.missing(s.db, o); err == nil {
		err = s.start()
	}
	contained, readErr := readSequence(s.db)
	if err = errors.Join(err, readErr); err != nil {
		return errors.Join(err, s.flusher.batch.Close(), s.pulls.batch.Close(), s.db.Close(), s.lock.Close())
	}
	s.writer.raise(contained.Last)
	return nil
}

// writableFS is the file system for what is outside of the store's folder.
func (s *Store) writableFS() vfs.FS {
	if s.reads != nil {
		return s.reads.FS
	}
	return s.folder.fs
}

// makeStream makes the folder of BackupToStream for a store that is ReadOnly.
func (s *Store) makeStream() (dir string, err error) {
	s.stream, err = os.MkdirTemp("", "shunt-backup-")
	return s.stream, err
}

func (s *Store) removeStream() error {
	if s.stream == "" {
		return nil
	}
	dir := s.stream
	s.stream = ""
	return os.RemoveAll(dir)
}

// copyUnused makes the database of a backup from that of a store that is ReadOnly, and folds the
// rows of Options.Fold into it. Tables never change, so the copy links to them: by hard links where that is possible, and by
// symbolic ones in the folder of BackupToStream, which may be on another disk. It needs no Pebble that
// may write, as a checkpoint does.
func (s *Store) copyUnused(ctx context.Context, to *folder) error {
	names, err := s.folder.list(s.folder.path(dbName))
	if err != nil {
		return err
	}
	if err := to.fs.MkdirAll(to.path(dbName), folderMode); err != nil {
		return err
	}
	for _, name := range names {
		if name == lockName || strings.HasSuffix(name, tableSuffix) && s.linkTable(to, name) == nil {
			continue
		}
		if err := errors.Join(ctx.Err(), copyFile(ctx, s.folder, to, name, func(int64) {})); err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
	}
	if err := s.fold(to); err != nil {
		return fmt.Errorf("adding the hits of the journal: %w", err)
	}
	return nil
}

const tableSuffix = ".sst"

func (s *Store) linkTable(to *folder, name string) error {
	source, target := s.folder.fs.PathJoin(s.folder.path(dbName), name), to.fs.PathJoin(to.path(dbName), name)
	if to.dir != s.stream {
		return to.fs.Link(source, target)
	}
	source, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	return os.Symlink(source, target)
}

// fold opens the copy in to and has Options.Fold change it.
func (s *Store) fold(to *folder) (err error) {
	if s.reads.Fold == nil {
		return nil
	}
	o := *s.reads
	o.FS, o.ReadOnly = lockless{o.FS}, false
	c := newStore(to.dir, &o)
	defer c.cache.close()
	if err := c.space.wantFreeSpace(c.folder); err != nil {
		return err
	}
	options := pebbleOptions(c.fs, &o, nil, false)
	options.DisableAutomaticCompactions = true
	options.EventListener.BackgroundError = c.backgroundError(o.Logger)
	c.cache.use(options)
	c.opening.Store(true) // to its end: a disk that is full ends the process, and does not hold it for ever
	if c.db, err = c.folder.openDB(options); err != nil {
		return err
	}
	c.initParts(&o)
	defer func() { err = errors.Join(err, c.flusher.batch.Close(), c.pulls.batch.Close(), c.db.Close()) }()
	contained, err := readSequence(c.db)
	if err != nil {
		return err
	}
	c.writer.mu.last = max(contained.Last, s.lost)
	c.writer.raise(c.writer.mu.last)
	if err := c.start(); err != nil {
		return err
	}
	return s.reads.Fold(c)
}

// onlyRead is a file system on which nothing can be changed. Its lock is shared, and is taken on a
// file that is opened for reading, so that it needs no permission to write and changes no time of the
// file. A backup has no lock file and may be on a read-only disk: without one, no process has ever opened the
// database.
type onlyRead struct{ vfs.FS }

func (o onlyRead) Unwrap() vfs.FS { return o.FS }

func (o onlyRead) Lock(name string) (io.Closer, error) {
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

// lockedHere has the paths of the locks that this process holds. Such a lock (fcntl) does not keep a
// process from itself, and is lost when the process closes any descriptor of the file.
var lockedHere struct {
	sync.Mutex
	names map[string]bool
}

// lockHere calls lock, unless this process holds the lock already.
func lockHere(name string, lock func() (io.Closer, error)) (io.Closer, error) {
	lockedHere.Lock()
	defer lockedHere.Unlock()
	if lockedHere.names[name] {
		return nil, errors.New("lock held by this process")
	}
	c, err := lock()
	if err != nil {
		return nil, err
	}
	if lockedHere.names == nil {
		lockedHere.names = map[string]bool{}
	}
	lockedHere.names[name] = true
	return hereLock{c, name}, nil
}

type hereLock struct {
	io.Closer
	name string
}

func (l hereLock) Close() error {
	lockedHere.Lock()
	defer lockedHere.Unlock()
	delete(lockedHere.names, l.name)
	return l.Closer.Close()
}

// The methods that would change something.

func (onlyRead) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("create", name)
}

func (onlyRead) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, refused("open", name)
}

func (onlyRead) ReuseForWrite(_, name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, refused("rename", name)
}

func (onlyRead) Link(_, name string) error                 { return refused("link", name) }
func (onlyRead) Remove(name string) error                  { return refused("remove", name) }
func (onlyRead) RemoveAll(name string) error               { return refused("remove", name) }
func (onlyRead) Rename(_, name string) error               { return refused("rename", name) }
func (onlyRead) MkdirAll(name string, _ fs.FileMode) error { return refused("mkdir", name) }

func refused(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS} }

// lockless is a file system without locks, for the copy of a database that nobody else knows.
type lockless struct{ vfs.FS }

func (l lockless) Unwrap() vfs.FS { return l.FS }

func (lockless) Lock(string) (io.Closer, error) { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }
