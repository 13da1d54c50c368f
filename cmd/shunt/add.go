package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"shunt/api/client"
)

// linkDraft is a draft that tells an alias and a cap which are given as "" and 0, for the server to refuse, from none.
type linkDraft struct {
	client.Draft
	Alias   *string `json:"alias,omitempty"`
	MaxHits *uint64 `json:"max_hits,omitempty"`
}

func newAdd(stdout, stderr io.Writer) *cobra.Command {
	where, draft, expires, asJSON := localTarget{}, linkDraft{}, expiry{}, false
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Make a short link and print its address",
		Long: `Make a short link and print its address, and only it, on standard output.

It talks to the server that runs on the data folder; if none does, it opens the folder itself; with --server (and the
token in SHUNT_TOKEN) it talks to a server elsewhere.`,
		Example: `  shunt add https://example.org/a/long/address
  shunt add https://example.org/spring --alias spring --tag campaign --expires 30d
  SHUNT_TOKEN_FILE=token.txt shunt add https://example.org --server https://sho.rt`,
		Args: exactly("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			draft.URL, draft.ExpiresAt = args[0], expires.time
			omitUnset(cmd, &draft)
			return addLink(cmd.Context(), &where, draft, asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	draft.Alias, draft.MaxHits = new(string), new(uint64)
	fs.StringVar(draft.Alias, "alias", "", "`CODE` of your choice: letters, digits, - and _ (default: drawn)")
	fs.StringVar(&draft.Title, "title", "", "`TEXT` for people")
	fs.StringArrayVar(&draft.Tags, "tag", nil, "`TAG` to find it by; may be repeated")
	fs.Var(&expires, "expires", "when it ends: 30d, 12h, 2030-12-31 or 2030-12-31T23:59:59Z (default never)")
	fs.Uint64Var(draft.MaxHits, "max-hits", 0, "how many `HITS` it answers before it is used up (default: any number)")
	fs.IntVar(&draft.RedirectStatus, "status", 0, "redirect `STATUS`: 301, 302, 307 or 308 (default 302)")
	fs.BoolVar(&draft.ForwardQuery, "forward-query", false, "pass the query string after the code on to the target")
	fs.BoolVar(&asJSON, "json", false, "print the link object")
	markArguments(fs, "alias", "title", "tag", "expires", "max-hits", "status", "forward-query", "json")
	return cmd
}

// omitUnset leaves out what was not given.
func omitUnset(cmd *cobra.Command, draft *linkDraft) {
	if !cmd.Flags().Changed("alias") {
		draft.Alias = nil
	}
	if !cmd.Flags().Changed("max-hits") {
		draft.MaxHits = nil
	}
}

func addLink(ctx context.Context, where *localTarget, draft linkDraft, asJSON bool, stdout, stderr io.Writer) error {
	var link client.Link
	err := where.with(ctx, stderr, func(c *connection) error {
		return c.Do(ctx, http.MethodPost, "/shorten", draft, &link, c.onceOptions()...)
	})
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	if asJSON {
		return printJSON(stdout, link.Raw)
	}
	if link.ShortURL == "" {
		return errors.New("add: the server's answer holds no short_url")
	}
	_, err = fmt.Fprintln(stdout, printable(link.ShortURL))
	return err
}
