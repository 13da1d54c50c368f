package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/settings"
)

func newShow(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := localTarget{reads: true}, false
	cmd := &cobra.Command{
		Use:   "show CODE",
		Short: "Print a link",
		Long: `Print a link: one line per field, its name first; or the link object of the API.
'shunt edit --if-match' takes the version: it changes with each edit, but not with hits. CODE may be
the whole short address.
` + whereTokensAre,
		Example: `  shunt show spring
  shunt show https://sho.rt/spring
  shunt show spring --json | jq -r .url`,
		Args: exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showLink(cmd.Context(), &where, args[0], asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func showLink(ctx context.Context, where *localTarget, name string, asJSON bool, stdout, stderr io.Writer) error {
	var link client.Link
	err := where.withLink(ctx, name, stderr, func(c *connection, code string) (err error) {
		link, err = c.Link(ctx, code)
		return err
	})
	if err != nil {
		return fmt.Errorf("show %s: %w", console.Printable(name), err)
	}
	return printLink(stdout, &link, asJSON)
}

// printLink prints a link that was read or edited.
func printLink(stdout io.Writer, l *client.Link, asJSON bool) error {
	if asJSON {
		return console.PrintJSON(stdout, l.Raw)
	}
	_, err := io.WriteString(stdout, linkText(l))
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
		row(f.Flag, f.Show(l))
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
	must(w.Flush()) // into memory
	return b.String()
}
