package links

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/api/source"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/importer"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/shlink"
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
	rules   string // a file for those of a proxy
	dryRun  bool
	reuse   bool // the links may be found by their targets
	asked   bool // whether they may was said
	format  source.Options
	columns []string // FIELD=COLUMN
	hosts   []string // HOST=DOMAIN
	zone    string
	log     bool           // of clicks
	logZone string         // of their times
	from    *shlink.Server // nil: a file
}

// importHelp returns the description of the command.
func importHelp() string {
	return `Import links with their codes, times and hits. FILE is an export of shunt, or what another system has
given out, also packed by gzip or zstd; - is standard input. Its content tells what it is:

  lines of JSON   as 'shunt export' prints them: code and url, perhaps created_at, hits and so on:
                  ` + linkflags.APINames() + `
  CSV             with headings such as url, code, title, tags, created, hits, separated by commas,
                  semicolons or tabs; --map url=Ziel names a column whose heading is another word
  YOURLS          a dump of MySQL or MariaDB, also by phpMyAdmin and Navicat; CSV; pages of its API
  Shlink          CSV, pages of GET /rest/v3/short-urls
  Bitly           CSV, pages of the API; a link's own and its chosen addresses all come in
  Kutt, Dub, Sink, golink, Rebrandly, Short.io
                  pages of the API, CSV or JSON as they export them; in one file with what golink has at
                  /.export, and after it, may be what it has at /.export-stats: clicks, also for --log
  Polr            a dump of MySQL
  _redirects, a map of nginx

--from fetches the links of a Shlink server itself, from its API, whose key is in the file of --key-file or in
SHUNT_SOURCE_KEY. Only if all have come they are imported.

Several pages of an API may be one after the other in one file. Run it with --dry-run first: it says
what would happen, and changes nothing. It does not see codes that are twice in a file, but for those
within 1,000 records.

Links keep the redirect status of their system. A file may have links of several hosts: those of the
first become links without a domain, those of others need --map-domain HOST=DOMAIN.

Exports as lines of JSON, and such lines whose first is newer than the last, have the newest link first:
they are imported from the last line to the first, so that lists have the same order. All other files
are imported as they stand.

Of a dump with several tables of links, the first one is imported, or that of --table.

Titles in a dump of YOURLS that were encoded in UTF-8 twice come in as they were meant.

--log also reads the table of clicks of a dump of YOURLS, and makes hits by day of it. Addresses and
browsers are passed over. Days that the server does not keep count in the total only (--keep-days).

Times without a zone are UTC, or of the one of --source-tz. In a dump of YOURLS since 1.7.2, clicks have the
right time, but a database whose zone is not UTC makes the times at which links were made wrong by its
distance to UTC: say with --source-tz which zone the database has. (A dump by Navicat needs none.) Before 1.7.2
it was the other way round: leave --source-tz, and say with --log-tz which zone the server of YOURLS had.
A warning says so if a link was clicked before it was made; east of UTC, nothing can.

A refused record stops no other and makes the exit code 1. The first 100 are reported on standard
error with their numbers. --rejects writes all of them into a file of JSON lines: each has the reason as
refused, the place as at, the record as it was as record or text, and the fields of the link as far as they
were read. Correct these and import that file; lines that still are no links are refused again.

--redirects writes rules for nginx, which keep refused links working, with their status. There is none for a link
whose code has another link here, that did not redirect everybody, or whose target may not be one here. A rule
for a link that names no domain holds for all hosts. The file says how to use it.

The links become yours, or another user's with --owner. Hits count in the total, and on
their days if the file has daily (an export with --daily has); visitors are not in such a file. Only
admins may import.

An import that was cut (by Ctrl-C, a kill, or a server that is gone for long) goes on with --resume
where it was cut, to the same server. Until it is done, how far it has come is in FILE.shunt-import.
Without --resume it begins at the beginning, which is safe, too: a link that already exists with the
same fields is not changed. But a link that was edited since is refused, and one that was deleted is
made again.
` + reach.WhereTokensAre
}

