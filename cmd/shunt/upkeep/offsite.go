package upkeep

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/offsite"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/version"
	"shunt/engine/plural"
)

// offsiteChoice is what the arguments of backup say about a bucket.
type offsiteChoice struct {
	settings  offsite.Settings
	encryptTo string
	keepFor   time.Duration

	place *offsite.Place // nil: none was chosen
	seal  *offsite.Seal
	sent  offsite.Sent
}

func (o *offsiteChoice) add(fs *pflag.FlagSet) {
	settings.Var(fs, &o.keepFor, "keep-for", "SPAN", "", "with --to s3://…: also keep all backups that are younger, such as 30d", settings.ParseSpan)
	settings.MarkArguments(fs, "keep-for")
	offsite.AddSeal(fs, &o.encryptTo)
	offsite.Add(fs, &o.settings)
}

// choose makes order one of a backup that this process sends to a bucket. Without --keep and --keep-for all backups
// stay: a server may keep others there.
func (o *offsiteChoice) choose(order *api.BackupOrder, keeps bool) error {
	place, err := offsite.ParsePlace(order.To)
	if err != nil {
		return settings.UsageErrorf("--to %s: it %w", console.Quote(order.To), err)
	}
	if o.encryptTo != "" {
		if o.seal, err = offsite.ReadSeal(o.encryptTo); err != nil {
			return settings.UsageErrorf("%w", err)
		}
	}
	if order.Keep == 0 && keeps && o.keepFor > 0 {
		return settings.UsageErrorf("--keep 0 keeps all, so --keep-for says nothing; leave one out")
	}
	if !keeps {
		order.Keep = 0
		if o.keepFor > 0 {
			order.Keep = 1 // and those of --keep-for
		}
	}
	o.place, order.Stream, order.To = &place, true, ""
	return nil
}

// push sends a backup and looks for what no backup needs.
func (o *offsiteChoice) push(ctx context.Context, made *core.Backup, keep int, show *console.Progress) error {
	order := offsite.Order{
		Place: *o.place, Settings: &o.settings, Seal: o.seal, Keep: offsite.Keep{Least: keep, Span: o.keepFor}, Sweep: true, Say: show.Say,
	}
	backup := offsite.Made{Dir: made.Dir, At: made.At, Links: made.Links, Program: version.Text()}
	_, err := hex.Decode(backup.Store[:], []byte(made.Store))
	if err == nil {
		o.sent, err = offsite.Push(ctx, backup, order)
	}
	return err
}

// print prints what was sent.
func (o *offsiteChoice) print(done *core.Backup, asJSON bool, stdout, stderr io.Writer) (err error) {
	if o.sent.Warning != "" {
		fmt.Fprintf(stderr, "shunt: warning: %s\n", console.Printable(o.sent.Warning))
	}
	if asJSON {
		return console.PrintValue(stdout, struct {
			offsite.Sent
			Store    string `json:"store"`
			Links    uint64 `json:"links"`
			Verified bool   `json:"verified"`
			TookMs   int64  `json:"took_ms"`
		}{o.sent, done.Store, done.Links, done.Verified, done.TookMs})
	}
	text := fmt.Sprintf("backed up %s, %s in %s, to %s; sent %s in %s",
		plural.Of(done.Links, "link", "links"), console.Size(o.sent.Bytes), plural.Of(o.sent.Files, "file", "files"), o.sent.Place,
		console.Size(o.sent.SentBytes), plural.Of(o.sent.SentFiles, "new file", "new files"))
	if done.Verified {
		text += ", verified"
	}
	if o.sent.EncryptedFor > 0 {
		text += ", encrypted to " + plural.Of(o.sent.EncryptedFor, "recipient", "recipients")
	}
	if n := len(o.sent.Removed); n > 0 {
		text += "; removed " + plural.Of(n, "older backup", "older backups")
	}
	_, err = fmt.Fprintln(stdout, text)
	return err
}

// maxListedBackups is how many backups can be listed at once.
const maxListedBackups = 100_000

func newBackupLs(stdout io.Writer) *cobra.Command {
	from, store, most, asJSON := offsite.Settings{}, "", 0, false
	cmd := &cobra.Command{
		Use:   "ls s3://BUCKET/PREFIX",
		Short: "List the backups in a bucket",
		Long: `List the backups in a bucket, the newest first: the time of the state that they have, the store, its
links and its size. 'shunt restore --from' restores the newest, and with --at TIME the last one before it.`,
		Example: `  shunt backup ls s3://backups/shunt
  shunt backup ls s3://backups/shunt --limit 1 --json`,
		Args: usage.Exactly("s3://BUCKET/PREFIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := offsite.ParsePlace(args[0])
			if err != nil {
				return settings.UsageErrorf("%s %w", console.Quote(args[0]), err)
			}
			entries, more, err := offsite.List(cmd.Context(), place, &from, store, most)
			if err != nil {
				return fmt.Errorf("backup ls: %w", err)
			}
			return printEntries(entries, more, asJSON, stdout)
		},
	}
	usage.AddConfig(cmd)
	fs := cmd.Flags()
	addStore(fs, &store)
	settings.Var(fs, &most, "limit", "N", "100", "list the newest `N`", settings.CountUpTo(maxListedBackups))
	fs.BoolVar(&asJSON, "json", false, "print the list as JSON")
	settings.MarkArguments(fs, "limit", "json")
	offsite.Add(fs, &from)
	return cmd
}

