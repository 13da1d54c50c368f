package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/linkflags"
	"shunt/cmd/shunt/settings"
)

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