func newImport(stdout, stderr io.Writer) *cobra.Command {
	where, asked, from := reach.Target{}, importAsked{}, importFrom{}
	cmd := &cobra.Command{
		Use:   "import FILE | --from URL",
		Short: "Import links made elsewhere",
		Long:  importHelp(),
		Example: `  shunt import --dry-run yourls.sql.gz
  shunt import --map-domain go.brand.example=brand.example bitly.json
  shunt import links.ndjson
  shunt import --resume links.ndjson
  shunt import --log yourls.sql.gz
  shunt import --from https://shlink.example --key-file shlink.key --dry-run
  shunt export --server https://old.example > links.ndjson && shunt import links.ndjson --owner 3`,
		Args: from.check,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if from.address != "" {
				if asked.resume {
					return settings.UsageErrorf("--resume needs a file; an import with --from begins at the beginning, which is safe")
				}
				if asked.from, err = from.server(); err != nil {
					return err
				}
				args = []string{from.address}
			}
			if asked.resume && args[0] == "-" {
				return settings.UsageErrorf("--resume needs a file, because standard input can be read only once")
			}
			asked.asked = cmd.Flags().Changed("reuse")
			if err := asked.readFormat(); err != nil {
				return err
			}
			asked.ownerID = strings.TrimLeft(cmd.Flags().Lookup("owner").Value.String(), "0")
			return importFile(cmd.Context(), &where, args[0], asked, cmd.InOrStdin(), stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	asked.addFlags(cmd)
	from.add(cmd)
	return cmd
}

func (a *importAsked) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	addOwner(cmd, &a.owner, "give the links to the user with this ID", false)
	fs.StringVar(&a.domain, "domain", "", "the links that name no domain are of the one with this `HOST`")
	fs.BoolVar(&a.create, "create-domains", false, "add the domains of links that the server does not have yet")
	fs.BoolVar(&a.resume, "resume", false, "go on where an earlier import of FILE was cut")
	fs.StringVar(&a.refused, "rejects", "", "write each refused record with the reason into `FILE`, to be corrected and imported again")
	fs.StringVar(&a.rules, "redirects", "", "write rules of nginx for refused links into `FILE`")
	fs.StringVar(&a.format.Format, "format", "", "what the file is: "+strings.Join(source.Formats(), ", ")+" (default: its content tells)")
	fs.StringArrayVar(&a.columns, "map", nil, "the column of a field, as `FIELD=COLUMN`: "+strings.Join(source.Fields(), ", "))
	fs.StringArrayVar(&a.hosts, "map-domain", nil, "links that were at a host become links of a domain, as `HOST=DOMAIN`")
	fs.StringVar(&a.format.Table, "table", "", "of a dump with several: import the links of the table `NAME`")
	fs.StringVar(&a.zone, "source-tz", "UTC", "the time `ZONE` of times without one, such as Europe/Berlin; of a dump of YOURLS: of its database")
	fs.BoolVar(&a.log, "log", false, "of a dump of YOURLS: clicks become hits by day")
	fs.StringVar(&a.logZone, "log-tz", "UTC", "with --log, of a YOURLS before 1.7.2: the time `ZONE` of its clicks")
	fs.BoolVar(&a.reuse, "reuse", false, "later creates with reuse, and tools of other systems, find the links by their targets (default: those of YOURLS, Shlink and Kutt)")
	fs.BoolVar(&a.dryRun, "dry-run", false, "say what would happen, and change nothing")
	fs.BoolVar(&a.asJSON, "json", false, "print the result as JSON")
	settings.MarkArguments(fs, "domain", "create-domains", "resume", "rejects", "redirects", "format", "map", "map-domain", "table", "source-tz", "log", "log-tz", "reuse", "dry-run", "json")
}

// options returns the options of the calls, with links of a system.
func (a *importAsked) options(format string) []client.Option {
	options := a.owner
	if a.domain != "" {
		options = append(options, client.InDomain(a.domain))
	}
	if a.create {
		options = append(options, client.CreateDomains())
	}
	if a.dryRun {
		options = append(options, client.DryRun())
	}
	if a.reuse || !a.asked && source.Reuses(format) {
		options = append(options, client.Reusable())
	}
	return options
}

// readFormat reads the flags that tell what the file is.
func (a *importAsked) readFormat() (err error) {
	if f := a.format.Format; f != "" && !slices.Contains(source.Formats(), f) {
		return settings.UsageErrorf("--format: %s is none of %s", console.Quote(f), strings.Join(source.Formats(), ", "))
	}
	if a.format.Zone, err = zoneOf("--source-tz", a.zone); err != nil {
		return err
	}
	switch zone, err := zoneOf("--log-tz", a.logZone); {
	case err != nil:
		return err
	case a.log:
		a.format.Clicks = &source.ClickLog{Zone: zone}
	case zone != time.UTC:
		return settings.UsageErrorf("--log-tz is for --log")
	}
	if a.format.Columns, err = pairs("--map", a.columns); err != nil {
		return err
	}
	for field := range a.format.Columns {
		if !slices.Contains(source.Fields(), field) {
			return settings.UsageErrorf("--map: %s is no field: %s", console.Quote(field), strings.Join(source.Fields(), ", "))
		}
	}
	hosts, err := pairs("--map-domain", a.hosts)
	a.format.Hosts = make(map[string]string, len(hosts))
	for host, domain := range hosts {
		a.format.Hosts[strings.ToLower(host)] = domain
	}
	return err
}

// zoneOf reads a time zone of a flag.
func zoneOf(flag, name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, settings.UsageErrorf("%s: %s is not a time zone, such as Europe/Berlin", flag, console.Quote(name))
	}
	return zone, nil
}

