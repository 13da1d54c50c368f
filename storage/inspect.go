package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

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

// onlyRead is a file system on which taking the lock creates no file, because a backup has no lock
// file and may be on a read-only disk. Without a lock file, no process has ever opened the
// database.
type onlyRead struct{ vfs.FS }

func (o onlyRead) Lock(name string) (io.Closer, error) {
	if _, err := o.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return noLock{}, nil
	}
	return o.FS.Lock(name)
}

type noLock struct{}

func (noLock) Close() error { return nil }
