package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"shunt/api"
	"shunt/api/admin"
	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/identity"
	"shunt/cmd/shunt/node"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
	"shunt/engine/plural"
	"shunt/storage"
)

// backupDone is the result of a backup, as --json prints it.
type backupDone struct {
	storage.BackupResult
	Links    uint64   `json:"links"`
	Verified bool     `json:"verified"`          // every record was read again
	Removed  []string `json:"removed,omitempty"` // older backups that --keep no longer keeps
	Warning  string   `json:"warning,omitempty"` // what did not work, although the backup is whole
	TookMs   int64    `json:"took_ms"`
}

// backupChoice is what the command's arguments ask for.
type backupChoice struct {
	order  api.BackupOrder
	tar    string
	asJSON bool
}

// defaultKeep is a week of daily backups.
const defaultKeep = 7

func newBackup(stdout, stderr io.Writer) *cobra.Command {
	where, choice := localTarget{patience: lockPatience}, backupChoice{}
	cmd := &cobra.Command{
		Use:   "backup DIR | --to DIR | --tar -",
		Short: "Back up the data while it is served",
		Long: `Back up the data into the folder DIR, which must be empty or must not exist, and must not be inside
the data folder. The backup has every link, user and token, and every hit that was answered before the
command began. Redirects and writes continue meanwhile. The server writes the files, so DIR is a folder
on its machine. If no server runs on the data folder, the command reads it itself, and changes nothing in
it: the next start does not know of this backup (metrics). As root it gives the backup to the owner of
the folder that it is made in.

--to DIR makes a backup in DIR, named by its time (shunt-20260102T150405Z), verifies it by reading
every record, and then removes the oldest until --keep are left. If anything fails, the older ones
stay and the exit code is 1. A timer can run it each day; a server shows the time of the last backup
in its metrics (shunt_last_backup_timestamp_seconds).

--tar - writes a verified backup to standard output as a tar archive, for a pipe to another machine or
to a program that encrypts; 'shunt restore --tar -' reads it.

On the same file system a backup takes seconds and shares its table files with the data (hard links;
neither side ever changes them), and several backups share them with each other. So it protects from
mistakes, but not from the loss of the disk: copy it to another disk or machine (rsync -aH, or --tar).
'shunt check --data DIR' verifies a backup, 'shunt restore DIR' makes a data folder from it.`,
		Example: `  shunt backup /backups/before-the-upgrade
  shunt backup --data /var/lib/shunt/data --to /var/lib/shunt/backups --keep 7
  shunt backup --tar - | ssh backup.example.org 'cat > shunt.tar'`,
		Args: choice.place,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return backUp(cmd.Context(), &where, &choice, stdout, stderr)
		},
	}
	addStoreSettings(cmd, &where.data)
	fs := cmd.Flags()
	fs.StringVar(&choice.order.To, "to", "", "make a backup named by its time in the folder `DIR`")
	fs.IntVar(&choice.order.Keep, "keep", defaultKeep, "with --to: remove the oldest backups until `N` are left; 0: keep all")
	fs.StringVar(&choice.tar, "tar", "", "write a tar archive to standard output; `-` is the only value")
	fs.BoolVar(&choice.order.SkipCheck, "skip-check", false, "with --to or --tar: do not read the backup again to verify it")
	fs.BoolVar(&choice.asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(fs, "to", "keep", "tar", "skip-check", "json")
	return cmd
}

// place completes the order from the arguments. It implements cobra.PositionalArgs: flags have been
// read.
func (b *backupChoice) place(cmd *cobra.Command, args []string) (err error) {
	to, tar, changed := cmd.Flags().Changed("to"), cmd.Flags().Changed("tar"), cmd.Flags().Changed
	switch {
	case to && tar:
		return settings.UsageErrorf("--to and --tar exclude each other: each makes a backup of its own")
	case (to || tar) && len(args) > 0:
		return settings.UsageErrorf("unexpected argument %q: the backup goes where --to or --tar says", args[0])
	case !to && !tar && len(args) == 0:
		return settings.UsageErrorf("DIR is missing; or use --to DIR, or --tar - (see '%s --help')", cmd.CommandPath())
	case changed("keep") && !to:
		return settings.UsageErrorf("--keep belongs to --to")
	case b.order.Keep < 0 || b.order.Keep > backups.MaxKeep:
		return settings.UsageErrorf("--keep %d: it must be from 0 to %d", b.order.Keep, backups.MaxKeep)
	case b.order.SkipCheck && !to && !tar:
		return settings.UsageErrorf("--skip-check belongs to --to and --tar; a backup in DIR is verified by 'shunt check --data DIR'")
	case tar && b.tar != "-":
		return settings.UsageErrorf("--tar %s: only - is possible; for a file write --tar - > %s", b.tar, console.Quote(b.tar))
	case tar && b.asJSON:
		return settings.UsageErrorf("--json and --tar exclude each other: standard output has the archive")
	case to && b.order.To == "":
		return settings.UsageErrorf("--to is empty")
	}
	b.order.Stream = tar
	if to {
		b.order.To, err = filepath.Abs(b.order.To)
	} else if !tar {
		if err = exactly("DIR")(cmd, args); err == nil {
			b.order.Dir, err = filepath.Abs(args[0])
		}
	}
	return err
}

