package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
)

func newTokenAdd(stdout, stderr io.Writer) *cobra.Command {
	where, draft, scopes, expires := localTarget{}, client.TokenDraft{}, []string{}, expiry{}
	cmd := &cobra.Command{
		Use:   "add --name NAME",
		Short: "Make an API token and print it",
		Long: `Make an API token and print only the token on standard output. It cannot be shown again.

It works with and without a running server. --init makes a store if the data folder has none. The
first token of the first user, an admin, has all scopes; later tokens have all but admin unless
--scopes says otherwise.`,
		Example: `  shunt token add --name laptop
  shunt token add --name ci --scopes links:write,stats:read --expires 90d
  TOKEN=$(shunt token add --name script)
  shunt token add --name first --init --data /var/lib/shunt`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			draft.ExpiresAt = expires.time
			for _, scope := range scopes {
				draft.Scopes = append(draft.Scopes, client.Scope(scope))
			}
			return addToken(cmd.Context(), &where, draft, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	addInit(cmd, &where)
	hide(cmd.Flags(), "base-url") // a token names no link
	fs := cmd.Flags()
	fs.StringVar(&draft.Name, "name", "", "`NAME` of the token (required)")
	fs.StringSliceVar(&scopes, "scopes", nil, "`SCOPES`, with commas: links:read, links:write, stats:read, tokens:write, admin")
	settings.CompleteWords(fs, "scopes", "links:read", "links:write", "stats:read", "tokens:write", "admin")
	fs.Var(&expires, "expires", "when it ends: 90d, 12h, 2030-12-31 or 2030-12-31T23:59:59Z (default never)")
	settings.MarkArguments(fs, "name", "scopes", "expires")
	return cmd
}

func addToken(ctx context.Context, where *localTarget, draft client.TokenDraft, stdout, stderr io.Writer) error {
	if draft.Name == "" {
		return settings.UsageErrorf("--name is missing: it distinguishes tokens, such as --name laptop")
	}
	var made client.IssuedToken
	err := where.with(ctx, stderr, func(c *connection) (err error) {
		if err = firstTokenScopes(ctx, c, &draft); err == nil {
			made, err = c.IssueToken(ctx, draft)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("token add: %w", err)
	}
	_, err = fmt.Fprintln(stdout, console.Printable(made.Secret))
	return err
}

// firstTokenScopes asks for all of the user's scopes, admin included, for the first token: without
// it nobody could administrate over the API.
func firstTokenScopes(ctx context.Context, c *connection, draft *client.TokenDraft) error {
	if len(draft.Scopes) > 0 || !c.local {
		return nil
	}
	tokens, err := c.Tokens(ctx)
	if err != nil || len(tokens) > 0 {
		return err
	}
	me, err := c.Me(ctx)
	draft.Scopes = me.Scopes
	return err
}

// expiry is a flag: a time, or a span from now; zero: never.
type expiry struct {
	text string
	time time.Time
}

func (e *expiry) Set(text string) (err error) {
	e.text = text
	e.time, err = parseExpiry(text, time.Now())
	return err
}

func (e *expiry) String() string { return e.text }
func (e *expiry) Type() string   { return "TIME" }

// maxExpiryDays keeps a span in days within what a time can hold in JSON: years have four digits.
const maxExpiryDays = 366 * 1000

func parseExpiry(text string, now time.Time) (time.Time, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && 0 < n && n <= maxExpiryDays {
			return now.UTC().AddDate(0, 0, n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.UTC().Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("must be a span such as 90d or 12h, or a time such as 2030-12-31 or 2030-12-31T23:59:59Z")
}
