package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/tables"
)

// Inspection is a read-only store at one moment: a store that is not in use, a backup, or a
// snapshot of an open store.
type Inspection struct {
	fs          vfs.FS
	folder      *disk.Folder
	db          *pebble.DB
	r           pebble.Reader // db itself, or a snapshot of it
	backup      bool
	live        bool        // a snapshot of a Store in use
	replication Replication // nil: none is known
	close       func() error
}

// Inspect opens the store or the backup in dir without changing a byte of it. Errors: those of
// Open.
func Inspect(dir string, o Options) (*Inspection, error) {
	o = o.withDefaults()
	v, err := inspectFolder(&disk.Folder{FS: disk.OnlyRead{FS: o.FS}, Dir: dir}, &o)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return v, nil
}

func inspectFolder(f *disk.Folder, options *Options) (*Inspection, error) {
	state, err := f.Inspect()
	backup := errors.Is(err, disk.ErrBackup)
	switch {
	case backup:
		if _, _, err := f.ReadFormat(disk.FormatName); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case state != disk.Stored:
		return nil, fmt.Errorf("%w in %s", disk.ErrNoStore, f.Dir)
	}
	lock, err := f.Lock()
	if err != nil {
		return nil, err
	}
	o := pebbleOptions(f.FS, options, lock, false)
	o.ReadOnly, o.DisableTableStats = true, true
	// The reader reports damage; by default it ends the process.
	o.EventListener = &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}}
	cache := newBlockCache(options)
	defer cache.close() // db holds a reference of its own
	cache.use(o)
	db, err := pebble.Open(f.Path(disk.DBName), o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", kv.PebbleError{Cause: err}), lock.Close())
	}
	cache.opened(db)
	var replication Replication
	if options.Replicate != nil {
		replication = options.Replicate()
	}
	return &Inspection{
		fs: f.FS, folder: f, db: db, r: db, backup: backup, replication: replication,
		close: func() error { return errors.Join(db.Close(), lock.Close()) },
	}, nil
}

// Inspect returns the store at this moment. The inspection must be closed before the store.
func (s *Store) Inspect() *Inspection {
	snapshot := s.db.NewSnapshot()
	return &Inspection{fs: s.folder.FS, folder: s.folder, db: s.db, r: snapshot, live: true, replication: s.replication, close: snapshot.Close}
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

// Reader reads the rows.
func (v *Inspection) Reader() pebble.Reader { return v.r }

// Accounts returns the table of accounts, read-only.
func (v *Inspection) Accounts() *tables.Table { return tables.New(row.TableAccounts, v.r, nil) }

// Domains returns the table of domains, read-only.
func (v *Inspection) Domains() *tables.Table { return tables.New(row.TableDomains, v.r, nil) }

// Certificates returns the table of certificates, read-only.
func (v *Inspection) Certificates() *tables.Table {
	return tables.New(row.TableCertificates, v.r, nil)
}

// Folders returns the table of folders, read-only.
func (v *Inspection) Folders() *tables.Table { return tables.New(row.TableFolders, v.r, nil) }

// ReadRecord returns the record of a link, also of a tombstone: see engine.Store. The error is engine.ErrNotFound if
// there is none.
func (v *Inspection) ReadRecord(k engine.Key) (engine.Record, error) {
	rec, err := links.ReadRecord(v.r, k)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		err = fmt.Errorf("storage: %w", err)
	}
	return rec, err
}

// BaseURL returns the base URL of the last server that ran on the store; empty: none has run.
func (v *Inspection) BaseURL() (string, error) {
	value, err := kv.Read(v.r, row.MetaKey(row.MetaBaseURL))
	if err != nil || value == nil {
		return "", err
	}
	return row.DecodeBaseURL(value)
}

// Identity returns the store's identity, as far as it can be read.
func (v *Inspection) Identity() (id engine.Identity, err error) {
	for _, field := range []struct {
		name byte
		dst  []byte
	}{{row.MetaStoreID, id.StoreID[:]}, {row.MetaVisitorKey, id.VisitorKey[:]}} {
		value, err := kv.Read(v.r, row.MetaKey(field.name))
		if err == nil {
			err = kv.DecodeFixed(field.dst, value, "identity")
		}
		if err != nil {
			return engine.Identity{}, fmt.Errorf("storage: %w", err)
		}
	}
	return id, nil
}

