package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

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
	result, err := s.backup(ctx, &folder{fs: s.writableFS(), dir: dir})
	if err != nil {
		return BackupResult{}, fmt.Errorf("storage: backup: %w", err)
	}
	return result, nil
}

// Outside returns ErrInside if dir is inside the store's folder or contains it.
func (s *Store) Outside(dir string) error {
	if err := apart(s.folder.fs, dir, s.folder.dir); err != nil {
		return fmt.Errorf("storage: backup: %w", err)
	}
	return nil
}

// BackupToStream is Backup into StreamFolder, whose table files are always hard links. The caller
// sends the files and then calls RemoveStream. Of a store that is ReadOnly the folder is a temporary one
// elsewhere, and its table files are symbolic links. What an earlier call left is replaced, so only one
// caller may be at it at a time.
func (s *Store) BackupToStream(ctx context.Context) (BackupResult, error) {
	to := &folder{fs: s.writableFS(), dir: StreamFolder(s.folder.fs, s.folder.dir)}
	err := s.RemoveStream()
	if err == nil && s.reads != nil {
		to.dir, err = s.makeStream()
	}
	if err != nil {
		return BackupResult{}, err
	}
	result, err := s.backup(ctx, to)
	if err != nil {
		return BackupResult{}, errors.Join(fmt.Errorf("storage: backup: %w", err), s.RemoveStream())
	}
	return result, nil
}

// LinksToStream is BackupToStream of what an edge of the cluster may have, and no more: the links and
// what distinguishes the store, at one position of the cluster's log. The store that Restore makes of it
// is that of an edge, for good.
//
// The rows are copied into a new database, so it needs room for them for as long as it is sent.
// Rejected: a checkpoint from which the other rows are deleted, because their bytes stay in its files.
func (s *Store) LinksToStream(ctx context.Context) (BackupResult, error) {
	to := &folder{fs: s.folder.fs, dir: StreamFolder(s.folder.fs, s.folder.dir)}
	if !s.shared.exists || s.shared.edge {
		return BackupResult{}, errors.New("storage: only a full node of a cluster has links for an edge")
	}
	if !s.backups.TryLock() {
		return BackupResult{}, ErrBackupRuns
	}
	defer s.backups.Unlock()
	s.fs.backup.Store(&ctx)
	defer s.fs.backup.Store(nil)
	err := s.RemoveStream()
	if err == nil {
		err = to.makeFor(formatBackupName, backupPrefix, row.LayoutVersion)
	}
	if err == nil {
		err = s.copyLinks(ctx, to)
	}
	if err == nil {
		err = to.end(formatBackupName)
	}
	if err != nil {
		return BackupResult{}, errors.Join(fmt.Errorf("storage: copying links: %w", err), s.RemoveStream())
	}
	return to.measure()
}

// copyLinks makes a database that has the rows of an edge.
func (s *Store) copyLinks(ctx context.Context, to *folder) (err error) {
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	options := pebbleOptions(to.fs, &Options{Logger: slog.New(slog.DiscardHandler)}, nil, true)
	options.DisableWAL = true // nobody takes half a copy
	db, err := to.openDB(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(), to.syncDir(to.path(dbName))) }()
	b := db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, name := range []byte{row.MetaLayout, row.MetaStoreID, row.MetaVisitorKey, row.MetaNode, row.MetaIDBound, row.MetaLog} {
		value, err := read(snapshot, row.MetaKey(name))
		if err != nil {
			return err
		}
		set(b, row.MetaKey(name), value)
	}
	set(b, row.MetaKey(row.MetaEdge), []byte{1})
	set(b, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, newOutbox()))
	merge(b, row.MetaKey(row.MetaSequence), row.AppendSequence(nil, row.Sequence{Count: 1, Last: 1}))
	for _, table := range []byte{row.TableHot, row.TableCold, row.TableCaps} {
		if err := s.copyTable(ctx, snapshot, table, b, db); err != nil {
			return err
		}
	}
	if err := db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	return db.Flush() // its tables are synced
}

// copyTable puts what an edge keeps of a table into b, and b into db whenever it is large.
func (s *Store) copyTable(ctx context.Context, from pebble.Reader, table byte, b *pebble.Batch, db *pebble.DB) (err error) {
	keys := row.TableRange(table)
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if table == row.TableCold {
			if value, err = row.ColdOfEdge(value); err != nil {
				return fmt.Errorf("row %x: %w", it.Key(), err)
			}
		}
		if set(b, it.Key(), value); b.Len() < copyChunkBytes {
			continue
		}
		if err := errors.Join(ctx.Err(), s.space.check(), db.Apply(b, pebble.NoSync)); err != nil {
			return err
		}
		b.Reset()
	}
	return it.Error()
}

// RemoveStream removes StreamFolder, if there is one.
func (s *Store) RemoveStream() error {
	if s.reads != nil {
		return s.removeStream()
	}
	return removeStream(s.folder)
}

