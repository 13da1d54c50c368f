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

// The commands that set the fields of a link: add and edit.

func newAdd(stdout, stderr io.Writer) *cobra.Command {
	where, given, asJSON := localTarget{}, map[string]any{}, false
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Make a short link and print its address",
		Long: `Make a short link and print only its address on standard output.

URL may be without its scheme (example.org/x is https://example.org/x), and a space in it becomes %20.

It uses the server that runs on the data folder. If none runs, it opens the folder itself. With
--server (and the token in SHUNT_TOKEN) it uses a server elsewhere.`,
		Example: `  shunt add https://example.org/a/long/address
  shunt add https://example.org/spring --alias spring --tag campaign --expires 30d
  SHUNT_TOKEN_FILE=token.txt shunt add https://example.org --server https://sho.rt`,
		Args: exactly("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			given["url"] = args[0]
			return addLink(cmd.Context(), &where, given, asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	settings.Var(fs, new(string), "alias", "CODE", "", "a code of your choice: letters, digits, - and _ (default: drawn)",
		func(text string) (string, error) {
			given["alias"] = text // an empty one too: the server refuses it
			return text, nil
		})
	linkflags.Add(fs, given, true)
	fs.BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(fs, "alias", "json")
	return cmd
}

func addLink(ctx context.Context, where *localTarget, given map[string]any, asJSON bool, stdout, stderr io.Writer) error {
	var link client.Link
	err := where.with(ctx, stderr, func(c *connection) error {
		return c.Do(ctx, http.MethodPost, "/shorten", given, &link, c.onceOptions()...)
	})
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	if asJSON {
		return console.PrintJSON(stdout, link.Raw)
	}
	if link.ShortURL == "" {
		return errors.New("add: the server's answer holds no short_url")
	}
	_, err = fmt.Fprintln(stdout, console.Printable(link.ShortURL))
	return err
}

func newEdit(stdout, stderr io.Writer) *cobra.Command {
	where, given, options, asJSON := localTarget{}, map[string]any{}, []client.Option(nil), false
	cmd := &cobra.Command{
		Use:   "edit CODE",
		Short: "Change a link",
		Long: `Change the given fields of a link, and print it as 'shunt show' does. Everything else stays: its code,
its hits, and the fields that are not given. Given tags replace all tags of the link. CODE may be the
whole short address.

With --if-match the link is changed only if it still has that version, which 'shunt show' prints: if
somebody has edited it meanwhile, nothing changes and the exit code is 1.
` + whereTokensAre,
		Example: `  shunt edit spring --url https://example.org/summer --expires 30d
  shunt edit spring --tag campaign --tag print --max-hits none
  shunt edit spring --forward-query --status 307 --if-match 3
  shunt edit spring --title '' --json`,
		Args: exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(given) == 0 {
				return settings.UsageErrorf("say what to change: %s", linkflags.Names())
			}
			return editLink(cmd.Context(), &where, args[0], given, options, asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	linkflags.Add(fs, given, false)
	settings.Var(fs, &options, "if-match", "VERSION", "", "only if the link has this version, which 'shunt show' prints", parseVersion)
	fs.BoolVar(&asJSON, "json", false, "print the link object")
	settings.MarkArguments(fs, "if-match", "json")
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
	ctx context.Context, where *localTarget, name string, given map[string]any, options []client.Option, asJSON bool,
	stdout, stderr io.Writer,
) error {
	var link client.Link
	err := where.withLink(ctx, name, stderr, func(c *connection, code string) error {
		return c.Do(ctx, http.MethodPatch, "/links/"+url.PathEscape(code), given, &link, options...)
	})
	if err != nil {
		return fmt.Errorf("edit %s: %w", console.Printable(name), err)
	}
	return printLink(stdout, &link, asJSON)
}
