package links

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine"
)

// The commands for existing links; add.go has add.

const (
	defaultListed = 50
	maxPage       = 1000 // links that the server gives at once
)

// linkOrders are the orders that --sort takes.
var linkOrders = []string{"created", "updated", "hits", "relevance", "visitors", "last_hit"}

// linkStates are the states that --state takes.
var linkStates = []string{
	string(client.StateActive), string(client.StateScheduled), string(client.StateExpired), string(client.StateExhausted),
	string(client.StateBlocked), string(client.StateDisabled),
}

// listedWords lists words for a help text.
func listedWords(words []string) string { return strings.Join(words, ", ") }

// listAsked has the flags of ls.
type listAsked struct {
	client.LinksQuery
	listed
	whose
	trash bool
}

// check refuses flags that contradict each other.
func (a *listAsked) check(cmd *cobra.Command) error {
	if !a.trash {
		return a.listed.check(cmd)
	}
	if a.LinksQuery != (client.LinksQuery{}) {
		return settings.UsageErrorf("--trash lists all that was deleted: it takes no words, and no other flags than --owner, --domain, --limit, --all and --json")
	}
	a.State = client.StateDeleted
	return a.listed.check(cmd)
}

// whose says whose links or tags a command is about, and of which domain.
type whose struct{ owner, domain []client.Option }

func (w *whose) options() []client.Option { return slices.Concat(w.owner, w.domain) }

// addWhose gives cmd the flags owner and domain.
func addWhose(cmd *cobra.Command, w *whose, help, domainHelp string, all bool) {
	addOwner(cmd, &w.owner, help, all)
	settings.Var(cmd.Flags(), &w.domain, "domain", "HOST", "", domainHelp, func(text string) ([]client.Option, error) {
		return []client.Option{client.InDomain(text)}, nil
	})
	settings.MarkArguments(cmd.Flags(), "domain")
}

// addOwner gives cmd the flag owner, which becomes options of a call. all: the owner may be "all".
func addOwner(cmd *cobra.Command, options *[]client.Option, help string, all bool) {
	settings.Var(cmd.Flags(), options, "owner", "ID", "", help, func(text string) ([]client.Option, error) {
		id, err := strconv.ParseUint(text, 10, 32)
		switch {
		case all && text == "all":
			return []client.Option{client.AnyOwner()}, nil
		case err == nil && id > 0:
			return []client.Option{client.Owner(uint32(id))}, nil
		case all:
			return nil, errors.New("must be a user's ID, which 'shunt user ls' lists, or all")
		}
		return nil, errors.New("must be a user's ID, which 'shunt user ls' lists")
	})
	settings.MarkArguments(cmd.Flags(), "owner")
}

const (
	ownerOfLinks = "links of the user with this ID, or all (for admins)"
	ownerOfTags  = "tags of the user with this ID (for admins)"

	domainOfLinks = "only links of the domain with this host (default: of all domains)"
	domainOfTags  = "tags of the domain with this host (default: that of --base-url)"
)