func removeStream(of *folder) error {
	if err := of.fs.RemoveAll(of.path(streamName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storage: removing the copy for a stream: %w", err)
	}
	return nil
}

// StreamFolder is the folder, inside the data folder dir, of a backup that is sent as a stream or
// was received as one. It is inside so that it is on the same file system and needs no other folder
// that may be written to. Open removes what a killed process left there.
func StreamFolder(fs vfs.FS, dir string) string {
	return (&folder{fs: cmp.Or(fs, vfs.Default), dir: dir}).path(streamName)
}

func (s *Store) backup(ctx context.Context, to *folder) (BackupResult, error) {
	if !s.backups.TryLock() {
		return BackupResult{}, ErrBackupRuns
	}
	defer s.backups.Unlock()
	s.fs.backup.Store(&ctx)
	defer s.fs.backup.Store(nil)
	if err := to.wantEmpty(); err != nil {
		return BackupResult{}, err
	}
	if to.dir != s.folder.path(streamName) && to.dir != s.stream {
		if err := apart(to.fs, to.dir, s.folder.dir); err != nil {
			return BackupResult{}, err
		}
	}
	err := to.makeFor(formatBackupName, backupPrefix, row.LayoutVersion)
	if err == nil {
		err = s.fill(ctx, to)
	}
	if err != nil {
		return BackupResult{}, errors.Join(err, to.removeBackup())
	}
	return to.measure()
}

// fill makes the checkpoint, checks that it opens, and gives the folder the name of a backup.
func (s *Store) fill(ctx context.Context, to *folder) error {
	durable := s.writer.lastDurable()
	if s.reads != nil {
		if err := s.copyUnused(ctx, to); err != nil {
			return err
		}
	} else if err := s.db.Checkpoint(to.path(dbName), pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("making a checkpoint: %w", err)
	}
	if err := errors.Join(ctx.Err(), to.syncDir(to.path(dbName)), to.syncDir(to.dir)); err != nil {
		return err
	}
	if err := s.verify(to, durable); err != nil {
		return fmt.Errorf("looking at what was made: %w", err)
	}
	return to.end(formatBackupName)
}

// verify opens a checkpoint read-only and checks that it contains what was durable before it was
// made.
func (s *Store) verify(to *folder, durable uint64) (err error) {
	options := pebbleOptions(onlyRead{to.fs}, &Options{Logger: slog.New(slog.DiscardHandler)}, nil, false)
	options.ReadOnly = true
	db, err := to.openDB(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	contained, err := readSequence(db)
	if err != nil {
		return err
	}
	return checkWhole(contained, durable)
}

// IsBackup returns nil if dir holds a whole backup. It reads the format file only. Errors: those of
// Restore about its source.
func IsBackup(dir string) error {
	_, err := (&folder{fs: vfs.Default, dir: dir}).wantBackup()
	return err
}

// wantEmpty refuses a folder that exists and is not empty.
func (f *folder) wantEmpty() error {
	names, err := f.list(f.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != "lost+found" { // of a fresh file system
			return fmt.Errorf("%w: %q in %s", ErrNotEmpty, name, f.dir)
		}
	}
	return nil
}

// makeFor makes the folder durably, with the file that says which operation is under way in it.
func (f *folder) makeFor(name, prefix string, version uint32) error {
	if err := f.makeDir(f.dir); err != nil {
		return err
	}
	return f.writeFormat(name, prefix, version)
}

// removeBackup removes the files of a backup. The file that marks the folder as a backup is removed
// last.
func (f *folder) removeBackup() error {
	var errs []error
	for _, name := range []string{formatName, dbName, formatTmpName, formatBackupName} {
		if err := f.fs.RemoveAll(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing what was made: %w", err))
		}
	}
	return errors.Join(errs...)
}

// measure counts the files of a backup.
func (f *folder) measure() (BackupResult, error) {
	result := BackupResult{Dir: f.dir, Files: 1}
	names, err := f.list(f.path(dbName))
	if err != nil {
		return BackupResult{}, err
	}
	for _, name := range names {
		info, err := f.fs.Stat(f.fs.PathJoin(f.path(dbName), name))
		if err != nil {
			return BackupResult{}, fmt.Errorf("looking at the files that were made: %w", err)
		}
		result.Files++
		result.Bytes += uint64(info.Size())
	}
	return result, nil
}

// apart returns an error if one of two folders is inside the other. It follows symbolic links as
// far as the paths exist.
func apart(fs vfs.FS, a, b string) error {
	if vfs.Root(fs) == vfs.Default {
		a, b = realPath(a), realPath(b)
	}
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		inner, outer := pair[0], pair[1]
		rel, err := filepath.Rel(outer, inner)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return fmt.Errorf("%w: %s in %s", ErrInside, inner, outer)
		}
	}
	return nil
}

// realPath returns path as an absolute path without symbolic links.
func realPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for rest := ""; ; {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if path == filepath.Dir(path) {
			return filepath.Join(path, rest)
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}
