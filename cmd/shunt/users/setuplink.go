package users

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newUserSetupLink(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{}, false
	cmd := &cobra.Command{
		Use:   "setup-link [EMAIL]",
		Short: "Print an address at which a user sets a password",
		Long: `Print only an address at which a user sets a password and is signed in: as an invitation, or for a
lost password. It works once, for an hour. Its use ends the user's sessions and other setup links;
tokens stay valid. Whoever opens it becomes the user, so send it as you would send a password.
Without EMAIL it is for the oldest admin, who chooses an e-mail address there, too.

It uses the server that runs on the data folder. If none runs, it opens the folder itself, and the
address works when a server runs again.`,
		Example: `  shunt user setup-link
  shunt user add ann@example.com && shunt user setup-link ann@example.com`,
		Args: atMost("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if where.Server != "" {
				return settings.UsageErrorf("a setup link is made on the machine of the server, in its data folder (--data), not with --server")
			}
			email := ""
			if len(args) > 0 {
				email = args[0]
			}
			return printSetupLink(cmd.Context(), &where, email, asJSON, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "user", "server", "token")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the address, the user's ID and the expiry as JSON")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

// atMost accepts no argument, or one, which must not be empty.
func atMost(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return usage.Exactly(name)(cmd, args)
	}
}

// A setupLink is the server's answer to POST /setup-links.
type setupLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

func printSetupLink(ctx context.Context, where *reach.Target, email string, asJSON bool, stdout, stderr io.Writer) error {
	var answer json.RawMessage
	err := where.Do(ctx, "user setup-link", stderr, func(c *reach.Connection) (err error) {
		answer, err = newSetupLink(ctx, c, email)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return console.PrintJSON(stdout, answer)
	}
	var link setupLink
	if err := json.Unmarshal(answer, &link); err != nil {
		return fmt.Errorf("user setup-link: the server's answer: %w", err)
	}
	fmt.Fprintf(stderr, "shunt: it works once, until %s UTC\n", link.ExpiresAt.UTC().Format("15:04"))
	_, err = fmt.Fprintln(stdout, console.Printable(link.URL))
	return err
}

// newSetupLink makes a setup link for the user with that e-mail address; empty: for the oldest admin.
func newSetupLink(ctx context.Context, c *reach.Connection, email string) (answer json.RawMessage, err error) {
	asked := map[string]uint32{}
	if email != "" {
		u, err := findUser(ctx, c, email)
		if err != nil {
			return nil, err
		}
		asked["user"] = u.ID
	}
	err = c.Do(ctx, http.MethodPost, "/setup-links", asked, &answer)
	return answer, err
}