func newLs(stdout, stderr io.Writer) *cobra.Command {
	where, asked := reach.Target{Reads: true}, listAsked{}
	cmd := &cobra.Command{
		Use:   "ls [WORD ...]",
		Short: "List links, or find them by words",
		Long: `List your links, newest first: as a table, or with --json as one link object per line. Without --limit
and --all, it lists the first 50.

With words, it lists the links that have all of them: anywhere in the code, target, tags, title or another text,
in upper or lower case, with or without accents. A link with that very code comes first. A short or long
address finds its link.
` + reach.WhereTokensAre,
		Example: `  shunt ls
  shunt ls spring sale
  shunt ls https://example.org/a/long/address
  shunt ls --tag campaign --sort hits --all
  shunt ls --never-hit --created-to 30d
  shunt ls --trash
  shunt ls example.org --json | jq -r .short_url`,
		RunE: func(cmd *cobra.Command, words []string) error {
			asked.Q = strings.Join(words, " ")
			if err := asked.check(cmd); err != nil {
				return err
			}
			return where.Do(cmd.Context(), "ls", stderr, func(c *reach.Connection) error {
				return printLinks(cmd.Context(), c, asked, stdout, stderr)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	addQuery(cmd, &asked.LinksQuery, "tag")
	settings.WordVar(fs, &asked.Sort, "sort", "ORDER", "", "the greatest first: "+strings.Join(linkOrders, ", ")+" (default: the newest link first)", linkOrders...)
	fs.BoolVar(&asked.Ascending, "ascending", false, "the other way round: the least, or the oldest, first")
	addFolder(fs, &asked.Folder, "links in this folder, whoever's they are")
	fs.BoolVar(&asked.trash, "trash", false, "what was deleted and can be restored, the last deletion first")
	asked.add(fs, "all links", "print link objects, one per line")
	addWhose(cmd, &asked.whose, ownerOfLinks, domainOfLinks, true)
	settings.MarkArguments(fs, "sort", "ascending", "trash")
	return cmd
}

// addFolder declares the flag of a folder; what says which links are meant.
func addFolder(fs *pflag.FlagSet, to *uint32, what string) {
	settings.Var(fs, to, "folder", "ID", "", what, func(text string) (uint32, error) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil || id == 0 {
			return 0, errors.New("must be the ID of a folder, which 'shunt folder ls' lists")
		}
		return uint32(id), nil
	})
	settings.MarkArguments(fs, "folder")
}

// nameIn returns a code with the host of its domain, if that is not the default one: a name that commands take.
func nameIn(domain, code string) string {
	if domain == "" {
		return code
	}
	return domain + "/" + code
}

// printLinks prints links, and reports on stderr if there are more.
func printLinks(ctx context.Context, c *reach.Connection, asked listAsked, stdout, stderr io.Writer) error {
	asked.PageSize = asked.pageSize()
	third, fourth := "STATE", "CREATED"
	if asked.trash {
		third, fourth = "DELETED", "UNTIL"
	}
	out := newListPrinter(stdout, asked.asJSON, "CODE", "HITS", third, fourth, "TARGET", "TITLE")
	err := printListed(&asked.listed, c.Links(ctx, asked.LinksQuery, asked.options()...), stderr, func(l *client.Link) error {
		third, fourth := string(l.State), console.Time(l.CreatedAt)
		if asked.trash {
			third, fourth = console.Time(l.DeletedAt), console.Time(l.DeletedAt.AddDate(0, 0, engine.TrashDays))
		}
		return out.print(l.Raw, nameIn(l.Domain, l.Code), strconv.FormatUint(l.Hits, 10), third, fourth, l.URL, l.Title)
	})
	return errors.Join(err, out.flush(err == nil))
}

// listed is how much of a list is asked for, and in which form.
type listed struct {
	limit       int
	all, asJSON bool
}

// add declares the flags.
func (a *listed) add(fs *pflag.FlagSet, all, json string) {
	fs.IntVar(&a.limit, "limit", defaultListed, "at most `MANY`")
	fs.BoolVar(&a.all, "all", false, all)
	fs.BoolVar(&a.asJSON, "json", false, json)
	settings.MarkArguments(fs, "limit", "all", "json")
}

// check refuses flags that contradict each other.
func (a *listed) check(cmd *cobra.Command) error {
	switch {
	case a.all && cmd.Flags().Changed("limit"):
		return settings.UsageErrorf("--all and --limit exclude each other")
	case a.limit < 1:
		return settings.UsageErrorf("--limit must be at least 1")
	}
	return nil
}

func (a *listed) pageSize() int {
	if a.all {
		return maxPage
	}
	return min(a.limit, maxPage-1) + 1 // one more shows whether there are more
}

// printListed prints what is asked for of all items of a list, and reports on stderr if there are more.
func printListed[T any](asked *listed, items iter.Seq2[T, error], stderr io.Writer, print func(*T) error) error {
	printed := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		if !asked.all && printed == asked.limit {
			fmt.Fprintln(stderr, "shunt: there are more; --all lists them")
			return nil
		}
		if err := print(&item); err != nil {
			return err
		}
		printed++
	}
	return nil
}

// A listPrinter prints items: their objects, one a line, or tables of maxPage rows, the first with a head.
type listPrinter struct {
	w      *bufio.Writer
	asJSON bool
	head   []string   // nil: printed
	rows   [][]string // not printed yet
}

func newListPrinter(w io.Writer, asJSON bool, head ...string) *listPrinter {
	return &listPrinter{w: bufio.NewWriter(w), asJSON: asJSON, head: head}
}

func (p *listPrinter) print(object []byte, row ...string) error {
	if p.asJSON {
		_, err := fmt.Fprintf(p.w, "%s\n", object)
		return err
	}
	if p.rows = append(p.rows, row); len(p.rows) < maxPage {
		return nil
	}
	return p.table()
}

func (p *listPrinter) table() error {
	rows := p.rows
	if p.head != nil {
		rows = slices.Insert(rows, 0, p.head)
	}
	p.head, p.rows = nil, nil
	return console.PrintTable(p.w, rows)
}

// flush prints what is not printed yet. A complete list without items is a head.
func (p *listPrinter) flush(complete bool) error {
	if !p.asJSON && (len(p.rows) > 0 || complete && p.head != nil) {
		if err := p.table(); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

func newRm(stdout, stderr io.Writer) *cobra.Command {
	where, of, purge := reach.Target{}, filter{}, false
	cmd := &cobra.Command{
		Use:   "rm CODE… | --tag TAG --yes",
		Short: "Delete links",
		Long: `Delete links. They are in the trash of their owners for 30 days, which 'shunt ls --trash' lists; 'shunt undelete'
brings them back with their hits. With --purge they are not, and those in the trash are deleted for good, too.
Their codes stay taken for 90 days, but their owner, or an admin, may take them again. CODE may
be the whole short address; with an address of another server nothing is deleted. A link that cannot be
deleted is named, the others are deleted, and the exit code is 1.

With a filter instead of codes (--tag, --state, --q and so on, as 'shunt ls' has them), it lists the codes of
the links that it has, at most 100,000, and deletes nothing; with --yes it deletes them.
` + reach.WhereTokensAre,
		Example: `  shunt rm spring
  shunt rm http://127.0.0.1:8080/spring summer
  shunt rm spring --purge
  shunt rm --tag old --state expired
  shunt rm --tag old --state expired --yes`,
		Args: of.check,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			remove := func(c *reach.Connection, l namedLink, options []client.Option) error {
				if purge {
					return c.Purge(ctx, l.code, options...)
				}
				return c.Delete(ctx, l.code, options...)
			}
			if of.given(cmd) {
				return of.each(ctx, &where, "rm", "deleted", stdout, stderr, func(c *reach.Connection, l namedLink) error {
					return remove(c, l, l.in(of.owner...))
				})
			}
			return withLinks(ctx, &where, "rm", args, stderr, func(c *reach.Connection, l namedLink) error { return remove(c, l, l.in()) })
		},
	}
	reach.AddSettings(cmd, &where)
	of.add(cmd, "tag", "delete")
	addWhose(cmd, &of.whose, "with a filter: "+ownerOfLinks, "with a filter: "+domainOfLinks, true)
	cmd.Flags().BoolVar(&purge, "purge", false, "not into the trash, and out of it: the links cannot be restored")
	settings.MarkArguments(cmd.Flags(), "purge")
	return cmd
}

func newUndelete(stderr io.Writer) *cobra.Command {
	where, owner := reach.Target{}, []client.Option(nil)
	cmd := &cobra.Command{
		Use:   "undelete CODE…",
		Short: "Take deleted links out of the trash",
		Long: `Take links out of the trash, with their hits and all other figures: they redirect again as they did. A link
is in the trash for 30 days after its deletion, unless its code was taken again or it was purged; 'shunt ls --trash'
lists what is there. CODE may be the whole short address. A link that cannot be restored is named, the others are
restored, and the exit code is 1.
` + reach.WhereTokensAre,
		Example: `  shunt undelete spring
  shunt undelete http://127.0.0.1:8080/spring summer`,
		Args: usage.OneOrMore("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withLinks(ctx, &where, "undelete", args, stderr, func(c *reach.Connection, l namedLink) error {
				_, err := c.Restore(ctx, l.code, l.in(owner...)...)
				return err
			})
		},
	}
	reach.AddSettings(cmd, &where)
	addOwner(cmd, &owner, ownerOfLinks, true)
	return cmd
}

func newReset(stderr io.Writer) *cobra.Command {
	where := reach.Target{}
	cmd := &cobra.Command{
		Use:   "reset CODE…",
		Short: "Set the figures of links to zero",
		Long: `Set the figures of links to zero: hits, visitors and bots, also in windows and breakdowns, and hits that were
imported. The links go on redirecting, and a limit of hits may be used up again. The sums over all links keep what was
counted. This cannot be undone. CODE may be the whole short address.
` + reach.WhereTokensAre,
		Example: `  shunt reset spring
  shunt reset http://127.0.0.1:8080/spring summer`,
		Args: usage.OneOrMore("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withLinks(ctx, &where, "reset", args, stderr, func(c *reach.Connection, l namedLink) error {
				_, err := c.ResetFigures(ctx, l.code, l.in()...)
				return err
			})
		},
	}
	reach.AddSettings(cmd, &where)
	return cmd
}

