package links

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/importer"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
)

// importAsked has the flags of import.
type importAsked struct {
	owner   []client.Option
	ownerID string // for people; empty: the caller
	refused string
	domain  string // a host; empty: the default one
	create  bool   // domains
	resume  bool
	asJSON  bool
}

func newImport(stdout, stderr io.Writer) *cobra.Command {
	where, asked := reach.Target{}, importAsked{}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import links made elsewhere",
		Long: `Import links with their codes, times and hits. FILE has one JSON object per line, as 'shunt export'
prints them; - is standard input. A line needs code and url, and may have created_at, updated_at, hits
and the other fields of a link:
` + linkflags.APINames() + `
Exports, and files whose first line is newer than the last, have the newest link first: they are
imported from the last line to the first, so that lists have the same order.

A refused line stops no other line and makes the exit code 1. The first 100 are reported on standard
error with their numbers; --refused writes all of them into a file. The links become yours, or another
user's with --owner. Hits count in the total; their times and visitors are not in such a file. Only
admins may import.

An import that was cut (by Ctrl-C, a kill, or a server that is gone for long) goes on with --resume
where it was cut, to the same server. Until it is done, how far it has come is in FILE.shunt-import.
Without --resume it begins at the beginning, which is safe, too: a link that already exists with the
same fields is not changed. But a link that was edited since is refused, and one that was deleted is
made again.
` + reach.WhereTokensAre,
		Example: `  shunt import links.ndjson
  shunt import --resume links.ndjson
  shunt export --server https://old.example > links.ndjson && shunt import links.ndjson --owner 3`,
		Args: usage.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asked.resume && args[0] == "-" {
				return settings.UsageErrorf("--resume needs a file, because standard input can be read only once")
			}
			asked.ownerID = strings.TrimLeft(cmd.Flags().Lookup("owner").Value.String(), "0")
			return importFile(cmd.Context(), &where, args[0], asked, cmd.InOrStdin(), stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	addOwner(cmd, &asked.owner, "give the links to the user with this ID", false)
	fs.StringVar(&asked.domain, "domain", "", "the links that name no domain are of the one with this `HOST`")
	fs.BoolVar(&asked.create, "create-domains", false, "add the domains of links that the server does not have yet")
	fs.BoolVar(&asked.resume, "resume", false, "go on where an earlier import of FILE was cut")
	fs.StringVar(&asked.refused, "refused", "", "write a message for each refused line into `FILE`")
	fs.BoolVar(&asked.asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(fs, "domain", "create-domains", "resume", "refused", "json")
	return cmd
}

// options returns the options of the calls.
func (a *importAsked) options() []client.Option {
	options := a.owner
	if a.domain != "" {
		options = append(options, client.InDomain(a.domain))
	}
	if a.create {
		options = append(options, client.CreateDomains())
	}
	return options
}

func importFile(ctx context.Context, where *reach.Target, file string, asked importAsked, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	uid := os.Geteuid()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process
	var done importer.Done
	var resumable bool
	err := where.With(ctx, stderr, func(c *reach.Connection) (err error) {
		x := &importer.Import{
			File: file, Stdin: stdin, Stderr: stderr, Refused: asked.refused, Resume: asked.resume, To: destination(where, asked.ownerID),
			Send: func(ctx context.Context, batches iter.Seq[[]json.RawMessage]) iter.Seq2[client.ImportResult, error] {
				return c.ImportAll(ctx, batches, asked.options()...)
			},
		}
		done, resumable, err = x.Run(ctx)
		return err
	})
	if err != nil {
		return importError(asOwner(err, file, uid), done, resumable)
	}
	if asked.asJSON {
		err = console.PrintValue(stdout, done)
	} else {
		_, err = fmt.Fprintln(stdout, done)
	}
	if err == nil && done.Failed > 0 {
		hint := ""
		if done.Failed == done.Links() { // perhaps a file of another kind
			hint = "; an import takes lines of JSON such as 'shunt export' prints"
		}
		err = fmt.Errorf("import: refused: %d of %s%s", done.Failed, plural.Of(done.Links(), "link", "links"), hint)
	}
	return err
}

// asOwner adds to an error of a file, if it is one of permission and the command has become another user
// than uid, how the file is read all the same.
func asOwner(err error, file string, uid int) error {
	if os.Geteuid() == uid || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w for the owner of the data folder, as which the command works; run: shunt import - < %s", err, console.Quote(file))
}

// importError explains why an import ended before its end, and what to do.
func importError(err error, done importer.Done, resumable bool) error {
	switch {
	case resumable:
		return fmt.Errorf("import: %w; before that: %s\nthe same command with --resume goes on there", err, done)
	case done != importer.Done{}:
		return fmt.Errorf("import: %w; before that: %s", err, done)
	}
	return fmt.Errorf("import: %w", err)
}

// destination names, for people and later imports, where links go: to a server or a folder, and to
// a user.
func destination(t *reach.Target, ownerID string) string {
	name := t.Server
	if name == "" {
		name = core.Absolute(t.Data.Dir)
	}
	if ownerID != "" {
		return name + ", user " + ownerID
	}
	if t.User != "" {
		return name + ", user " + t.User
	}
	return name
}
