package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"syscall"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/identity"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
	"shunt/storage"
)

func newRestore(stdout, stderr io.Writer) *cobra.Command {
	data, asJSON, skipCheck, archive, from := core.Data{}, false, false, "", fetchChoice{}
	cmd := &cobra.Command{
		Use:   "restore DIR | --from s3://BUCKET/PREFIX | --tar -",
		Short: "Make a data folder from a backup",
		Long: `Make a data folder (--data) from the backup in the folder DIR. The data folder must be empty or must
not exist: to go back to a backup, stop the server and move the old folder away first. The backup is
verified, then copied, and is not changed. --tar - takes the backup from standard input instead, as
'shunt backup --tar -' wrote it; it is unpacked in the data folder, so nothing else needs room for it.

--from fetches the newest backup that 'shunt backup --to s3://BUCKET/PREFIX' or 'shunt serve --backup-to'
made, or with --at the last one before that time. Each file is compared with its hash. An encrypted backup
needs the file with the secret key (--identity).

An interrupted restore leaves a folder that nothing serves; run it again to start over. The restored
data starts a new journal, so it never has the hits that the original recorded after the backup.

As root the command gives the data to the owner of its folder, or, if that does not exist yet, to the
owner of the folder that it is in, so that the server of that user can start.`,
		Example: `  mv shunt-data shunt-data.old
  shunt restore /backups/monday
  shunt restore /backups/monday --data /var/lib/shunt
  shunt restore --from s3://backups/shunt --at 2026-11-28T12:00:00Z --identity key.txt --data ./again
  shunt restore --tar - --data ./again < shunt.tar`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch given := cmd.Flags().Changed("tar"); {
			case cmd.Flags().Changed("from"):
				return from.check(cmd, args)
			case from.belong(cmd.Flags()) != nil:
				return from.belong(cmd.Flags())
			case !given:
				return usage.Exactly("DIR")(cmd, args)
			case archive != "-":
				return settings.UsageErrorf("--tar %s: only - is possible; for a file write --tar - < %s", archive, console.Quote(archive))
			}
			return usage.Exactly()(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if from.place != nil {
				return from.restore(cmd.Context(), &data, skipCheck, asJSON, stdout, stderr)
			}
			if archive != "" {
				return RestoreStream(cmd.Context(), &data, cmd.InOrStdin(), skipCheck, asJSON, stdout, stderr)
			}
			return restoreData(cmd.Context(), &data, args[0], skipCheck, asJSON, stdout, stderr)
		},
	}
	core.AddFolder(cmd, &data)
	cmd.Flags().BoolVar(&skipCheck, "skip-check", false, "copy the backup without verifying it first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.Flags().StringVar(&archive, "tar", "", "restore the tar archive on standard input; `-` is the only value")
	settings.MarkArguments(cmd.Flags(), "json", "skip-check", "tar")
	from.add(cmd.Flags())
	return cmd
}

func restoreData(
	ctx context.Context, data *core.Data, from string, skipCheck, asJSON bool, stdout, stderr io.Writer,
) error {
	heir, err := identity.HeirOf(data.Dir)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return restoreFor(ctx, &heir, data, from, skipCheck, asJSON, stdout, stderr)
}

// restoreFor restores what belongs to heir then.
func restoreFor(
	ctx context.Context, heir *identity.Heir, data *core.Data, from string, skipCheck, asJSON bool, stdout, stderr io.Writer,
) error {
	show := console.NewProgress(stderr)
	defer show.End()
	log := console.New(stderr, "text", slog.LevelWarn).Log
	if err := data.CheckFolder(); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := storage.Restorable(from, data.Dir, nil); err != nil {
		return restoreError(from, data.Dir, err)
	}
	if !skipCheck {
		if err := checkBackup(ctx, from, show, stderr); err != nil {
			return err
		}
	}
	made, err := storage.Restore(ctx, from, data.Dir, storage.RestoreOptions{
		Logger: log, Replicate: core.Replicate,
		Progress: func(copied, all uint64) {
			show.Say(fmt.Sprintf("copying: %s of %s", console.Size(copied), console.Size(all)))
		},
	})
	show.End()
	if err != nil {
		return errors.Join(restoreError(from, data.Dir, err), heir.Give(data.Dir)) // who begins again may be the owner
	}
	if err := giveData(heir, data.Dir, stderr); err != nil {
		return err
	}
	if asJSON {
		return console.PrintValue(stdout, made)
	}
	_, err = fmt.Fprintf(stdout, "restored %s in %s to %s\n", console.Size(made.Bytes), plural.Of(made.Files, "file", "files"), made.Dir)
	return err
}

// giveData gives the owner of a data folder what root has made in it. A folder that did not exist gets
// the owner of the one that it is in.
func giveData(heir *identity.Heir, dir string, stderr io.Writer) error {
	owner, other := heir.Owner()
	if !other {
		return nil
	}
	if err := heir.Give(dir); err != nil {
		return fmt.Errorf("restore: the data is whole, but still root's: %w; run: chown -R %s %s", err, owner.Numbers(), console.Quote(core.Absolute(dir)))
	}
	fmt.Fprintf(stderr, "shunt: the data belongs to the user %v, as its folder does\n", owner)
	return nil
}

// RestoreStream restores from a tar archive. It is received into a folder in the data folder, whose
// files then become those of the store.
func RestoreStream(
	ctx context.Context, data *core.Data, archive io.Reader, skipCheck, asJSON bool, stdout, stderr io.Writer,
) error {
	return restoreReceived(ctx, data, "standard input", skipCheck, asJSON, stdout, stderr, func(show *console.Progress, dir string) error {
		return backups.Receive(ctx, archive, dir, func(received uint64) { show.Say("receiving: " + console.Size(received)) })
	})
}

// restoreReceived restores the backup whose files receive puts into a folder in the data folder. source names where
// they come from.
func restoreReceived(
	ctx context.Context, data *core.Data, source string, skipCheck, asJSON bool, stdout, stderr io.Writer,
	receive func(show *console.Progress, dir string) error,
) (err error) {
	if err := data.CheckFolder(); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	heir, err := identity.HeirOf(data.Dir)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := storage.BeginStream(data.Dir); err != nil {
		return restoreError(source, data.Dir, err)
	}
	defer func() { err = errors.Join(err, storage.EndStream(data.Dir)) }()
	show, from := console.NewProgress(stderr), storage.StreamFolder(nil, data.Dir)
	err = receive(show, from)
	show.End()
	if err != nil {
		return errors.Join(fmt.Errorf("restore: %s: %w; nothing was restored", source, err), heir.Give(data.Dir))
	}
	return restoreFor(ctx, &heir, data, from, skipCheck, asJSON, stdout, stderr)
}

// checkBackup refuses a backup that has faults.
func checkBackup(ctx context.Context, from string, show *console.Progress, stderr io.Writer) error {
	found, err := core.CheckAlone(ctx, &core.Data{Dir: from}, show.Say, stderr)
	show.End()
	switch {
	case err != nil:
		return fmt.Errorf("restore: %w", err)
	case !found.OK:
		fmt.Fprint(stderr, checkText(&found))
		return fmt.Errorf("restore: %w, in the backup %s; nothing was restored (--skip-check restores it anyway)", errFaults, from)
	}
	return nil
}

// restoreError replaces an error of storage.Restore by what to do about it.
func restoreError(from, dir string, err error) error {
	switch {
	case errors.Is(err, storage.ErrNotEmpty):
		err = fmt.Errorf("%s (--data) is not empty; if it is the data of a server, stop the server and move the folder away "+
			"(mv %s %s.old), then run this again; nothing was changed", dir, console.Quote(dir), console.Quote(dir))
	case errors.Is(err, storage.ErrLocked):
		err = fmt.Errorf("%s (--data) is in use: a server or another restore runs on it; nothing was changed", dir)
	case errors.Is(err, storage.ErrUnfinishedBackup):
		err = fmt.Errorf("the backup in %s did not finish and cannot be used", from)
	case errors.Is(err, storage.ErrOldFormat):
		err = fmt.Errorf("%w; nothing was restored. %s", err, core.KeepOldLinks)
	case errors.Is(err, storage.ErrNotAStore):
		err = fmt.Errorf("there is no backup in %s: %w", from, err)
	case errors.Is(err, storage.ErrNoStore):
		err = fmt.Errorf("there is no backup in %s", from)
	case errors.Is(err, storage.ErrInside):
		err = errors.New("neither the backup nor the data folder (--data) may be inside the other")
	case errors.Is(err, syscall.ENOTDIR):
		err = fmt.Errorf("%s, or %s (--data), is a file, not a folder", from, dir)
	}
	return fmt.Errorf("restore: %w", err)
}
