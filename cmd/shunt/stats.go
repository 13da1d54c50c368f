package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
)

// statsAsked has what stats prints besides the two figures; empty: nothing.
type statsAsked struct {
	from, to          time.Time
	interval, include string
}

// parameters returns the parameters of GET /stats/{code}.
func (a statsAsked) parameters() url.Values {
	v := make(url.Values)
	for name, value := range map[string]string{
		"from": boundText(a.from), "to": boundText(a.to), "interval": a.interval, "include": a.include,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

func boundText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func newStats(stdout, stderr io.Writer) *cobra.Command {
	where, asked, asJSON := localTarget{reads: true}, statsAsked{}, false
	cmd := &cobra.Command{
		Use:   "stats CODE",
		Short: "Print the hits and unique visitors of a link",
		Long: `Print the hits and unique visitors of a link, over all time or in a window, and their breakdowns.
CODE may be the whole short address. All times are UTC.

It uses the server that runs on the data folder. If none runs, it opens the folder itself. With
--server (and the token in SHUNT_TOKEN) it uses a server elsewhere.`,
		Example: `  shunt stats spring
  shunt stats spring --interval day --include referrers,countries
  shunt stats http://127.0.0.1:8080/spring --from 7d --to yesterday --json`,
		Args: exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printStats(cmd.Context(), &where, args[0], asked, asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	settings.Var(fs, &asked.from, "from", "TIME", "", "the beginning: 7d, yesterday, 2026-11-01 or 2026-11-01T12:00:00Z", settings.Now(settings.ParseBegin))
	settings.Var(fs, &asked.to, "to", "TIME", "", "the end, of a date its end; both are widened to whole hours or days", settings.Now(settings.ParseEnd))
	fs.StringVar(&asked.interval, "interval", "", "figures for each hour or `day`")
	fs.StringVar(&asked.include, "include", "",
		"`WORDS` separated by commas: bots, referrers, countries, devices, browsers, durability, error")
	settings.CompleteWords(fs, "interval", "hour", "day")
	settings.CompleteWords(fs, "include", "bots", "referrers", "countries", "devices", "browsers", "durability", "error")
	fs.BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(fs, "json", "from", "to", "interval", "include")
	return cmd
}

func printStats(
	ctx context.Context, where *localTarget, name string, asked statsAsked, asJSON bool, stdout, stderr io.Writer,
) error {
	query := asked.parameters().Encode()
	if query != "" {
		query = "?" + query
	}
	var stats client.Stats
	err := where.withLink(ctx, name, stderr, func(c *connection, code string) error {
		return c.Do(ctx, http.MethodGet, "/stats/"+url.PathEscape(code)+query, nil, &stats)
	})
	if err != nil {
		return fmt.Errorf("stats %s: %w", console.Printable(name), err)
	}
	if asJSON {
		return console.PrintJSON(stdout, stats.Raw)
	}
	_, err = io.WriteString(stdout, statsText(&stats))
	return err
}

// statsText writes the figures one below the other, and each list as a table of its own. Figures
// that were not requested are left out.
func statsText(a *client.Stats) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(w, "%s\t%v\n", name, value) }
	if !a.From.IsZero() {
		row("from", console.Time(a.From))
		row("to", console.Time(a.To))
	}
	row("hits", a.Hits)
	row("unique", a.Unique)
	if a.Error != nil {
		row("error", fmt.Sprintf("%.2f %%", 100**a.Error))
	}
	if a.Bots != nil {
		row("bots", a.Bots.Bots)
		row("prefetches", a.Bots.Prefetches)
		row("heads", a.Bots.Heads)
	}
	if d := a.Durability; d != nil {
		row("durable", d.Hits)
		row("flushed", d.FlushedAt.UTC().Format(time.RFC3339Nano))
	}
	writeTables(w, a)
	must(w.Flush()) // into memory
	return b.String()
}

func writeTables(w io.Writer, a *client.Stats) {
	if a.Series != nil {
		fmt.Fprintln(w, "\nFROM\tHITS\tUNIQUE")
		for _, x := range a.Series {
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
}
