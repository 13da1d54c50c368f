package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/disk"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// copyChunkBytes is the number of bytes copied between two checks of the context.
const copyChunkBytes = 1 << 20

// RestoreOptions are the settings of Restore; the zero value of each field is its default.
type RestoreOptions struct {
	Logger    *slog.Logger                    // default: slog.Default()
	FS        vfs.FS                          // default: vfs.Default
	Progress  func(copiedBytes, bytes uint64) // called after each MiB
	Replicate func() Replication              // as in Options
}

// RestoreResult describes a store that Restore made.
type RestoreResult struct {
	Dir   string `json:"dir"`
	Bytes uint64 `json:"bytes"`
	Files int    `json:"files"`
}

// Restore makes a store in dir from the backup in from. dir must be absent, or empty, or left by an
// interrupted restore, which then begins again. The files are copied, so that the store shares none
// with the backup. Only the files of a backup in StreamFolder(dir) are moved instead: they exist for
// this Restore alone. The store has the id of the original and a journal history of its own
// (engine.NewHistory).
//
// While a restore is under way, DIR/format is named DIR/format.restoring, and Open refuses the
// folder. The file is renamed when everything else is durable. Errors: ErrNoStore, ErrNotAStore,
// ErrOldFormat, ErrNewerFormat and ErrUnfinishedBackup of from; ErrNotEmpty, ErrLocked and
// ErrInside of dir; those of ctx.
func Restore(ctx context.Context, from, dir string, o RestoreOptions) (RestoreResult, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.FS = cmp.Or(o.FS, vfs.Default)
	if o.Progress == nil {
		o.Progress = func(uint64, uint64) {}
	}
	r := restore{from: &disk.Folder{FS: o.FS, Dir: from}, to: &disk.Folder{FS: o.FS, Dir: dir}, o: &o}
	if err := r.run(ctx); err != nil {
		return RestoreResult{}, fmt.Errorf("storage: restore: %w", err)
	}
	return r.result, nil
}

// Restorable returns the error with which Restore would refuse to begin, or nil. fs may be nil:
// vfs.Default.
func Restorable(from, dir string, fs vfs.FS) error {
	fs = cmp.Or(fs, vfs.Default)
	r := restore{from: &disk.Folder{FS: fs, Dir: from}, to: &disk.Folder{FS: fs, Dir: dir}}
	if err := r.inspect(); err != nil {
		return fmt.Errorf("storage: restore: %w", err)
	}
	return nil
}

type restore struct {
	from, to *disk.Folder
	o        *RestoreOptions
	result   RestoreResult
	bytes    uint64 // to be copied
}

func (r *restore) run(ctx context.Context) error {
	if err := r.inspect(); err != nil {
		return err
	}
	if err := r.to.Make(); err != nil {
		return err
	}
	lock, err := r.to.Lock()
	if err != nil {
		return err
	}
	return errors.Join(r.runLocked(ctx, lock), lock.Close())
}

// inspect checks both folders and changes nothing.
func (r *restore) inspect() error {
	if err := r.from.WantBackup(); err != nil {
		return err
	}
	if !r.streamed() {
		if err := disk.Apart(r.to.FS, r.to.Dir, r.from.Dir); err != nil {
			return err
		}
	}
	return r.to.WantRestorable()
}

// streamed reports whether the backup came as a stream into the target itself.
func (r *restore) streamed() bool { return r.from.Dir == r.to.Path(disk.StreamName) }

// BeginStream empties StreamFolder(dir), in which the caller puts the files of a backup, for a
// Restore from there to dir. dir must be as Restore wants it. Errors: ErrNotEmpty.
func BeginStream(dir string) error {
	to := &disk.Folder{FS: vfs.Default, Dir: dir}
	if err := to.WantRestorable(); err != nil {
		return fmt.Errorf("storage: restore: %w", err)
	}
	if err := disk.RemoveStream(to); err != nil {
		return err
	}
	return to.MakeDir(disk.StreamFolder(to.FS, dir))
}

// EndStream removes StreamFolder(dir) after a Restore from there, or instead of one.
func EndStream(dir string) error { return disk.RemoveStream(&disk.Folder{FS: vfs.Default, Dir: dir}) }

// BeginReplacement returns the folder, inside the data folder dir, of a store that is to replace that in dir. It is
// empty: the caller makes the store there (Restore).
func BeginReplacement(dir string) (inside string, err error) {
	inside, err = (&disk.Folder{FS: vfs.Default, Dir: dir}).BeginReplacement()
	if err != nil {
		return "", fmt.Errorf("storage: making room for a copy: %w", err)
	}
	return inside, nil
}

