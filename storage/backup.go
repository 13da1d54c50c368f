package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A backup is a folder with the layout of a store's:
//
//	DIR/format   "shunt backup, version 1": so Open refuses it, and Restore knows it
//	DIR/db/      a checkpoint of Pebble
//
// While the backup is made, format is named format.backup; it is renamed when everything else is
// durable. A backup has no journal.

// BackupResult describes a backup that Backup made.
type BackupResult struct {
	Dir   string `json:"dir"`
	Bytes uint64 `json:"bytes"` // of all its files, including those that share their blocks with the store's
	Files int    `json:"files"`
}

// Backup makes a backup of the store in dir, an absolute path, while the store stays in use. The
// backup contains everything that was durable before the call, and is the state of the store at one
// moment. It is durable when Backup returns. Table files are hard links if dir is on the same file
// system, and copies otherwise. dir must be absent or empty, and must not be inside the store's
// folder. After an error, the files made in dir are removed. Errors: ErrNotEmpty, ErrInside,
// ErrBackupRuns, those of ctx.
func (s *Store) Backup(ctx context.Context, dir string) (BackupResult, error) {
	result, err := s.backup(ctx, &disk.Folder{FS: s.writableFS(), Dir: dir}, false)
	if err != nil {
		return BackupResult{}, fmt.Errorf("storage: backup: %w", err)
	}
	return result, nil
}

// Outside returns ErrInside if dir is inside the store's folder or contains it.
func (s *Store) Outside(dir string) error {
	if err := disk.Apart(s.folder.FS, dir, s.folder.Dir); err != nil {
		return fmt.Errorf("storage: backup: %w", err)
	}
	return nil
}

// BackupToStream is Backup into a folder of its own inside the store's, whose table files are always hard links. The
// caller sends the files and then calls RemoveStream. Of a store that is ReadOnly the folder is a temporary one
// elsewhere, and its table files are symbolic links; only one may be there at a time.
func (s *Store) BackupToStream(ctx context.Context) (BackupResult, error) {
	to := &disk.Folder{FS: s.writableFS(), Dir: s.nextStream()}
	if s.reads != nil {
		var err error
		if to.Dir, err = s.makeStream(); err != nil {
			return BackupResult{}, err
		}
	}
	result, err := s.backup(ctx, to, true)
	if err != nil {
		return BackupResult{}, errors.Join(fmt.Errorf("storage: backup: %w", err), s.RemoveStream(to.Dir))
	}
	return result, nil
}

// nextStream returns the folder of the next backup that is sent.
func (s *Store) nextStream() string {
	return fmt.Sprintf("%s.%d", disk.StreamFolder(s.folder.FS, s.folder.Dir), s.streams.Add(1))
}

// MakeStream is BackupToStream of a database that fill makes: its rows are copied, so it needs room for them for as
// long as it is sent. fill also gets what it calls now and then: an error ends it.
func (s *Store) MakeStream(ctx context.Context, fill func(db *pebble.DB, more func() error) error) (BackupResult, error) {
	to := &disk.Folder{FS: s.folder.FS, Dir: s.nextStream()}
	if !s.backups.TryLock() {
		return BackupResult{}, ErrBackupRuns
	}
	defer s.backups.Unlock()
	s.fs.Backup.Store(&ctx)
	defer s.fs.Backup.Store(nil)
	err := to.MakeFor(disk.FormatBackupName, disk.BackupPrefix, row.LayoutVersion)
	if err == nil {
		err = s.fillStream(to, func(db *pebble.DB) error {
			return fill(db, func() error { return errors.Join(ctx.Err(), s.space.check()) })
		})
	}
	if err == nil {
		err = to.End(disk.FormatBackupName)
	}
	if err != nil {
		return BackupResult{}, errors.Join(err, s.RemoveStream(to.Dir))
	}
	return measure(to)
}