// body is the order as POST /backup takes it.
func (b *backupChoice) body() map[string]any {
	switch o := &b.order; {
	case o.Stream:
		return map[string]any{"stream": true, "skip_check": o.SkipCheck}
	case o.To != "":
		return map[string]any{"to": o.To, "keep": o.Keep, "skip_check": o.SkipCheck}
	}
	return map[string]any{"dir": b.order.Dir}
}

func backUp(ctx context.Context, where *localTarget, choice *backupChoice, stdout, stderr io.Writer) error {
	var done backupDone
	show := console.NewProgress(stderr)
	if choice.order.Stream {
		if console.NewProgress(stdout).Person() {
			return settings.UsageErrorf("--tar writes the archive to standard output, which is a terminal; send it through a pipe or to a file")
		}
		signal.Ignore(syscall.SIGPIPE) // a write then fails instead, and what was made is removed
	}
	send := func(ctx context.Context, made backupDone) error {
		return backups.Send(ctx, stdout, made.Dir, time.Now(), func(sent uint64) {
			show.Say(fmt.Sprintf("sending: %s of %s", console.Size(sent), console.Size(made.Bytes)))
		})
	}
	c, err := where.reach(ctx, func() (err error) {
		done, err = backUpAlone(ctx, &where.data, choice.order, api.Report{
			Say:  show.Say,
			Take: func(ctx context.Context, made any) error { return send(ctx, made.(backupDone)) },
		}, stderr)
		return err
	})
	switch {
	case c != nil && choice.order.Stream:
		err = c.takeBackup(ctx, choice.body(), show.Say, &done, send)
	case c != nil:
		err = c.operate(ctx, "/backup", choice.body(), show.Say, &done)
	}
	show.End()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return choice.print(&done, stdout, stderr)
}

func (b *backupChoice) print(done *backupDone, stdout, stderr io.Writer) (err error) {
	if done.Warning != "" {
		fmt.Fprintf(stderr, "shunt: warning: %s\n", console.Printable(done.Warning))
	}
	if b.asJSON {
		return console.PrintValue(stdout, done)
	}
	what := fmt.Sprintf("%s, %s in %s", plural.Of(done.Links, "link", "links"), console.Size(done.Bytes), plural.Of(done.Files, "file", "files"))
	if b.order.Stream {
		fmt.Fprintf(stderr, "shunt: sent %s\n", what)
		return nil
	}
	verified, removed := "", ""
	if done.Verified {
		verified = ", verified"
	}
	if n := len(done.Removed); n > 0 {
		removed = "; removed " + plural.Of(n, "older backup", "older backups")
	}
	_, err = fmt.Fprintf(stdout, "backed up %s, to %s%s%s\n", what, done.Dir, verified, removed)
	fmt.Fprintln(stderr, "shunt: on one file system the backup shares table files with the data: copy it to another disk or machine")
	return err
}

// backUp backs up a store that is being served.
func (c *core) backUp(ctx context.Context, order api.BackupOrder, r api.Report) (any, error) {
	start := time.Now()
	r.Say("writing the hits so far")
	if err := c.engine.FlushRecorded(ctx); err != nil {
		return nil, fmt.Errorf("writing the hits so far: %w", err)
	}
	done, err := c.makeBackup(ctx, order, c.engine.Metrics().Links, start, r)
	if err != nil {
		return nil, console.Plainly(err) // its text may travel over the socket
	}
	return done, nil
}