// Positions returns the journal's positions.
func (v *Inspection) Positions() (engine.Positions, error) {
	p, err := hits.ReadPositions(v.r)
	if err != nil {
		return engine.Positions{}, fmt.Errorf("storage: %w", err)
	}
	return p, nil
}

// newReader is newStore for a store that is ReadOnly.
func newReader(dir string, o *Options) *Store {
	reads := *o
	o.FS = disk.OnlyRead{FS: o.FS}
	s := newStore(dir, o)
	s.reads = &reads
	return s
}

// openReadOnly is openFolder for a store that is ReadOnly.
func (s *Store) openReadOnly(f *disk.Folder, o *Options) error {
	switch state, err := f.Inspect(); {
	case err != nil:
		return err
	case state != disk.Stored:
		return fmt.Errorf("%w in %s", disk.ErrNoStore, f.Dir)
	}
	var err error
	if s.lock, err = f.Lock(); err != nil {
		return err
	}
	options := pebbleOptions(f.FS, o, s.lock, false)
	options.ReadOnly, options.DisableTableStats = true, true
	s.cache.use(options)
	if s.db, err = openDB(f, options); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	s.cache.opened(s.db)
	s.initParts(o)
	if s.lost, err = missing(f, s.db, o); err == nil {
		err = s.start()
	}
	contained, readErr := kv.ReadSequence(s.db)
	if err = errors.Join(err, readErr); err != nil {
		return errors.Join(err, s.closeParts(), s.db.Close(), s.lock.Close())
	}
	s.writer.Begin(contained.Last)
	return nil
}

// writableFS is the file system for what is outside of the store's folder.
func (s *Store) writableFS() vfs.FS {
	if s.reads != nil {
		return s.reads.FS
	}
	return s.folder.FS
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
// rows of Options.Fold into it. Tables never change, so the copy links to them: by hard links where that is possible,
// and by symbolic ones in the folder of BackupToStream, which may be on another disk. It needs no Pebble that
// may write, as a checkpoint does.
func (s *Store) copyUnused(ctx context.Context, to *disk.Folder) error {
	names, err := s.folder.List(s.folder.Path(disk.DBName))
	if err != nil {
		return err
	}
	if err := to.FS.MkdirAll(to.Path(disk.DBName), disk.FolderMode); err != nil {
		return err
	}
	for _, name := range names {
		if name == disk.LockName || strings.HasSuffix(name, tableSuffix) && s.linkTable(to, name) == nil {
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

func (s *Store) linkTable(to *disk.Folder, name string) error {
	source, target := s.folder.FS.PathJoin(s.folder.Path(disk.DBName), name), to.FS.PathJoin(to.Path(disk.DBName), name)
	if to.Dir != s.stream {
		return to.FS.Link(source, target)
	}
	source, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	return os.Symlink(source, target)
}

// fold opens the copy in to and has Options.Fold change it.
func (s *Store) fold(to *disk.Folder) (err error) {
	if s.reads.Fold == nil {
		return nil
	}
	o := *s.reads
	o.FS, o.ReadOnly = disk.Lockless{FS: o.FS}, false
	c := newStore(to.Dir, &o)
	defer c.cache.close()
	if err := c.space.wantFreeSpace(c.folder); err != nil {
		return err
	}
	options := pebbleOptions(c.fs, &o, nil, false)
	options.DisableAutomaticCompactions = true
	options.EventListener.BackgroundError = c.backgroundError(o.Logger)
	c.cache.use(options)
	c.opening.Store(true) // to its end: a disk that is full ends the process, and does not hold it for ever
	if c.db, err = openDB(c.folder, options); err != nil {
		return err
	}
	c.initParts(&o)
	defer func() { err = errors.Join(err, c.closeParts(), c.db.Close()) }()
	contained, err := kv.ReadSequence(c.db)
	if err != nil {
		return err
	}
	c.writer.Begin(max(contained.Last, s.lost))
	if err := c.start(); err != nil {
		return err
	}
	return s.reads.Fold(c)
}
