package core

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"shunt/api"
	"shunt/api/admin"
	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/identity"
	"shunt/engine"
	"shunt/engine/plural"
	"shunt/storage"
)

// A Backup is the result of a backup, as --json prints it.
type Backup struct {
	storage.BackupResult
	Store    string   `json:"store"` // its id
	Links    uint64   `json:"links"`
	Verified bool     `json:"verified"`          // every record was read again
	Removed  []string `json:"removed,omitempty"` // older backups that --keep no longer keeps
	Warning  string   `json:"warning,omitempty"` // what did not work, although the backup is whole
	TookMs   int64    `json:"took_ms"`

	At time.Time `json:"at,omitzero"` // of one that is sent: when its state was taken
}

// StreamBackup makes a backup of a store that is being served, hands it to take, and removes it then. verify asks that
// every record is read before.
func (c *Core) StreamBackup(ctx context.Context, verify bool, take func(context.Context, Backup) error) error {
	_, err := c.backUp(ctx, api.BackupOrder{Stream: true, SkipCheck: !verify}, api.Report{
		Say:  func(string) {},
		Take: func(ctx context.Context, made any) error { return take(ctx, made.(Backup)) },
	})
	return err
}

// backUp backs up a store that is being served.
func (c *Core) backUp(ctx context.Context, order api.BackupOrder, r api.Report) (any, error) {
	start := time.Now()
	r.Say("writing the hits so far")
	if err := c.Engine.FlushRecorded(ctx); err != nil {
		return nil, fmt.Errorf("writing the hits so far: %w", err)
	}
	done, err := c.makeBackup(ctx, order, c.Engine.Metrics().Links, start, r)
	if err != nil {
		return nil, console.Plainly(err) // its text may travel over the socket
	}
	return done, nil
}

// makeBackup makes the backup where order wants it, and notes its time once it is whole there.
func (c *Core) makeBackup(ctx context.Context, order api.BackupOrder, links uint64, start time.Time, r api.Report) (done Backup, err error) {
	id := c.Store.Identity().StoreID
	done.Links, done.Store = links, hex.EncodeToString(id[:])
	switch {
	case order.Stream:
		err = c.backUpToStream(ctx, order, &done, r)
	case order.To != "":
		err = c.backUpToSeries(ctx, order, &done, start, r.Say)
	default:
		r.Say("copying or linking files")
		done.BackupResult, err = c.Store.Backup(ctx, order.Dir)
		err = backupError(order.Dir, err)
	}
	if err != nil {
		return Backup{}, err
	}
	took := time.Since(start)
	done.TookMs = took.Milliseconds()
	now := time.Now()
	if c.Reads {
		return done, nil
	}
	if err := c.Store.NoteBackup(now.UnixMilli()); err != nil {
		done.Warning = fmt.Sprintf("the backup is whole, but its time could not be noted for the metrics: %v", err)
	}
	c.backedUp.Store(&admin.Backup{At: now, Took: took, Bytes: done.Bytes})
	return done, nil
}

func (c *Core) backUpToSeries(ctx context.Context, order api.BackupOrder, done *Backup, start time.Time, say func(string)) (err error) {
	if err := c.Store.Outside(order.To); err != nil {
		return backupError(order.To, err)
	}
	series, err := backups.Open(order.To, c.Store.Identity().StoreID)
	if err != nil {
		return seriesError(order.To, err)
	}
	defer func() { err = errors.Join(err, series.Close()) }()
	part, err := series.Begin(start)
	if err != nil {
		return seriesError(order.To, err)
	}
	say("copying or linking files")
	if done.BackupResult, err = c.Store.Backup(ctx, part); err == nil {
		done.Verified, err = verifyBackup(ctx, part, order.SkipCheck, say)
	}
	if err != nil {
		return errors.Join(backupError(order.To, err), series.Discard(part))
	}
	if done.Dir, err = series.End(part); err != nil {
		return seriesError(order.To, err)
	}
	say("removing older backups")
	if done.Removed, err = series.Prune(ctx, order.Keep, done.Dir); err != nil {
		done.Warning = fmt.Sprintf("the backup is whole, but an older one could not be removed: %v", err)
	}
	return nil
}

// maxStreams bounds the backups that are sent at a time: each keeps table files that the store no longer needs.
const maxStreams = 4

// stream calls send with a backup that makeOne makes, and removes it then.
func (c *Core) stream(makeOne func() (storage.BackupResult, error), send func(storage.BackupResult) error) error {
	defer c.streams.Add(-1)
	if c.streams.Add(1) > maxStreams {
		return storage.ErrBackupRuns
	}
	made, err := makeOne()
	if err != nil {
		return err
	}
	return errors.Join(send(made), c.Store.RemoveStream(made.Dir))
}

