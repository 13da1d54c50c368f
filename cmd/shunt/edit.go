package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/settings"
)

func newEdit(stdout, stderr io.Writer) *cobra.Command {
	where, given, options, asJSON, owner := localTarget{}, map[string]any{}, []client.Option(nil), false, ""
	cmd := &cobra.Command{
		Use:   "edit CODE",
		Short: "Change a link",
		Long: `Change the given fields of a link, and print it as 'shunt show' does. Everything else stays: its code,
its hits, and the fields that are not given. Given tags replace all tags of the link. CODE may be the
whole short address.

With --if-match the link is changed only if it still has that version, which 'shunt show' prints: if
somebody has edited it meanwhile, nothing changes and the exit code is 1.

An admin may give any user's link to another user, with --owner: the link's figures go with it. What was
counted so far stays in the sums of the former owner.
` + whereTokensAre,
		Example: `  shunt edit spring --url https://example.org/summer --expires 30d
  shunt edit spring --tag campaign --tag print --max-hits none
  shunt edit spring --forward-query --status 307 --if-match 3
  shunt edit spring --title '' --json
  shunt edit spring --owner ann@example.com`,
		Args: exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			changesOwner := cmd.Flags().Changed("owner")
			if len(given) == 0 && !changesOwner {
				return settings.UsageErrorf("say what to change: %s, --owner", linkflags.Names())
			}
			if changesOwner && strings.TrimSpace(owner) == "" {
				return settings.UsageErrorf("--owner must be the e-mail address or the ID of a user, not empty")
			}
			return editLink(cmd.Context(), &where, args[0], given, options, owner, asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	linkflags.Add(fs, given, false)
	settings.Var(fs, &options, "if-match", "VERSION", "", "only if the link has this version, which 'shunt show' prints", parseVersion)
	fs.StringVar(&owner, "owner", "", "give the link to this `USER`: an e-mail address or an ID (for admins)")
	fs.BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(fs, "if-match", "owner", "json")
	return cmd
}

// parseVersion reads a link's version, also as the ETag that the API has it in.
func parseVersion(text string) ([]client.Option, error) {
	version, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 64)
	if err != nil || version == 0 {
		return nil, errors.New("must be a link's version, a number from 1")
	}
	return []client.Option{client.IfVersion(version)}, nil
}

func editLink(
	ctx context.Context, where *localTarget, name string, given map[string]any, options []client.Option, owner string,
	asJSON bool, stdout, stderr io.Writer,
) error {
	var link client.Link
	err := where.withLink(ctx, name, stderr, func(c *connection, code string) error {
		if owner != "" {
			u, err := c.findUser(ctx, owner)
			if err != nil {
				return err
			}
			given["owner"] = u.ID
			options = append(options, client.AnyOwner())
		}
		return c.Do(ctx, http.MethodPatch, "/links/"+url.PathEscape(code), given, &link, options...)
	})
	if err != nil {
		return fmt.Errorf("edit %s: %w", console.Printable(name), err)
	}
	return printLink(stdout, &link, asJSON)
}