func printEntries(entries []offsite.Entry, more, asJSON bool, stdout io.Writer) error {
	if asJSON {
		if entries == nil {
			entries = []offsite.Entry{}
		}
		return console.PrintValue(stdout, map[string]any{"backups": entries, "more": more})
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIME\tSTORE\tLINKS\tSIZE\tFILES\tENCRYPTED")
	for i := range entries {
		e := &entries[i]
		if e.Problem != "" {
			fmt.Fprintf(w, "%s\t%s\t%s\n", e.At.Format(listedTime), e.Store, console.Printable(e.Problem))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%s\n", e.At.Format(listedTime), e.Store, e.Links, console.Size(e.Bytes), e.Files, yesOrNo(e.Encrypted))
	}
	if more {
		fmt.Fprintln(w, "there are more; --limit lists them")
	}
	return w.Flush()
}

// listedTime is how times of backups are shown: --at takes them.
const listedTime = "2006-01-02T15:04:05.000Z"

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

var storeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func addStore(fs *pflag.FlagSet, store *string) {
	settings.Var(fs, store, "store", "ID", "", "the store of that id, if there are backups of several", func(text string) (string, error) {
		if !storeID.MatchString(text) {
			return "", fmt.Errorf("must be the id of a store, as 'shunt backup ls' lists it: 32 of 0-9 and a-f")
		}
		return text, nil
	})
	settings.MarkArguments(fs, "store")
}

// fetchChoice is what the arguments of restore say about a bucket.
type fetchChoice struct {
	settings offsite.Settings
	from     string
	store    string
	at       time.Time
	identity string

	place *offsite.Place // nil: none was chosen
	key   *offsite.Key
}

func (f *fetchChoice) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.from, "from", "", "restore from a bucket, `s3://BUCKET/PREFIX`")
	settings.Var(fs, &f.at, "at", "TIME", "", "with --from: the last backup before this time, such as 2026-11-28T12:00:00Z or 2h (before now)", settings.Now(settings.ParseEnd))
	fs.StringVar(&f.identity, "identity", "", "with --from: `FILE` with the secret key of age that opens the backup")
	settings.MarkArguments(fs, "from", "at", "identity")
	addStore(fs, &f.store)
	offsite.Add(fs, &f.settings)
}

// belong refuses flags of --from without it.
func (f *fetchChoice) belong(fs *pflag.FlagSet) error {
	for _, name := range []string{"at", "identity", "store"} {
		if fs.Changed(name) {
			return settings.UsageErrorf("--%s belongs to --from s3://BUCKET/PREFIX", name)
		}
	}
	return nil
}

// check reads what the command line says. It implements cobra.PositionalArgs.
func (f *fetchChoice) check(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("tar") {
		return settings.UsageErrorf("--from and --tar exclude each other")
	}
	if len(args) > 0 {
		return settings.UsageErrorf("unexpected argument %q: the backup comes from where --from says", args[0])
	}
	place, err := offsite.ParsePlace(f.from)
	if err != nil {
		return settings.UsageErrorf("--from %s: it %w", console.Quote(f.from), err)
	}
	if f.identity != "" {
		if f.key, err = offsite.ReadKey(f.identity); err != nil {
			return settings.UsageErrorf("%w", err)
		}
	}
	f.place = &place
	return nil
}

// restore fetches the backup into the data folder and restores it.
func (f *fetchChoice) restore(ctx context.Context, data *core.Data, skipCheck, asJSON bool, stdout, stderr io.Writer) error {
	found, err := offsite.Find(ctx, offsite.Wanted{Place: *f.place, Settings: &f.settings, Store: f.store, At: f.at, Key: f.key})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	fmt.Fprintf(stderr, "shunt: restoring the backup of %s: %s, %s\n", found.At.Format(listedTime), plural.Of(found.Links, "link", "links"), console.Size(found.Bytes))
	return restoreReceived(ctx, data, f.place.String(), skipCheck, asJSON, stdout, stderr, func(show *console.Progress, dir string) error {
		return found.Fetch(ctx, dir, show.Say)
	})
}
