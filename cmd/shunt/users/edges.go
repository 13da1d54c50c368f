package users

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newEdges(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{Reads: true, Served: true}, false
	cmd := &cobra.Command{
		Use:   "edges",
		Short: "Show the edges of a server",
		Long: `Show the edges of a server: whether it hears them, which changes each has, how many hits wait there, its
version, and when its certificate for visitors expires. POSITION is the last entry of the server's log
of changes that the edge has applied, BEHIND counts those that it lacks, and LAG is the time for which
it may lack changes. WAITING counts the hits that the edge had not given when it was last heard.

An edge redirects the links of this server on another machine. It needs a token ('shunt token add
--edge NAME') and starts with 'shunt serve --edge-of'.

It asks the server that runs on the data folder, or with --server (and the token in SHUNT_TOKEN) a
server elsewhere.`,
		Example: `  shunt edges
  shunt edges --json | jq -r '.data[] | select(.state != "connected") | .name'`,
		Args: usage.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listInto(cmd.Context(), &where, "/edges", asJSON, edgesTable, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // an edge names no link
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "json")
	cmd.AddCommand(newEdgesForget(stderr))
	return cmd
}

func edgesTable(edges []client.Edge) [][]string {
	rows := [][]string{{"NAME", "STATE", "HEARD", "POSITION", "BEHIND", "LAG", "WAITING", "VERSION", "CERTIFICATE", "ADDRESS"}}
	for _, e := range edges {
		heard, certificate := "-", "-"
		if e.SeenAt != nil {
			heard = console.Time(e.SeenAt.Truncate(time.Second))
		}
		if e.ServesTill != nil {
			certificate = "to " + e.ServesTill.UTC().Format(time.DateOnly)
		}
		rows = append(rows, []string{e.Name, e.State, heard, countOf(e.Position), countOf(e.Behind), lagText(e.Lag), waitingText(&e), orDash(e.Version), certificate, orDash(e.Address)})
	}
	return rows
}

func countOf(n *uint64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatUint(*n, 10)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// lagText returns a lag to the tenth of a second, or of a minute and more to the second.
func lagText(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	unit := 100 * time.Millisecond
	if *seconds >= 60 {
		unit = time.Second
	}
	return time.Duration(*seconds * float64(time.Second)).Round(unit).String()
}

func waitingText(e *client.Edge) string {
	if e.Hits == nil && e.HitsBytes != nil {
		return console.Size(*e.HitsBytes)
	}
	return countOf(e.Hits)
}

func newEdgesForget(stderr io.Writer) *cobra.Command {
	where := reach.Target{Served: true}
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Revoke the token of an edge, and free its name",
		Long: `Revoke the token of an edge that is gone for good, and free its name: a server knows 256 at most. An edge
that runs redirects nothing from then on. It keeps the hits that it has not given. They come later, and
once, if it gets a new token of the same name.`,
		Example: `  shunt edges forget frankfurt`,
		Args:    usage.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return forgetEdge(cmd.Context(), &where, args[0], stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url")
	return cmd
}

func forgetEdge(ctx context.Context, where *reach.Target, name string, stderr io.Writer) error {
	if err := where.Do(ctx, "edges forget", stderr, func(c *reach.Connection) error { return c.ForgetEdge(ctx, name) }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stderr, "%s is forgotten, and its token is revoked\n", name)
	return err
}