// pairs reads values NAME=VALUE of a flag.
func pairs(flag string, texts []string) (map[string]string, error) {
	m := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, settings.UsageErrorf("%s %s: write NAME=VALUE", flag, console.Quote(text))
		}
		if _, twice := m[name]; twice {
			return nil, settings.UsageErrorf("%s names %s twice", flag, console.Quote(name))
		}
		m[name] = value
	}
	return m, nil
}

func importFile(ctx context.Context, where *reach.Target, file string, asked importAsked, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	uid := os.Geteuid()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process
	var done importer.Done
	var told importer.Summary
	var resumable bool
	err := where.With(ctx, stderr, func(c *reach.Connection) (err error) {
		if asked.log {
			if err = askDays(ctx, c, asked.format.Clicks); err != nil {
				return err
			}
		}
		check := asked
		check.dryRun = true
		kept := &rejected{imported: file, records: asked.refused, rules: asked.rules, allows: allowedBy(c.Client, check.options(""))}
		defer func() { err = errors.Join(err, kept.close()) }()
		var x *importer.Import
		x = &importer.Import{
			File: file, Stdin: stdin, Stderr: stderr, Refused: asked.refused, Keep: kept, Resume: asked.resume, To: destination(where, asked.ownerID),
			Format: asked.format, DryRun: asked.dryRun, Domain: asked.domain,
			Send: func(ctx context.Context, batches iter.Seq[[]json.RawMessage]) iter.Seq2[client.ImportResult, error] {
				return c.ImportAll(ctx, batches, asked.options(x.System)...)
			},
		}
		if asked.from != nil {
			x.Fetch = fetch(asked.from, stderr)
			x.Format.Format = cmp.Or(x.Format.Format, "shlink")
		}
		done, resumable, err = x.Run(ctx)
		told = x.Summary()
		return err
	})
	if err != nil {
		if done != (importer.Done{}) {
			err = errors.Join(err, asked.tell(stdout, &told))
		}
		return importError(asOwner(err, file, uid), resumable)
	}
	if err = asked.tell(stdout, &told); err == nil && done.Failed > 0 {
		hint := ""
		if done.Failed == done.Links() { // perhaps a file of another kind
			hint = "; see 'shunt import --help' for the files that it reads"
		}
		err = fmt.Errorf("import: refused: %d of %s%s", done.Failed, plural.Of(done.Links(), "link", "links"), hint)
	}
	return err
}

// tell prints what an import has done, also one that ended before its end.
func (a *importAsked) tell(stdout io.Writer, told *importer.Summary) (err error) {
	if a.asJSON {
		return console.PrintValue(stdout, told)
	}
	_, err = fmt.Fprintln(stdout, told.String())
	return err
}

// askDays sets what a log of clicks is read for: the days that the server keeps, in its time zone.
func askDays(ctx context.Context, c *reach.Connection, log *source.ClickLog) error {
	kept, err := c.OwnerStats(ctx, client.OwnerStatsQuery{StatsQuery: client.StatsQuery{From: time.Unix(1, 0)}})
	if err != nil {
		return fmt.Errorf("asking which days the server keeps: %w", err)
	}
	if log.Days, err = time.LoadLocation(kept.Zone); err != nil {
		return fmt.Errorf("the server counts days of a time zone that this machine does not know: %w", err)
	}
	log.First, log.Now = kept.From, time.Now()
	return nil
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
func importError(err error, resumable bool) error {
	if resumable {
		return fmt.Errorf("import: %w\nthe same command with --resume goes on where it was cut", err)
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
