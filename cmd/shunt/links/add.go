package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/api/sheet"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/users"
)

// The commands that set the fields of a link: add and edit.

func newAdd(stdout, stderr io.Writer) *cobra.Command {
	where, given, asJSON, reuse, csvFile := reach.Target{}, map[string]any{}, false, false, ""
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Make a short link and print its address",
		Long: `Make a short link and print only its address on standard output.

URL may be without its scheme (example.org/x is https://example.org/x), and a space in it becomes %20.

With --csv, each row of FILE becomes a link (- is standard input). Its first line has the headings, of which
only url is needed: ` + sheet.Names() + `.
Commas, semicolons or tabs separate. A file without headings has an address on each line. A date is the end
of that day here, that of a start its beginning. Other flags hold for rows without such a cell; tags are
added. The results are CSV, too: code, short_url, url and error. A refused row stops no other; it is reported
on standard error with its line, and the exit code is 1.

Conditions of a --rule are device=ios (android, mobile, windows, macos, linux, chromeos, desktop),
browser=Firefox, language=de, country=DE, ip=192.0.2.0/24, before=TIME, after=TIME, query.NAME=TEXT,
query.NAME=* (any value) and query.NAME (no value). With " and " between them, all must be met. Bots go to
URL, not to a target of a --split.

It uses the server that runs on the data folder. If none runs, it opens the folder itself. With
--server (and the token in SHUNT_TOKEN) it uses a server elsewhere.`,
		Example: `  shunt add https://example.org/a/long/address
  shunt add https://example.org/app --rule 'device=ios and language=de -> https://example.org/ios'
  shunt add https://example.org/shop --split 70:https://example.org/a --split 30:https://example.org/b
  shunt add https://example.org/spring --alias spring --tag campaign --expires 30d
  shunt add --csv links.csv --tag campaign > results.csv
  SHUNT_TOKEN_FILE=token.txt shunt add https://example.org --server https://sho.rt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if csvFile != "" {
				return usage.Exactly()(cmd, args)
			}
			return usage.Exactly("URL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAdd(given, csvFile != "", reuse, asJSON); err != nil {
				return err
			}
			if reuse {
				given["reuse"] = true
			}
			if csvFile != "" {
				return addSheet(cmd.Context(), &where, csvFile, given, cmd.InOrStdin(), stdout, stderr)
			}
			given["url"] = args[0]
			return addLink(cmd.Context(), &where, given, asJSON, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	settings.Var(fs, new(string), "alias", "CODE", "", "a code of your choice: letters, digits, -, _, . and / (default: drawn)",
		func(text string) (string, error) {
			given["alias"] = text // an empty one too: the server refuses it
			return text, nil
		})
	settings.Var(fs, new(string), "domain", "HOST", "", "the domain in which it is made (default: that of --base-url)", func(text string) (string, error) {
		given["domain"] = text
		return text, nil
	})
	settings.BoolVar(fs, &reuse, "reuse", "print an active link with all that is given, if --reuse, an import with --reuse or a door made one; else make it")
	linkflags.Add(fs, given, true)
	fs.StringVar(&csvFile, "csv", "", "make a link of each row of `FILE`")
	fs.BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(fs, "alias", "domain", "json", "csv", "reuse")
	return cmd
}

// checkAdd returns the error of flags that do not go together.
func checkAdd(given map[string]any, csv, reuse, asJSON bool) error {
	switch _, named := given["alias"]; {
	case named && reuse:
		return settings.UsageErrorf("--reuse does not go with --alias, which names the link already")
	case csv && (named || asJSON):
		return settings.UsageErrorf("--csv takes neither --alias (its rows have their own) nor --json")
	}
	return nil
}

func addLink(ctx context.Context, where *reach.Target, given map[string]any, asJSON bool, stdout, stderr io.Writer) error {
	var link client.Link
	err := where.Do(ctx, "add", stderr, func(c *reach.Connection) error {
		return c.Do(ctx, http.MethodPost, "/shorten", given, &link, c.OnceOptions()...)
	})
	if err != nil {
		return err
	}
	warn(stderr, "add", &link)
	if asJSON {
		return console.PrintJSON(stdout, link.Raw)
	}
	if link.ShortURL == "" {
		return errors.New("add: the server's answer holds no short_url")
	}
	_, err = fmt.Fprintln(stdout, console.Printable(link.ShortURL))
	return err
}

// warn says which parts of a link that was made or changed have no effect.
func warn(stderr io.Writer, command string, link *client.Link) {
	for _, w := range link.Warnings {
		fmt.Fprintf(stderr, "shunt: %s: warning: %s %s\n", command, console.Printable(w.Field), console.Printable(w.Message))
	}
}

func newEdit(stdout, stderr io.Writer) *cobra.Command {
	where, given, options, asJSON, owner := reach.Target{}, map[string]any{}, []client.Option(nil), false, ""
	of := filter{}
	cmd := &cobra.Command{
		Use:   "edit CODE… | --with-tag TAG --yes",
		Short: "Change links",
		Long: `Change the given fields of links, and print them as 'shunt show' does. Everything else stays: the code,
the hits, and the fields that are not given. Given tags replace all tags of a link. CODE may be the
whole short address. A link that cannot be changed is named, the others are changed, and the exit code
is 1.

With --if-match one link is changed only if it still has that version, which 'shunt show' prints: if
somebody has edited it meanwhile, nothing changes and the exit code is 1.

With a filter instead of codes (--with-tag, --state, --q and so on), it lists the codes of the links that it
has, at most 100,000, and changes nothing; with --yes it changes them. They are your links.

An admin may give any user's link to another user, with --owner: the link's figures go with it. What was
counted so far stays in the sums of the former owner.
` + reach.WhereTokensAre,
		Example: `  shunt edit spring --url https://example.org/summer --expires 30d
  shunt edit spring --tag campaign --tag print --max-hits none
  shunt edit spring --forward-query --status 307 --if-match 3
  shunt edit spring --title '' --json
  shunt edit spring summer --owner ann@example.com
  shunt edit --with-tag campaign --state active --expires 2026-12-31 --yes`,
		Args: of.check,
		RunE: func(cmd *cobra.Command, args []string) error {
			changesOwner := cmd.Flags().Changed("owner")
			if len(given) == 0 && !changesOwner {
				return settings.UsageErrorf("say what to change: %s, --owner", linkflags.Names())
			}
			if changesOwner && strings.TrimSpace(owner) == "" {
				return settings.UsageErrorf("--owner must be the e-mail address or the ID of a user, not empty")
			}
			filtered := of.given(cmd)
			if (len(args) > 1 || filtered) && len(options) > 0 {
				return settings.UsageErrorf("--if-match needs one link, because each has a version of its own")
			}
			e := &editor{
				given: given, options: options, owner: owner, stderr: stderr, p: &severalPrinter{w: stdout, asJSON: asJSON, several: len(args) > 1},
			}
			if filtered {
				e.quiet = !asJSON
				e.p.several = true
				return of.each(cmd.Context(), &where, "edit", "changed", stdout, stderr, e.editor(cmd.Context()))
			}
			return withLinks(cmd.Context(), &where, "edit", args, stderr, e.editor(cmd.Context()))
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	linkflags.Add(fs, given, false)
	of.add(cmd, "with-tag", "change")
	settings.Var(fs, &of.domain, "domain", "HOST", "", "with a filter: "+domainOfLinks, func(text string) ([]client.Option, error) {
		return []client.Option{client.InDomain(text)}, nil
	})
	settings.Var(fs, &options, "if-match", "VERSION", "", "only if the link has this version, which 'shunt show' prints", parseVersion)
	fs.StringVar(&owner, "owner", "", "give the link to this `USER`: an e-mail address or an ID (for admins)")
	fs.BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(fs, "domain", "if-match", "owner", "json")
	return cmd
}

// parseVersion reads a link's version, also as the ETag that the API has it in.
func parseVersion(text string) ([]client.Option, error) {
	version, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 64)
	if err != nil || version == 0 {
		return nil, errors.New("must be a link's version, a number from 1")
	}
	return []client.Option{client.IfVersion(version)}, nil
}

// An editor changes links, one after the other or several at once.
type editor struct {
	given   map[string]any
	options []client.Option
	owner   string // empty: they stay with theirs
	quiet   bool   // links are not printed
	stderr  io.Writer

	mu sync.Mutex // of all below, and of given and options until the owner is found
	p  *severalPrinter
}

// editor returns what changes a link.
func (e *editor) editor(ctx context.Context) func(*reach.Connection, namedLink) error {
	return func(c *reach.Connection, l namedLink) error {
		if err := e.findOwner(ctx, c); err != nil {
			return err
		}
		var link client.Link
		if err := c.Do(ctx, http.MethodPatch, "/links/"+url.PathEscape(l.code), e.given, &link, l.in(e.options...)...); err != nil {
			return err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		warn(e.stderr, "edit", &link)
		if e.quiet {
			return nil
		}
		return e.p.print(link.Raw, linkText(&link))
	}
}

// findOwner finds, once, the user who gets the links.
func (e *editor) findOwner(ctx context.Context, c *reach.Connection) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.owner == "" {
		return nil
	}
	u, err := users.FindOrID(ctx, c, e.owner)
	if err != nil {
		return err
	}
	e.given["owner"], e.owner = u.ID, ""
	e.options = append(e.options, client.AnyOwner())
	return nil
}
