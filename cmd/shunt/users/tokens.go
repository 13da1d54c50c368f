package users

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
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
	where, all, asJSON := reach.Target{Reads: true}, false, false
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List a user's API tokens",
		Long: `List the API tokens of a user, oldest first, with their first characters, scopes and last use. The tokens
themselves cannot be listed. With --all, an admin lists those of all users.
` + reach.WhereTokensAre,
		Example: `  shunt token ls
  shunt token ls --user ann@example.com --json
  shunt token ls --all`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return listAllTokens(cmd.Context(), &where, asJSON, stdout, stderr)
			}
			return listInto(cmd.Context(), &where, "/tokens", asJSON, tokensTable, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // a token names no link
	cmd.Flags().BoolVar(&all, "all", false, "those of all users, for admins")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	settings.MarkArguments(cmd.Flags(), "all", "json")
	return cmd
}

// listAllTokens prints the tokens of all users, with the addresses of these.
func listAllTokens(ctx context.Context, where *reach.Target, asJSON bool, stdout, stderr io.Writer) error {
	var tokens []client.Token
	emails := make(map[uint32]string)
	err := where.Do(ctx, "token ls", stderr, func(c *reach.Connection) (err error) {
		if tokens, err = c.Tokens(ctx, client.AnyOwner()); err != nil {
			return err
		}
		users, err := c.Users(ctx)
		for _, u := range users {
			emails[u.ID] = u.Email
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case asJSON:
		list := struct {
			Data []json.RawMessage `json:"data"`
		}{Data: make([]json.RawMessage, len(tokens))}
		for i := range tokens {
			list.Data[i] = tokens[i].Raw
		}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		return console.PrintJSON(stdout, text)
	}
	rows := tokensTable(tokens)
	for i := range rows {
		of := "USER"
		if i > 0 {
			of = cmp.Or(emails[tokens[i-1].Owner], strconv.FormatUint(uint64(tokens[i-1].Owner), 10))
		}
		rows[i] = slices.Insert(rows[i], 1, of)
	}
	return console.PrintTable(stdout, rows)
}

func tokensTable(tokens []client.Token) [][]string {
	rows := [][]string{{"ID", "NAME", "BEGINS WITH", "SCOPES", "CREATED", "EXPIRES", "LAST USED"}}
	for _, t := range tokens {
		rows = append(rows, []string{
			t.ID, t.Name, cmp.Or(t.BeginsWith, "not kept"), scopesText(t.Scopes), console.Time(t.CreatedAt), console.TimeOrNever(t.ExpiresAt), console.TimeOrNever(t.LastUsedAt),
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
	where, all := reach.Target{}, false
	cmd := &cobra.Command{
		Use:   "rm ID",
		Short: "Revoke an API token",
		Long: `Revoke an API token: it stops working at once. 'shunt token ls' lists the IDs. To revoke a token of
another user, give --user, or --all if you do not know whose it is.
` + reach.WhereTokensAre,
		Args: usage.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeToken(cmd.Context(), &where, args[0], all, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // a token names no link
	cmd.Flags().BoolVar(&all, "all", false, "whoever's it is, for admins")
	settings.MarkArguments(cmd.Flags(), "all")
	return cmd
}

func removeToken(ctx context.Context, where *reach.Target, id string, all bool, stderr io.Writer) error {
	if strings.HasPrefix(id, "shunt_") {
		return settings.UsageErrorf("that looks like a token; give its ID, which 'shunt token ls' lists")
	}
	var of []client.Option
	if all {
		of = append(of, client.AnyOwner())
	}
	return where.Do(ctx, "token rm", stderr, func(c *reach.Connection) error { return c.RevokeToken(ctx, id, of...) })
}
