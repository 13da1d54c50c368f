package links

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newStats(stdout, stderr io.Writer) *cobra.Command {
	where, asked, include, folder, asJSON := reach.Target{Reads: true}, client.StatsQuery{}, []string(nil), uint32(0), false
	cmd := &cobra.Command{
		Use:   "stats CODE… | --folder ID",
		Short: "Print the hits and unique visitors of links",
		Long: `Print the hits and unique visitors of links, over all time or in a window, and their breakdowns. With
--folder, they are those of all links that are in the folder now, together, as far back as days are kept.
CODE may be the whole short address. All times are UTC; days begin in the time zone that is printed. Hits
that were imported without their days are in no window: a window that begins before the import has a line
of its own for them. Of the figures by hour or day, the empty ones at the beginning are left out. A link
that has rules or a split, or had, has a table of its targets, with their share of the visitors and its
standard error; with --json only if --include has targets. A link that cannot be read is named, the others
are printed, and the exit code is 1. With --json and several codes, each link has a line.

It uses the server that runs on the data folder. If none runs, it opens the folder itself. With
--server (and the token in SHUNT_TOKEN) it uses a server elsewhere.`,
		Example: `  shunt stats spring
  shunt stats spring --interval day --include referrers,countries
  shunt stats spring summer
  shunt stats --folder 3 --interval day
  shunt stats http://127.0.0.1:8080/spring --from 7d --to yesterday --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case folder == 0:
				return usage.OneOrMore("CODE")(cmd, args)
			case len(args) > 0:
				return settings.UsageErrorf("give codes or --folder, and not both")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p := &severalPrinter{w: stdout, asJSON: asJSON, several: len(args) > 1}
			for _, part := range include {
				asked.Include = append(asked.Include, client.Include(part))
			}
			if folder != 0 {
				return printFolderStats(cmd.Context(), &where, client.OwnerStatsQuery{StatsQuery: asked, Folder: folder}, p, stderr)
			}
			if !asJSON {
				asked.Include = append(asked.Include, client.IncludeTargets)
			}
			return printStats(cmd.Context(), &where, args, asked, p, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	settings.Var(fs, &asked.From, "from", "TIME", "", "the beginning: 7d, yesterday, 2026-11-01 or 2026-11-01T12:00:00Z", settings.Now(settings.ParseBegin))
	settings.Var(fs, &asked.To, "to", "TIME", "", "the end, of a date its end; both are widened to whole hours or days", settings.Now(settings.ParseEnd))
	settings.WordVar(fs, (*string)(&asked.Interval), "interval", "WORD", "", "figures for each hour or day", "hour", "day")
	settings.WordsVar(fs, &include, "include", "WORDS", "separated by commas: bots, scans, referrers, countries, devices, browsers, durability, error, targets",
		"bots", "scans", "referrers", "countries", "devices", "browsers", "durability", "error", "targets")
	settings.Var(fs, &asked.Zone, "days-of", "ZONE", "", "time zone of the days of --interval day, such as Europe/Berlin, as long as hours are kept (default: the server's)", settings.ParseNotEmpty)
	addFolder(fs, &folder, "all links in this folder, whoever's they are, in place of codes")
	fs.BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(fs, "json", "from", "to", "interval", "days-of", "include")
	return cmd
}

// printFolderStats prints the figures of the links in a folder.
func printFolderStats(ctx context.Context, where *reach.Target, asked client.OwnerStatsQuery, p *severalPrinter, stderr io.Writer) error {
	return where.Do(ctx, "stats", stderr, func(c *reach.Connection) error {
		stats, err := c.OwnerStats(ctx, asked)
		if err != nil {
			return err
		}
		return p.print(stats.Raw, statsText("", &stats))
	})
}

func printStats(
	ctx context.Context, where *reach.Target, names []string, asked client.StatsQuery, p *severalPrinter, stderr io.Writer,
) error {
	return withLinks(ctx, where, "stats", names, stderr, func(c *reach.Connection, l namedLink) error {
		code := l.code
		stats, err := c.Stats(ctx, code, asked, l.in()...)
		if err != nil {
			return err
		}
		if !p.several {
			code = ""
		} else if rest, ok := bytes.CutPrefix(bytes.TrimSpace(stats.Raw), []byte("{")); ok {
			stats.Raw = append([]byte(`{"code":"`+code+`",`), rest...) // a code needs no escapes
		}
		return p.print(stats.Raw, statsText(code, &stats))
	})
}

// statsText writes the figures one below the other, and each list as a table of its own. Figures
// that were not requested are left out, and so is an empty code.
func statsText(code string, a *client.Stats) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(w, "%s\t%v\n", name, value) }
	if code != "" {
		row("code", code)
	}
	if !a.From.IsZero() {
		row("from", console.Time(a.From))
		row("to", console.Time(a.To))
		row("days of", a.Zone)
	}
	row("hits", a.Hits)
	row("unique", a.Unique)
	if a.ImportedHits > 0 {
		row("imported", fmt.Sprintf("%d more, at unknown times", a.ImportedHits))
	}
	if a.Error != nil {
		row("error", fmt.Sprintf("%.2f %%", 100**a.Error))
	}
	if a.Bots != nil {
		row("bots", a.Bots.Bots)
		row("prefetches", a.Bots.Prefetches)
		row("heads", a.Bots.Heads)
	}
	if a.Scans != nil {
		row("scans", *a.Scans)
	}
	if d := a.Durability; d != nil {
		row("durable", d.Hits)
		row("flushed", d.FlushedAt.UTC().Format(time.RFC3339Nano))
	}
	writeTables(w, a)
	usage.Must(w.Flush()) // into memory
	return b.String()
}

func writeTables(w io.Writer, a *client.Stats) {
	if a.Series != nil {
		fmt.Fprintln(w, "\nFROM\tHITS\tUNIQUE")
		first := slices.IndexFunc(a.Series, func(x client.Bucket) bool { return x.Hits > 0 })
		if first < 0 { // all are empty
			first = len(a.Series)
		}
		for _, x := range a.Series[first:] {
			fmt.Fprintf(w, "%s\t%d\t%d\n", console.Time(x.From), x.Hits, x.Unique)
		}
	}
	for _, list := range []struct {
		name string
		rows []client.ValueHits
	}{{"REFERRER", a.Referrers}, {"COUNTRY", a.Countries}, {"DEVICE", a.Devices}, {"BROWSER", a.Browsers}} {
		if list.rows != nil {
			fmt.Fprintf(w, "\n%s\tHITS\n", list.name)
		}
		for _, x := range list.rows {
			fmt.Fprintf(w, "%s\t%d\n", console.Printable(x.Value), x.Hits)
		}
	}
	writeTargets(w, a.Targets)
}

// writeTargets writes a table of the targets of a link, unless it has had only one all the time.
func writeTargets(w io.Writer, targets []client.TargetHits) {
	var visitors uint64
	several := false
	for _, x := range targets {
		visitors += x.Unique
		several = several || x.Target != 0
	}
	if !several {
		return
	}
	fmt.Fprintln(w, "\nTARGET\tURL\tWEIGHT\tHITS\tUNIQUE\tSHARE")
	for _, x := range targets {
		url, weight, unique, share := console.Printable(x.URL), "-", "-", "-"
		switch {
		case x.Target == 0:
			url = "(while it had one target, or imported)"
		case x.URL == "":
			url = "(former)"
		}
		if x.Weight != 0 {
			weight = strconv.Itoa(x.Weight)
		}
		if x.Target != 0 {
			unique = strconv.FormatUint(x.Unique, 10)
			share = shareOf(x.Unique, visitors)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\n", x.Target, url, weight, x.Hits, unique, share)
	}
}

// shareOf returns a part of visitors in percent, and the standard error of that: chance alone makes it.
func shareOf(part, visitors uint64) string {
	if visitors == 0 {
		return "-"
	}
	p := float64(part) / float64(visitors)
	return fmt.Sprintf("%.1f ± %.1f %%", 100*p, 100*math.Sqrt(p*(1-p)/float64(visitors)))
}
