package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/engine/plural"
	"shunt/storage"
)

// backupDone is the result of a backup, as --json prints it.
type backupDone struct {
	storage.BackupResult
	Links  uint64 `json:"links"`
	TookMs int64  `json:"took_ms"`
}

func newBackup(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := localTarget{patience: lockPatience}, false
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Back up the data while it is served",
		Long: `Back up the data into the folder DIR, which must be empty or must not exist, and must not be inside
the data folder. The backup has every link, user and token, and every hit that was answered before the
command began. Redirects and writes continue meanwhile. If no server runs on the data folder, the
command opens it itself. The server writes the files, so DIR is a folder on its machine.

On the same file system the backup takes seconds and shares its table files with the data (hard links;
neither side ever changes them). So it protects from mistakes, but not from the loss of the disk: copy
DIR to another disk or machine (rsync -a, cp -a). 'shunt check --data DIR' verifies a backup,
'shunt restore DIR' makes a data folder from it.`,
		Example: `  shunt backup /backups/shunt-$(date +%F)
  shunt backup --data /var/lib/shunt /backups/monday --json`,
		Args: exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUp(cmd.Context(), &where, args[0], asJSON, stdout, stderr)
		},
	}
	addStoreSettings(cmd, &where.data)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func backUp(ctx context.Context, where *localTarget, dir string, asJSON bool, stdout, stderr io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var done backupDone
	show := console.NewProgress(stderr)
	c, err := where.reach(ctx, func() (err error) {
		done, err = backUpAlone(ctx, &where.data, dir, show.Say, stderr)
		return err
	})
	if c != nil {
		err = c.operate(ctx, "/backup", map[string]string{"dir": dir}, show.Say, &done)
	}
	show.End()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if asJSON {
		return console.PrintValue(stdout, done)
	}
	_, err = fmt.Fprintf(stdout, "backed up %s, %s in %s, to %s\n", plural.Of(done.Links, "link", "links"),
		console.Size(done.Bytes), plural.Of(done.Files, "file", "files"), done.Dir)
	fmt.Fprintln(stderr, "shunt: on one file system the backup shares table files with the data: copy it to another disk or machine")
	return err
}

// backUp backs up a store that is being served.
func (c *core) backUp(ctx context.Context, dir string, say func(string)) (any, error) {
	start := time.Now()
	say("writing the hits so far")
	if err := c.engine.FlushRecorded(ctx); err != nil {
		return nil, fmt.Errorf("writing the hits so far: %w", err)
	}
	return c.checkpoint(ctx, dir, c.engine.Metrics().Links, start, say)
}

func (c *core) checkpoint(ctx context.Context, dir string, links uint64, start time.Time, say func(string)) (backupDone, error) {
	say("copying or linking files")
	made, err := c.store.Backup(ctx, dir)
	if err != nil {
		return backupDone{}, console.Plainly(backupError(dir, err)) // its text may travel over the socket
	}
	return backupDone{BackupResult: made, Links: links, TookMs: time.Since(start).Milliseconds()}, nil
}

// backUpAlone backs up a store that nobody serves. Hits that a killed server left in its journal
// are brought in first.
func backUpAlone(ctx context.Context, s *dataSettings, dir string, say func(string), stderr io.Writer) (done backupDone, err error) {
	start := time.Now()
	parts, c := newStack(), core{}
	defer func() { err = errors.Join(err, parts.stop()) }()
	log := console.New(stderr, "text", slog.LevelWarn).Log
	if err := c.openStore(parts, s, false, log); err != nil {
		return done, err
	}
	options := engine.Options{Rings: aloneRings, RingRecords: aloneRingRecords, Logger: log}
	if err := c.openEngine(parts, s, options); err != nil {
		return done, err
	}
	var links atomic.Uint64
	err = c.store.LoadLinks(ctx, engine.EachLink(func(h engine.HotView) error {
		if h.Flags&engine.FlagTombstone == 0 {
			if n := links.Add(1); n%progressRows == 0 {
				say(fmt.Sprintf("counting links: %d", n))
			}
		}
		return nil
	}))
	if err != nil {
		return done, err
	}
	return c.checkpoint(ctx, dir, links.Load(), start, say)
}

// backupError replaces an error of storage.Backup by what to do about it.
func backupError(dir string, err error) error {
	switch {
	case errors.Is(err, storage.ErrNotEmpty):
		return fmt.Errorf("%s is not empty; a backup needs a folder of its own, which it creates", dir)
	case errors.Is(err, storage.ErrInside):
		return fmt.Errorf("%s is inside the data folder; choose another place", dir)
	case errors.As(err, new(*fs.PathError)):
		return folderError(dir, "DIR", err)
	}
	return err
}

// progressRows is how many rows there are between two signs of progress.
const progressRows = 1 << 16
