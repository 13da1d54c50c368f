package check

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage/disk"
	"shunt/storage/kv"
)

// checkFiles reads every block of every table file and compares its checksum. While a server runs,
// a file may disappear during the check: then a compaction has read it.
func (c *Run) checkFiles() error {
	levels, err := c.DB.SSTables()
	if err != nil {
		return fmt.Errorf("listing table files: %w", err)
	}
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
			c.checkFile(name)
			c.o.Progress("files", c.Report.FileBytes)
		}
	}
	return nil
}

func (c *Run) checkFile(name string) {
	path := c.FS.PathJoin(c.Folder.Path(disk.DBName), name)
	size, err := checkBlocks(c.FS, path, c.Tables)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && c.Live:
		return
	case err != nil:
		what := "it is damaged"
		if errors.As(err, new(*iofs.PathError)) {
			what = "it cannot be read"
		}
		c.o.Faults.AddFile(path, "%s: %s", what, kv.WithoutPebble(err))
		c.o.Faults.Follow()
	}
	c.Report.Files++
	c.Report.FileBytes += size
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
func (c *Run) checkLevels() error {
	if c.Live {
		c.Report.Skipped = "the order of the database's levels: only without a running server"
		return nil
	}
	if _, total := c.o.Faults.Found(); total > 0 {
		c.Report.Skipped = "the order of the database's levels, since there are faults"
		return nil // it would stop at a fault that is already reported
	}
	c.o.Progress("levels", 0)
	if err := c.DB.CheckLevels(new(pebble.CheckLevelsStats)); err != nil {
		c.Fault("levels of the database", "%v", err)
	}
	return nil
}