// makeBackup makes the backup where order wants it, and notes its time once it is whole there.
func (c *core) makeBackup(ctx context.Context, order api.BackupOrder, links uint64, start time.Time, r api.Report) (done backupDone, err error) {
	done.Links = links
	switch {
	case order.Stream:
		err = c.backUpToStream(ctx, order, &done, r)
	case order.To != "":
		err = c.backUpToSeries(ctx, order, &done, start, r.Say)
	default:
		r.Say("copying or linking files")
		done.BackupResult, err = c.store.Backup(ctx, order.Dir)
		err = backupError(order.Dir, err)
	}
	if err != nil {
		return backupDone{}, err
	}
	took := time.Since(start)
	done.TookMs = took.Milliseconds()
	now := time.Now()
	if c.reads {
		return done, nil
	}
	if err := c.store.NoteBackup(now.UnixMilli()); err != nil {
		done.Warning = fmt.Sprintf("the backup is whole, but its time could not be noted for the metrics: %v", err)
	}
	c.backedUp.Store(&admin.Backup{At: now, Took: took, Bytes: done.Bytes})
	return done, nil
}

func (c *core) backUpToSeries(ctx context.Context, order api.BackupOrder, done *backupDone, start time.Time, say func(string)) (err error) {
	if err := c.store.Outside(order.To); err != nil {
		return backupError(order.To, err)
	}
	series, err := backups.Open(order.To, c.store.Identity().StoreID)
	if err != nil {
		return seriesError(order.To, err)
	}
	defer func() { err = errors.Join(err, series.Close()) }()
	part, err := series.Begin(start)
	if err != nil {
		return seriesError(order.To, err)
	}
	say("copying or linking files")
	if done.BackupResult, err = c.store.Backup(ctx, part); err == nil {
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

func (c *core) backUpToStream(ctx context.Context, order api.BackupOrder, done *backupDone, r api.Report) (err error) {
	r.Say("linking files")
	if done.BackupResult, err = c.store.BackupToStream(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.store.RemoveStream()) }()
	if done.Verified, err = verifyBackup(ctx, done.Dir, order.SkipCheck, r.Say); err != nil {
		return err
	}
	r.Say("sending")
	return r.Take(ctx, *done)
}

// sendTimeout bounds the making of a copy for another node, and its sending.
const sendTimeout = 6 * time.Hour

// sendBackup writes a backup to w as a tar stream. Who receives it verifies it.
func (c *core) sendBackup(w io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	if err := c.engine.FlushRecorded(ctx); err != nil {
		return err
	}
	made, err := c.store.BackupToStream(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.store.RemoveStream()) }()
	return backups.Send(ctx, w, made.Dir, time.Now(), func(uint64) {})
}

// sendLinks writes what an edge of the cluster may have to w, as sendBackup does a backup.
func (c *core) sendLinks(w io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	made, err := node.LinksToStream(ctx, c.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.store.RemoveStream()) }()
	return backups.Send(ctx, w, made.Dir, time.Now(), func(uint64) {})
}

// verifyBackup reads every record of a new backup.
func verifyBackup(ctx context.Context, dir string, skip bool, say func(string)) (verified bool, err error) {
	if skip {
		return false, nil
	}
	found, err := checkAlone(ctx, &dataSettings{dataDir: dir}, say, io.Discard)
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

// readLastBackup reads the time of the last backup that an earlier process made.
func (c *core) readLastBackup() error {
	atMs, err := c.store.LastBackup()
	if err == nil && atMs > 0 {
		c.backedUp.CompareAndSwap(nil, &admin.Backup{At: time.UnixMilli(atMs)})
	}
	return err
}

// lastBackup returns the last backup for the metrics. Any goroutine may call it.
func (c *core) lastBackup() admin.Backup {
	if last := c.backedUp.Load(); last != nil {
		return *last
	}
	return admin.Backup{}
}

// backUpAlone backs up a store that nobody serves, and changes nothing in its folders. The backup has
// the hits that a killed server left in its journal, too.
func backUpAlone(ctx context.Context, s *dataSettings, order api.BackupOrder, r api.Report, stderr io.Writer) (done backupDone, err error) {
	start := time.Now()
	parts, c := newStack(), core{reads: true}
	defer func() { err = errors.Join(err, parts.stop()) }()
	log := console.New(stderr, "text", slog.LevelWarn).Log
	if err := c.openStore(parts, s, false, log); err != nil {
		return done, err
	}
	heir, err := identity.HeirOf(cmp.Or(order.To, order.Dir))
	if err != nil {
		return done, err
	}
	var links atomic.Uint64
	err = c.store.LoadLinks(ctx, engine.EachLink(func(h engine.HotView) error {
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
func giveBackup(heir *identity.Heir, order api.BackupOrder, done *backupDone) error {
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