func newExport(stdout, stderr io.Writer) *cobra.Command {
	where, of, asked, asCSV := reach.Target{Reads: true}, whose{}, client.ExportQuery{}, false
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print all links, one JSON object per line, or as CSV",
		Long: `Print all your links, or with --folder those in a folder, as they are at this moment: one JSON object
per line, newest first, or as a table with --csv; 'shunt import' takes both. With --tag, --state, --q and so on only the
links that 'shunt ls' has with them. If it does not exit with 0, the output is not complete. An import elsewhere refuses
links with a password, unless --password-hashes was given here.
` + reach.WhereTokensAre,
		Example: `  shunt export > links.ndjson
  shunt export --owner all --unique
  shunt export --csv > links.csv
  shunt export --folder 3 --csv > spring.csv`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			export := exportLinks
			if asCSV {
				export = exportTable
			}
			err := where.With(cmd.Context(), stderr, func(c *reach.Connection) error {
				return export(cmd.Context(), c, asked, of.options(), stdout)
			})
			if err != nil {
				return fmt.Errorf("export: %w", err)
			}
			return nil
		},
	}
	reach.AddSettings(cmd, &where)
	addWhose(cmd, &of, ownerOfLinks, domainOfLinks, true)
	addFolder(cmd.Flags(), &asked.Folder, "the links in this folder, whoever's they are")
	addQuery(cmd, &asked.Only, "tag")
	addWords(cmd, &asked.Only)
	cmd.Flags().BoolVar(&asked.Unique, "unique", false, "with the unique visitors of each link")
	cmd.Flags().BoolVar(&asked.Daily, "daily", false, "with the hits of each day that is kept, at most of the last 1200; an import takes them, without visitors")
	cmd.Flags().BoolVar(&asked.Hashes, "password-hashes", false, "with the hashes of the passwords of links, without which these cannot be imported elsewhere (admin)")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "as CSV, with a line of headings")
	settings.MarkArguments(cmd.Flags(), "unique", "daily", "password-hashes", "csv")
	return cmd
}

// exportBufferBytes is how much of an export is written at once.
const exportBufferBytes = 64 << 10

// exportLinks prints lines unchanged; it does not look into a link.
func exportLinks(ctx context.Context, c *reach.Connection, q client.ExportQuery, owner []client.Option, stdout io.Writer) (err error) {
	out := bufio.NewWriterSize(stdout, exportBufferBytes)
	defer func() { err = errors.Join(err, out.Flush()) }()
	for line, err := range c.ExportLines(ctx, q, owner...) {
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exportTable prints CSV as the server sends it.
func exportTable(ctx context.Context, c *reach.Connection, q client.ExportQuery, owner []client.Option, stdout io.Writer) error {
	table, err := c.ExportCSV(ctx, q, owner...)
	if err != nil {
		return err
	}
	defer table.Close()
	_, err = io.CopyBuffer(stdout, table, make([]byte, exportBufferBytes))
	return err
}
