package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/storage"
)

func newResolve(stdout, stderr io.Writer) *cobra.Command {
	from, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "resolve --from BACKUP CODE",
		Short: "Say where a code leads according to a backup, without a server",
		Long: `Say where a code leads according to a backup, without a server: the target alone on standard output. BACKUP
is a folder that 'shunt backup' made, or a tar archive as 'shunt backup --tar -' writes it; - is such an archive on
standard input. A data folder that nobody serves will do, too. Nothing there is changed. CODE may be the whole short
address; without a domain it is looked for in all of them, the default one first.

What a backup does not tell (whether a limit of hits is used up, what is on a block list) is left out. A code that is
not there or was deleted makes the exit code 1.`,
		Example: `  shunt resolve --from /backups/monday spring
  shunt resolve --from shunt.tar https://sho.rt/spring --json
  zstd -dc shunt.tar.zst | shunt resolve --from - spring`,
		Args: usage.Exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return settings.UsageErrorf("name the backup with --from: a folder, or a tar archive")
			}
			led, err := resolveFrom(cmd.Context(), from, args[0], cmd.InOrStdin(), stderr)
			if errors.Is(err, storage.ErrNoStore) {
				err = fmt.Errorf("there is no backup in %s", console.Printable(from))
			}
			if err != nil {
				return fmt.Errorf("resolve: %w", err)
			}
			if asJSON {
				return console.PrintValue(stdout, led)
			}
			for _, note := range led.Notes() {
				fmt.Fprintln(stderr, "shunt: resolve:", note)
			}
			_, err = fmt.Fprintln(stdout, console.Printable(led.URL))
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&from, "from", "", "the `BACKUP`: a folder, a tar archive, or - for one on standard input")
	fs.BoolVar(&asJSON, "json", false, "print an object with more of the link")
	settings.MarkArguments(fs, "from", "json")
	return cmd
}

// resolveFrom resolves a name in a folder, or in an archive, which is unpacked into a folder for temporary files first.
func resolveFrom(ctx context.Context, from, name string, stdin io.Reader, stderr io.Writer) (led core.Led, err error) {
	archive := stdin
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return led, err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.IsDir() {
			if err != nil {
				return led, err
			}
			return core.Resolve(from, from, name, stderr)
		}
		archive = f
	}
	dir, err := os.MkdirTemp("", "shunt-resolve-")
	if err != nil {
		return led, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	show := console.NewProgress(stderr)
	err = backups.Receive(ctx, archive, dir, func(received uint64) { show.Say("unpacking: " + console.Size(received)) })
	show.End()
	if err != nil {
		return led, fmt.Errorf("%s: %w", console.Printable(from), err)
	}
	return core.Resolve(dir, from, name, stderr)
}