func (c *Core) backUpToStream(ctx context.Context, order api.BackupOrder, done *Backup, r api.Report) error {
	r.Say("linking files")
	return c.stream(func() (storage.BackupResult, error) { return c.Store.BackupToStream(ctx) }, func(made storage.BackupResult) error {
		done.BackupResult = made
		return c.sendMade(ctx, order, done, r)
	})
}

// sendMade hands a backup to who sends it.
func (c *Core) sendMade(ctx context.Context, order api.BackupOrder, done *Backup, r api.Report) (err error) {
	done.At = time.Now()
	if done.Verified, err = verifyBackup(ctx, done.Dir, order.SkipCheck, r.Say); err != nil {
		return err
	}
	r.Say("sending")
	return r.Take(ctx, *done)
}

// verifyBackup reads every record of a new backup.
func verifyBackup(ctx context.Context, dir string, skip bool, say func(string)) (verified bool, err error) {
	if skip {
		return false, nil
	}
	found, err := CheckAlone(ctx, &Data{Dir: dir}, say, io.Discard)
	switch {
	case err != nil:
		return false, fmt.Errorf("verifying the backup: %w", err)
	case !found.OK:
		first := found.Faults[0]
		return false, fmt.Errorf("the backup has %s, so it was removed (the first: %s: %s). The data most likely has them too: run 'shunt check'",
			plural.Of(found.FaultCount, "fault", "faults"), first.Where, first.What)
	}
	return true, nil
}

// BackUpAlone backs up a store that nobody serves, and changes nothing in its folders. The backup has
// the hits that a killed server left in its journal, too.
func BackUpAlone(ctx context.Context, s *Data, order api.BackupOrder, r api.Report, stderr io.Writer) (done Backup, err error) {
	start := time.Now()
	parts, c := NewStack(), Core{Reads: true}
	defer func() { err = errors.Join(err, parts.Stop()) }()
	log := console.New(stderr, "text", slog.LevelWarn).Log
	if err := c.OpenStore(parts, s, false, log); err != nil {
		return done, err
	}
	heir, err := identity.HeirOf(cmp.Or(order.To, order.Dir))
	if err != nil {
		return done, err
	}
	var links atomic.Uint64
	err = c.Store.LoadLinks(ctx, engine.EachLink(func(h engine.HotView) error {
		if h.Flags&engine.FlagTombstone == 0 {
			if n := links.Add(1); n%progressRows == 0 {
				r.Say(fmt.Sprintf("counting links: %d", n))
			}
		}
		return nil
	}))
	if err != nil {
		return done, err
	}
	done, err = c.makeBackup(ctx, order, links.Load(), start, r)
	switch {
	case order.Stream:
		return done, err
	case err != nil: // what is in the folder may be somebody's files
		return done, errors.Join(err, heir.Give())
	}
	return done, giveBackup(&heir, order, &done)
}

// giveBackup gives the owner of the folder the backup that root has made in it. Otherwise the server's
// later backups there would fail.
func giveBackup(heir *identity.Heir, order api.BackupOrder, done *Backup) error {
	paths := []string{cmp.Or(done.Dir, order.Dir)}
	if order.To != "" {
		paths = []string{filepath.Join(order.To, backups.MarkName)}
		if done.Dir != "" {
			paths = append(paths, done.Dir)
		}
	}
	if err := heir.Give(paths...); err != nil {
		return fmt.Errorf("giving the backup to the owner of its folder: %w", err)
	}
	return nil
}

// backupError replaces an error of storage.Backup by what to do about it.
func backupError(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrNotEmpty):
		return fmt.Errorf("%s is not empty; a backup needs a folder of its own, which it creates (for several in one folder use --to)", dir)
	case errors.Is(err, storage.ErrInside):
		return fmt.Errorf("%s is inside the data folder; choose another place", dir)
	case errors.As(err, new(*fs.PathError)):
		return folderError(dir, "DIR", err)
	}
	return err
}

// seriesError is backupError for errors of the folder of --to.
func seriesError(dir string, err error) error {
	switch {
	case errors.Is(err, backups.ErrBusy):
		return fmt.Errorf("%s (--to): %w; try again when it has finished", dir, err)
	case errors.Is(err, backups.ErrOtherStore):
		return fmt.Errorf("%s (--to): %w; choose a folder for this store alone", dir, err)
	}
	return folderError(dir, "--to", err)
}

// progressRows is how many rows there are between two signs of progress.
const progressRows = 1 << 16
