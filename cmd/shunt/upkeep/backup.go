package upkeep

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"shunt/api"
	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/offsite"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
)

// backupChoice is what the command's arguments ask for.
type backupChoice struct {
	order   api.BackupOrder
	tar     string
	asJSON  bool
	offsite offsiteChoice
}

// defaultKeep is a week of daily backups.
const defaultKeep = 7

func newBackup(stdout, stderr io.Writer) *cobra.Command {
	where, choice := reach.Target{Patience: reach.LockPatience}, backupChoice{}
	cmd := &cobra.Command{
		Use:   "backup DIR | --to DIR | --to s3://BUCKET/PREFIX | --tar -",
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

--to s3://BUCKET/PREFIX sends a verified backup to an S3 server (--s3-endpoint), from where
'shunt restore --from' fetches it and 'shunt backup ls' lists what is there. Files that are there are not
sent again, so a second backup sends what was written or compacted since the first. --keep and --keep-for
say which backups stay: the newest --keep, and all that are younger than --keep-for; without both, all
do. The credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of a file
(--s3-credentials). With --encrypt-to the S3 server cannot read the data; the secret key is needed to
restore, so keep it elsewhere.
'shunt serve --backup-to' does this every few minutes.

On the same file system a backup takes seconds and shares its table files with the data (hard links;
neither side ever changes them), and several backups share them with each other. So it protects from
mistakes, but not from the loss of the disk: copy it to another disk or machine (rsync -aH, or --tar).
'shunt check --data DIR' verifies a backup, 'shunt restore DIR' makes a data folder from it.`,
		Example: `  shunt backup /backups/before-the-upgrade
  shunt backup --data /var/lib/shunt/data --to /var/lib/shunt/backups --keep 7
  shunt backup --to s3://backups/shunt --keep 7 --keep-for 30d --encrypt-to recipients.txt
  shunt backup --tar - | ssh backup.example.org 'cat > shunt.tar'`,
		Args: choice.place,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return backUp(cmd.Context(), &where, &choice, stdout, stderr)
		},
	}
	core.AddStoreSettings(cmd, &where.Data)
	fs := cmd.Flags()
	fs.StringVar(&choice.order.To, "to", "", "make a backup named by its time in the folder `DIR`, or in a bucket (s3://BUCKET/PREFIX)")
	fs.IntVar(&choice.order.Keep, "keep", defaultKeep, "with --to: remove the oldest backups until `N` are left; 0: keep all (in a bucket, all unless this or --keep-for is given)")
	fs.StringVar(&choice.tar, "tar", "", "write a tar archive to standard output; `-` is the only value")
	fs.BoolVar(&choice.order.SkipCheck, "skip-check", false, "with --to or --tar: do not read the backup again to verify it")
	fs.BoolVar(&choice.asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(fs, "to", "keep", "tar", "skip-check", "json")
	choice.offsite.add(fs)
	cmd.AddCommand(newBackupLs(stdout))
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
	case to && offsite.IsPlace(b.order.To):
		return b.offsite.choose(&b.order, changed("keep"))
	case changed("keep-for"), changed("encrypt-to") && !to:
		return settings.UsageErrorf("--keep-for and --encrypt-to belong to --to s3://BUCKET/PREFIX")
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
		if err = usage.Exactly("DIR")(cmd, args); err == nil {
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

// toPipe reports whether standard output takes the backup.
func (b *backupChoice) toPipe() bool { return b.order.Stream && b.offsite.place == nil }

func backUp(ctx context.Context, where *reach.Target, choice *backupChoice, stdout, stderr io.Writer) error {
	var done core.Backup
	show := console.NewProgress(stderr)
	if choice.toPipe() {
		if console.NewProgress(stdout).Person() {
			return settings.UsageErrorf("--tar writes the archive to standard output, which is a terminal; send it through a pipe or to a file")
		}
		signal.Ignore(syscall.SIGPIPE) // a write then fails instead, and what was made is removed
	}
	send := func(ctx context.Context, made core.Backup) error {
		if !choice.toPipe() {
			return choice.offsite.push(ctx, &made, choice.order.Keep, show)
		}
		return backups.Send(ctx, stdout, made.Dir, time.Now(), func(sent uint64) {
			show.Say(fmt.Sprintf("sending: %s of %s", console.Size(sent), console.Size(made.Bytes)))
		})
	}
	c, err := where.Reach(ctx, func() (err error) {
		done, err = core.BackUpAlone(ctx, &where.Data, choice.order, api.Report{
			Say:  show.Say,
			Take: func(ctx context.Context, made any) error { return send(ctx, made.(core.Backup)) },
		}, stderr)
		return err
	})
	switch {
	case c != nil && choice.order.Stream:
		err = c.TakeBackup(ctx, choice.body(), show.Say, &done, send)
	case c != nil:
		err = c.Operate(ctx, "/backup", choice.body(), show.Say, &done)
	}
	show.End()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return choice.print(&done, stdout, stderr)
}

func (b *backupChoice) print(done *core.Backup, stdout, stderr io.Writer) (err error) {
	if done.Warning != "" {
		fmt.Fprintf(stderr, "shunt: warning: %s\n", console.Printable(done.Warning))
	}
	if b.order.Stream && !b.toPipe() {
		return b.offsite.print(done, b.asJSON, stdout, stderr)
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
