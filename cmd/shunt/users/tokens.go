package users

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// The commands for existing tokens; token.go has token add.

func newToken(stdout, stderr io.Writer) *cobra.Command {
	return usage.NewGroup("token", "Manage API tokens", newTokenAdd(stdout, stderr), newTokenLs(stdout, stderr), newTokenRm(stderr))
}

func newTokenLs(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := reach.Target{Reads: true}, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List a user's API tokens",
		Long: `List the API tokens of a user, oldest first, with their scopes and last use. The tokens themselves
cannot be listed.
` + reach.WhereTokensAre,
		Example: `  shunt token ls
  shunt token ls --user ann@example.com --json`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listInto(cmd.Context(), &where, "/tokens", asJSON, tokensTable, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // a token names no link
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "json")
	return cmd
}

func tokensTable(tokens []client.Token) [][]string {
	rows := [][]string{{"ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "LAST USED"}}
	for _, t := range tokens {
		rows = append(rows, []string{
			t.ID, t.Name, scopesText(t.Scopes), console.Time(t.CreatedAt), console.TimeOrNever(t.ExpiresAt), console.TimeOrNever(t.LastUsedAt),
		})
	}
	return withDomains(rows, func(i int) []string { return tokens[i].Domains })
}

func scopesText(scopes []client.Scope) string {
	texts := make([]string, len(scopes))
	for i, scope := range scopes {
		texts[i] = string(scope)
	}
	return strings.Join(texts, ",")
}

func newTokenRm(stderr io.Writer) *cobra.Command {
	where := reach.Target{}
	cmd := &cobra.Command{
		Use:   "rm ID",
		Short: "Revoke an API token",
		Long: `Revoke an API token: it stops working at once. 'shunt token ls' lists the IDs. To revoke a token of
another user, give --user.
` + reach.WhereTokensAre,
		Args: usage.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeToken(cmd.Context(), &where, args[0], stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // a token names no link
	return cmd
}

func removeToken(ctx context.Context, where *reach.Target, id string, stderr io.Writer) error {
	if strings.HasPrefix(id, "shunt_") {
		return settings.UsageErrorf("that looks like a token; give its ID, which 'shunt token ls' lists")
	}
	return where.Do(ctx, "token rm", stderr, func(c *reach.Connection) error { return c.RevokeToken(ctx, id) })
}