// EndReplacement has the store in that folder, which is closed, replace that in dir when dir is opened next: its Open
// does that before anything else. A crash at any moment leaves one of the two.
func EndReplacement(dir string) error {
	if err := (&disk.Folder{FS: vfs.Default, Dir: dir}).EndReplacement(); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// runLocked checks the target again, since another process may have written to it meanwhile.
func (r *restore) runLocked(ctx context.Context, lock *pebble.Lock) error {
	if err := r.to.WantRestorable(); err != nil {
		return err
	}
	if err := r.to.WriteFormat(disk.FormatRestName, disk.FormatPrefix, row.LayoutVersion); err != nil {
		return err
	}
	if err := r.to.EmptyDB(); err != nil {
		return err
	}
	if err := r.copyDB(ctx); err != nil {
		return err
	}
	if err := r.beginHistory(lock); err != nil {
		return err
	}
	r.result.Dir = r.to.Dir
	return r.to.End(disk.FormatRestName)
}

// copyDB copies the database.
func (r *restore) copyDB(ctx context.Context) error {
	names, err := r.from.List(r.from.Path(disk.DBName))
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := r.from.FS.Stat(r.from.FS.PathJoin(r.from.Path(disk.DBName), name))
		if err != nil {
			return fmt.Errorf("looking at the backup: %w", err)
		}
		r.bytes += uint64(info.Size())
	}
	for _, name := range names {
		if name == disk.LockName {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.bring(ctx, name); err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
		r.result.Files++
	}
	return r.to.SyncDir(r.to.Path(disk.DBName))
}

// bring copies a file, or moves it if it came in a stream: its content is durable then, because the
// format file, the last of a stream, was synced after it.
func (r *restore) bring(ctx context.Context, name string) error {
	if !r.streamed() {
		return r.copyFile(ctx, name)
	}
	info, err := r.from.FS.Stat(r.from.FS.PathJoin(r.from.Path(disk.DBName), name))
	if err != nil {
		return err
	}
	r.result.Bytes += uint64(info.Size())
	return r.from.FS.Rename(r.from.FS.PathJoin(r.from.Path(disk.DBName), name), r.to.FS.PathJoin(r.to.Path(disk.DBName), name))
}

func (r *restore) copyFile(ctx context.Context, name string) (err error) {
	return copyFile(ctx, r.from, r.to, name, func(n int64) {
		r.result.Bytes += uint64(n)
		r.o.Progress(r.result.Bytes, r.bytes)
	})
}

// copyFile copies a file of a database durably, and calls copied for each part of it.
func copyFile(ctx context.Context, from, to *disk.Folder, name string, copied func(bytes int64)) (err error) {
	source, err := from.FS.Open(from.FS.PathJoin(from.Path(disk.DBName), name), vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := to.FS.Create(to.FS.PathJoin(to.Path(disk.DBName), name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	for {
		n, err := io.CopyN(target, source, copyChunkBytes)
		copied(n)
		switch {
		case errors.Is(err, io.EOF):
			return target.Sync()
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// beginHistory
func (r *restore) beginHistory(lock *pebble.Lock) (err error) {
	db, err := openDB(r.to, pebbleOptions(r.to.FS, &Options{Logger: r.o.Logger}, lock, false))
	if err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := hits.ReadPositions(db)
	if err != nil {
		return err
	}
	p = engine.NewHistory(p)
	b := db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaPositions), row.AppendPositions(nil, &p))
	if r.o.Replicate == nil {
		err = wantAlone(db)
	} else {
		err = r.o.Replicate().Renew(db, b)
	}
	if err != nil {
		return err
	}
	if err := db.Apply(b, pebble.Sync); err != nil {
		return fmt.Errorf("beginning a history of the journal: %w", err)
	}
	return r.noteWrites(db)
}

// noteWrites writes the acked file of the restored store. It refuses a backup that lacks writes.
func (r *restore) noteWrites(db *pebble.DB) (err error) {
	contained, err := kv.ReadSequence(db)
	if err == nil {
		err = kv.CheckWhole(contained, contained.Last)
	}
	if err != nil {
		return err
	}
	var storeID [16]byte
	v, err := kv.Read(db, row.MetaKey(row.MetaStoreID))
	if err == nil {
		err = kv.DecodeFixed(storeID[:], v, "store id")
	}
	if err != nil {
		return err
	}
	var acked disk.AckedFile
	if err := acked.Open(r.to, storeID, contained.Last, r.o.Logger); err != nil {
		return fmt.Errorf("noting the last acknowledged write: %w", err)
	}
	return acked.Close()
}
