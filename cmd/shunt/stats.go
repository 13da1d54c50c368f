package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func newStats(stdout, stderr io.Writer) *cobra.Command {
	where, asJSON := localTarget{}, false
	cmd := &cobra.Command{
		Use:   "stats CODE",
		Short: "Print the hits and unique visitors of a link",
		Long: `Print the hits and unique visitors of a link. The whole short address does as well as its code.

It talks to the server that runs on the data folder; if none does, it opens the folder itself; with --server (and the
token in SHUNT_TOKEN) it talks to a server elsewhere.`,
		Example: `  shunt stats spring
  shunt stats http://127.0.0.1:8080/spring --json`,
		Args: exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printStats(cmd.Context(), &where, codeOf(args[0]), asJSON, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer of the API")
	markArguments(cmd.Flags(), "json")
	return cmd
}

// codeOf takes the code out of a short address as add prints it.
func codeOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	return strings.Trim(u.EscapedPath(), "/")
}

func printStats(ctx context.Context, where *localTarget, code string, asJSON bool, stdout, stderr io.Writer) error {
	c, err := where.connect(ctx, stderr)
	if err != nil {
		return err
	}
	answer, err := c.call(ctx, http.MethodGet, "/stats/"+url.PathEscape(code), nil)
	if err := errors.Join(err, c.close()); err != nil {
		return fmt.Errorf("stats %s: %w", code, err)
	}
	if asJSON {
		return printJSON(stdout, answer)
	}
	stats := struct{ Hits, Unique uint64 }{}
	if err := json.Unmarshal(answer, &stats); err != nil {
		return fmt.Errorf("stats %s: the server's answer: %w", code, err)
	}
	_, err = fmt.Fprintf(stdout, "hits    %d\nunique  %d\n", stats.Hits, stats.Unique)
	return err
}

// printJSON prints an answer of the API as it came, indented.
func printJSON(stdout io.Writer, answer []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(answer), "", "  "); err != nil {
		return fmt.Errorf("the server's answer is no JSON: %w", err)
	}
	_, err := fmt.Fprintln(stdout, text.String())
	return err
}
