package users

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

func newTokenAdd(stdout, stderr io.Writer) *cobra.Command {
	where, draft, scopes, edge, expires := reach.Target{}, client.TokenDraft{}, []string{}, "", settings.Expiry{}
	cmd := &cobra.Command{
		Use:   "add --name NAME|--edge NAME",
		Short: "Make an API token and print it",
		Long: `Make an API token and print only the token on standard output. It cannot be shown again.

It works with and without a running server. --init makes a store if the data folder has none. The
first token of the first user, an admin, has all scopes; later tokens have all but admin unless
--scopes says otherwise.

--domain limits the token to links of that domain; give it several times for several. Such a token is no
admin's. With one domain, it is that of new links.

--edge makes a token for an edge of this server, which has that name: it opens the calls of edges only
('shunt serve --edge-of'). Only admins make one.`,
		Example: `  shunt token add --name laptop
  shunt token add --name ci --scopes links:write,stats:read --expires 90d
  TOKEN=$(shunt token add --name script)
  shunt token add --name shop --domain go.example
  shunt token add --edge frankfurt > edge-token
  shunt token add --name first --init --data /var/lib/shunt`,
		Args: usage.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if edge != "" {
				if draft.Name != "" || len(scopes)+len(draft.Domains) > 0 {
					return settings.UsageErrorf("--edge stands alone: the token has the name of the edge, and the scope edge")
				}
				draft.Name, scopes = edge, []string{string(client.ScopeEdge)}
			}
			draft.ExpiresAt = expires.Time
			for _, scope := range scopes {
				draft.Scopes = append(draft.Scopes, client.Scope(scope))
			}
			return addToken(cmd.Context(), &where, draft, stdout, stderr)
		},
	}
	reach.AddSettings(cmd, &where)
	reach.AddInit(cmd, &where)
	usage.Hide(cmd.Flags(), "base-url") // a token names no link
	fs := cmd.Flags()
	fs.StringVar(&draft.Name, "name", "", "`NAME` of the token (required, unless --edge is there)")
	fs.StringVar(&edge, "edge", "", "make a token for the edge of that `NAME`, of a-z, 0-9 and -")
	settings.WordsVar(fs, &scopes, "scopes", "SCOPES", "with commas: links:read, links:write, stats:read, tokens:write, admin",
		"links:read", "links:write", "stats:read", "tokens:write", "admin")
	settings.HostsVar(fs, &draft.Domains, "domain", "limit the token to this domain; several times for several")
	fs.Var(&expires, "expires", "when it ends: 90d, 1y, 12h, 2030-12-31 (the end of that day here) or 2030-12-31T23:59:59Z (default never)")
	settings.MarkArguments(fs, "name", "edge", "scopes", "domain", "expires")
	return cmd
}

func addToken(ctx context.Context, where *reach.Target, draft client.TokenDraft, stdout, stderr io.Writer) error {
	if draft.Name == "" {
		return settings.UsageErrorf("--name is missing: it distinguishes tokens, such as --name laptop")
	}
	var made client.IssuedToken
	err := where.Do(ctx, "token add", stderr, func(c *reach.Connection) (err error) {
		if err = firstTokenScopes(ctx, c, &draft); err == nil {
			made, err = c.IssueToken(ctx, draft)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, console.Printable(made.Secret))
	return err
}

// firstTokenScopes asks for all of the user's scopes, admin included, for the first token: without
// it nobody could administrate over the API.
func firstTokenScopes(ctx context.Context, c *reach.Connection, draft *client.TokenDraft) error {
	if len(draft.Scopes)+len(draft.Domains) > 0 || !c.Local {
		return nil
	}
	tokens, err := c.Tokens(ctx)
	if err != nil || len(tokens) > 0 {
		return err
	}
	me, err := c.Me(ctx)
	if me.Role != client.RoleViewer { // whose tokens have fewer scopes than the user
		draft.Scopes = me.Scopes
	}
	return err
}
