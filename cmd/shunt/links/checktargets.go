package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
	"shunt/engine/plural"
)

// askAgain is how long check-targets waits before it asks how far the check is.
const askAgain = time.Second

func newCheckTargets(stdout, stderr io.Writer) *cobra.Command {
	var where reach.Target
	var q client.LinksQuery
	cmd := &cobra.Command{
		Use:   "check-targets",
		Short: "Look for links whose targets are dead",
		Long: `Have the server ask the targets of your links, one a second, and print those that do not answer, or answer
with status 404, 410 or 5xx. The server must run, with --fetch-titles; it asks nothing private. A check has
at most 10,000 links. If you end the command, the check is stopped. The exit code is 1 if a target is dead.
` + reach.WhereTokensAre,
		Example: `  shunt check-targets
  shunt check-targets --tag spring --server https://sho.rt`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return where.Do(cmd.Context(), "check-targets", stderr, func(c *reach.Connection) error {
				check, err := checkTargets(cmd.Context(), c, q)
				if err != nil {
					return err
				}
				return printCheck(stdout, stderr, &check)
			})
		},
	}
	reach.AddSettings(cmd, &where)
	fs := cmd.Flags()
	fs.StringVar(&q.Tag, "tag", "", "only links with this `TAG`")
	settings.MarkArguments(fs, "tag")
	return cmd
}

// checkTargets begins a check and waits until it is over.
func checkTargets(ctx context.Context, c *reach.Connection, q client.LinksQuery) (check client.TargetCheck, err error) {
	check, err = c.StartTargetCheck(ctx, q)
	for err == nil && check.State == client.CheckRunning {
		select {
		case <-time.After(askAgain):
			check, err = c.TargetCheck(ctx)
		case <-ctx.Done():
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			return check, errors.Join(ctx.Err(), c.StopTargetCheck(stopping))
		}
	}
	return check, err
}

var errDead = errors.New("some targets are dead")

func printCheck(stdout, stderr io.Writer, check *client.TargetCheck) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if len(check.Dead) > 0 {
		fmt.Fprintln(w, "LINK\tTARGET\tREASON")
	}
	for _, d := range check.Dead {
		fmt.Fprintf(w, "%s\t%s\t%s\n", console.Printable(d.ShortURL), console.Printable(d.URL), console.Printable(d.Reason))
	}
	usage.Must(w.Flush())
	fmt.Fprintf(stderr, "%s checked, %s dead, %d not asked\n", plural.Of(check.Checked, "link", "links"), plural.Of(len(check.Dead), "target is", "targets are"), check.Unasked)
	switch {
	case check.State != client.CheckDone:
		return errors.New("the check was not finished: " + check.State)
	case check.More:
		fmt.Fprintln(stderr, "there are more links than one check has; use --tag")
	}
	if len(check.Dead) > 0 {
		return errDead
	}
	return nil
}