func (s *Store) fillStream(to *disk.Folder, fill func(db *pebble.DB) error) (err error) {
	options := pebbleOptions(to.FS, &Options{Logger: slog.New(slog.DiscardHandler)}, nil, true)
	options.DisableWAL = true // nobody takes half a copy
	db, err := openDB(to, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(), to.SyncDir(to.Path(disk.DBName))) }()
	if err := fill(db); err != nil {
		return err
	}
	return db.Flush() // its tables are synced
}

// StreamFolder is the folder, inside the data folder dir, of a backup that was received as a stream.
func StreamFolder(fs vfs.FS, dir string) string { return disk.StreamFolder(fs, dir) }

// RemoveStream removes the folder of a backup that BackupToStream or MakeStream made.
func (s *Store) RemoveStream(dir string) error {
	if s.reads != nil {
		return s.removeStream()
	}
	if err := s.folder.FS.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storage: removing the copy for a stream: %w", err)
	}
	return nil
}

// backup makes a backup; inside: in the store's own folder.
func (s *Store) backup(ctx context.Context, to *disk.Folder, inside bool) (BackupResult, error) {
	if !s.backups.TryLock() {
		return BackupResult{}, disk.ErrBackupRuns
	}
	defer s.backups.Unlock()
	s.fs.Backup.Store(&ctx)
	defer s.fs.Backup.Store(nil)
	if err := to.WantEmpty(); err != nil {
		return BackupResult{}, err
	}
	if !inside {
		if err := disk.Apart(to.FS, to.Dir, s.folder.Dir); err != nil {
			return BackupResult{}, err
		}
	}
	err := to.MakeFor(disk.FormatBackupName, disk.BackupPrefix, row.LayoutVersion)
	if err == nil {
		err = s.fill(ctx, to)
	}
	if err != nil {
		return BackupResult{}, errors.Join(err, to.RemoveBackup())
	}
	return measure(to)
}

// fill makes the checkpoint, checks that it opens, and gives the folder the name of a backup.
func (s *Store) fill(ctx context.Context, to *disk.Folder) error {
	durable := s.writer.LastDurable()
	if s.reads != nil {
		if err := s.copyUnused(ctx, to); err != nil {
			return err
		}
	} else if err := s.db.Checkpoint(to.Path(disk.DBName), pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("making a checkpoint: %w", err)
	}
	if err := errors.Join(ctx.Err(), to.SyncDir(to.Path(disk.DBName)), to.SyncDir(to.Dir)); err != nil {
		return err
	}
	if err := s.verify(to, durable); err != nil {
		return fmt.Errorf("looking at what was made: %w", err)
	}
	return to.End(disk.FormatBackupName)
}

// verify opens a checkpoint read-only and checks that it contains what was durable before it was
// made.
func (s *Store) verify(to *disk.Folder, durable uint64) (err error) {
	options := pebbleOptions(disk.OnlyRead{FS: to.FS}, &Options{Logger: slog.New(slog.DiscardHandler)}, nil, false)
	options.ReadOnly = true
	db, err := openDB(to, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	contained, err := kv.ReadSequence(db)
	if err != nil {
		return err
	}
	return kv.CheckWhole(contained, durable)
}

// IsBackup returns nil if dir holds a whole backup. It reads the format file only. Errors: those of
// Restore about its source.
func IsBackup(dir string) error {
	return (&disk.Folder{FS: vfs.Default, Dir: dir}).WantBackup()
}

// measure counts the files of a backup.
func measure(f *disk.Folder) (BackupResult, error) {
	result := BackupResult{Dir: f.Dir, Files: 1}
	names, err := f.List(f.Path(disk.DBName))
	if err != nil {
		return BackupResult{}, err
	}
	for _, name := range names {
		info, err := f.FS.Stat(f.FS.PathJoin(f.Path(disk.DBName), name))
		if err != nil {
			return BackupResult{}, fmt.Errorf("looking at the files that were made: %w", err)
		}
		result.Files++
		result.Bytes += uint64(info.Size())
	}
	return result, nil
}
