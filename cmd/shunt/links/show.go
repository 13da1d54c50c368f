package links

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newShow(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{Reads: true}, false
	cmd := &cobra.Command{
		Use:   "show CODE…",
		Short: "Print links",
		Long: `Print a link: one line per field, its name first; or the link object of the API, one a line if there are
several. A link that cannot be read is named, the others are printed, and the exit code is 1.
'shunt edit --if-match' takes the version: it changes with each edit, but not with hits. CODE may be
the whole short address.
` + reach.WhereTokensAre,
		Example: `  shunt show spring
  shunt show https://sho.rt/spring
  shunt show spring --json | jq -r .url`,
		Args: usage.OneOrMore("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, p := cmd.Context(), &severalPrinter{w: stdout, asJSON: asJSON, several: len(args) > 1}
			return withLinks(ctx, &where, "show", args, stderr, func(c *reach.Connection, l namedLink) error {
				link, err := c.Link(ctx, l.code, l.in()...)
				if err != nil {
					return err
				}
				return p.print(link.Raw, linkText(&link))
			})
		},
	}
	reach.AddSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

// severalPrinter prints what a command says of each link: texts with an empty line between them, or objects,
// each on a line of its own if there are several.
type severalPrinter struct {
	w               io.Writer
	asJSON, several bool
	begun           bool
}

// print prints one, as object or as text.
func (p *severalPrinter) print(object json.RawMessage, text string) error {
	switch {
	case p.asJSON && !p.several:
		return console.PrintJSON(p.w, object)
	case p.asJSON:
		text = string(bytes.TrimSpace(object)) + "\n"
	case p.begun:
		text = "\n" + text
	}
	p.begun = true
	_, err := io.WriteString(p.w, text)
	return err
}

// linkText writes a link one field below the other. No value is empty, so that a line always has
// two columns.
func linkText(l *client.Link) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, console.Printable(value)) }
	row("address", l.ShortURL)
	for _, f := range linkflags.Fields {
		row(strings.TrimSuffix(f.Flag, "-file"), f.Show(l))
	}
	row("state", string(l.State))
	row("hits", strconv.FormatUint(l.Hits, 10))
	if l.Unique != nil {
		row("unique", strconv.FormatUint(*l.Unique, 10))
	}
	row("owner", strconv.FormatUint(uint64(l.Owner), 10))
	row("created", console.Time(l.CreatedAt))
	row("updated", console.Time(l.UpdatedAt))
	row("version", strconv.FormatUint(l.Version, 10))
	usage.Must(w.Flush()) // into memory
	return b.String()
}
