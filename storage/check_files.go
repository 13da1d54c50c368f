package storage

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage/disk"
	"shunt/storage/kv"
)

// checkFiles reads every block of every table file and compares its checksum. While a server runs,
// a file may disappear during the check: then a compaction has read it.
func (c *check) checkFiles() error {
	levels, err := c.v.db.SSTables()
	if err != nil {
		return fmt.Errorf("listing table files: %w", err)
	}
	o := pebbleOptions(c.v.fs, &Options{Logger: slog.New(slog.DiscardHandler)}, nil, false)
	o.EnsureDefaults()
	readerOptions := o.MakeReaderOptions()
	seen := map[string]bool{} // some files back several tables
	for _, tables := range levels {
		for i := range tables {
			name := tables[i].BackingSSTNum.String() + ".sst"
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := c.ctx.Err(); err != nil {
				return err
			}
			c.checkFile(name, readerOptions)
			c.o.Progress("files", c.report.FileBytes)
		}
	}
	return nil
}

func (c *check) checkFile(name string, o sstable.ReaderOptions) {
	path := c.v.fs.PathJoin(c.v.folder.Path(disk.DBName), name)
	size, err := checkBlocks(c.v.fs, path, o)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && c.v.live:
		return
	case err != nil:
		what := "it is damaged"
		if errors.As(err, new(*iofs.PathError)) {
			what = "it cannot be read"
		}
		c.o.Faults.AddFile(path, "%s: %s", what, kv.WithoutPebble(err))
		c.o.Faults.Follow()
	}
	c.report.Files++
	c.report.FileBytes += size
}

func checkBlocks(fs vfs.FS, path string, o sstable.ReaderOptions) (sizeBytes uint64, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, o)
	if err != nil {
		return uint64(info.Size()), errors.Join(err, readable.Close())
	}
	return uint64(info.Size()), errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// checkLevels makes Pebble merge every row, and check that in no level an older version of a row
// hides a newer one. It cannot be stopped, and the check of a running server must be, so it runs
// offline only.
func (c *check) checkLevels() error {
	if c.v.live {
		c.report.Skipped = "the order of the database's levels: only without a running server"
		return nil
	}
	if _, total := c.o.Faults.Found(); total > 0 {
		c.report.Skipped = "the order of the database's levels, since there are faults"
		return nil // it would stop at a fault that is already reported
	}
	c.o.Progress("levels", 0)
	if err := c.v.db.CheckLevels(new(pebble.CheckLevelsStats)); err != nil {
		c.o.Faults.Add("levels of the database", "%v", err)
	}
	return nil
}
