package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// add.go has add; here are the commands for links that there are.

const (
	defaultListed = 50
	maxPage       = 1000 // links that the server gives at once
)

// listAsked is what ls is asked for.
type listAsked struct {
	tag, q, owner string
	limit         int
	all, asJSON   bool
}

func newLs(stdout, stderr io.Writer) *cobra.Command {
	where, asked := localTarget{}, listAsked{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List links",
		Long: `List your links, the newest first: a table, or with --json a link object a line. Without --limit and --all it is the
newest 50.
` + whereTokensAre,
		Example: `  shunt ls
  shunt ls --tag campaign --all
  shunt ls --q example.org --json | jq -r .short_url`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked.all && cmd.Flags().Changed("limit") {
				return usageErrorf("--all and --limit exclude each other")
			}
			return listLinks(cmd.Context(), &where, asked, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	fs.StringVar(&asked.tag, "tag", "", "only those with the `TAG`")
	fs.StringVar(&asked.q, "q", "", "only those whose code, host or title begins with `TEXT`, in any case")
	fs.IntVar(&asked.limit, "limit", defaultListed, "at most so `MANY`")
	fs.BoolVar(&asked.all, "all", false, "all of them")
	fs.StringVar(&asked.owner, "owner", "", "those of the user with this `ID`, or of all (for admins)")
	fs.BoolVar(&asked.asJSON, "json", false, "print link objects, one a line")
	markArguments(fs, "tag", "q", "limit", "all", "owner", "json")
	return cmd
}

// listedLink is what the table shows of a link object.
type listedLink struct {
	Code      string    `json:"code"`
	URL       string    `json:"url"`
	State     string    `json:"state"`
	Title     string    `json:"title"`
	Hits      uint64    `json:"hits"`
	CreatedAt time.Time `json:"created_at"`
}

type listPage struct {
	Data       []json.RawMessage `json:"data"`
	NextCursor string            `json:"next_cursor"`
}

func listLinks(ctx context.Context, where *localTarget, asked listAsked, stdout, stderr io.Writer) error {
	if asked.limit < 1 {
		return usageErrorf("--limit must be at least 1")
	}
	err := where.with(ctx, stderr, func(c *client) error { return c.listLinks(ctx, asked, stdout, stderr) })
	if err != nil {
		return fmt.Errorf("ls: %w", err)
	}
	return nil
}

// listLinks prints page after page, so that a long list takes no memory.
func (c *client) listLinks(ctx context.Context, asked listAsked, stdout, stderr io.Writer) error {
	query := make(url.Values)
	for name, value := range map[string]string{"tag": asked.tag, "q": asked.q, "owner": asked.owner} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for left, head := asked.limit, true; left > 0; head = false {
		size := maxPage
		if !asked.all {
			size = min(left, maxPage)
		}
		query.Set("limit", strconv.Itoa(size))
		var page listPage
		if err := c.callInto(ctx, http.MethodGet, "/links?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		if err := printLinks(stdout, page.Data, asked.asJSON, head); err != nil {
			return err
		}
		if page.NextCursor == "" {
			return nil
		}
		query.Set("cursor", page.NextCursor)
		if !asked.all {
			left -= len(page.Data)
		}
	}
	fmt.Fprintln(stderr, "shunt: there may be more; --all lists them")
	return nil
}

func printLinks(stdout io.Writer, links []json.RawMessage, asJSON, head bool) error {
	if asJSON {
		for _, link := range links {
			if _, err := fmt.Fprintf(stdout, "%s\n", bytes.TrimSpace(link)); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]string
	if head {
		rows = append(rows, []string{"CODE", "HITS", "STATE", "CREATED", "TARGET", "TITLE"})
	}
	for _, text := range links {
		var l listedLink
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("the server's answer: %w", err)
		}
		rows = append(rows, []string{l.Code, strconv.FormatUint(l.Hits, 10), l.State, timeText(l.CreatedAt), l.URL, l.Title})
	}
	return printTable(stdout, rows)
}

func newRm(stderr io.Writer) *cobra.Command {
	where := localTarget{}
	cmd := &cobra.Command{
		Use:   "rm CODE",
		Short: "Delete a link",
		Long: `Delete a link. Its code stays taken for 90 days, but its owner may take it again. The whole short address does as well as
the code.
` + whereTokensAre,
		Example: `  shunt rm spring
  shunt rm http://127.0.0.1:8080/spring`,
		Args: exactly("CODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return removeLink(cmd.Context(), &where, codeOf(args[0]), stderr)
		},
	}
	addLocalSettings(cmd, &where)
	return cmd
}

func removeLink(ctx context.Context, where *localTarget, code string, stderr io.Writer) error {
	if code == "" {
		return usageErrorf("CODE is empty")
	}
	err := where.with(ctx, stderr, func(c *client) error {
		_, err := c.call(ctx, http.MethodDelete, "/links/"+url.PathEscape(code), nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("rm %s: %w", printable(code), err)
	}
	return nil
}

func newExport(stdout, stderr io.Writer) *cobra.Command {
	where, owner, unique := localTarget{}, "", false
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print all links, one JSON object a line",
		Long: `Print all your links as they are at this moment, one JSON object a line, the newest first. If it does not exit with 0, the
output is not whole.
` + whereTokensAre,
		Example: `  shunt export > links.ndjson
  shunt export --owner all --unique`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := make(url.Values)
			if owner != "" {
				query.Set("owner", owner)
			}
			if unique {
				query.Set("include", "unique")
			}
			return exportLinks(cmd.Context(), &where, query, stdout, stderr)
		},
	}
	addLocalSettings(cmd, &where)
	fs := cmd.Flags()
	fs.StringVar(&owner, "owner", "", "those of the user with this `ID`, or of all (for admins)")
	fs.BoolVar(&unique, "unique", false, "with the unique visitors of each")
	markArguments(fs, "owner", "unique")
	return cmd
}

func exportLinks(ctx context.Context, where *localTarget, query url.Values, stdout, stderr io.Writer) error {
	err := where.with(ctx, stderr, func(c *client) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		silence := time.AfterFunc(callTimeout, cancel)
		defer silence.Stop()
		body, err := c.openStream(ctx, http.MethodGet, strings.TrimSuffix("/export?"+query.Encode(), "?"), nil)
		if err != nil {
			return err
		}
		return errors.Join(copyLinks(stdout, body, func() { silence.Reset(callTimeout) }), body.Close())
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// maxLinkLine bounds a line of an export: a link has at most some 12 KB, twice that if all of it is quoted.
const maxLinkLine = 1 << 20

// copyLinks copies an export line by line, and calls alive for each. Its end is not whole if it comes with a problem, or
// before the answer's.
func copyLinks(stdout io.Writer, body io.Reader, alive func()) error {
	out := bufio.NewWriter(stdout)
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLinkLine)
	for lines.Scan() {
		alive()
		var line struct{ Type string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return errors.Join(errors.New("it is not whole: the answer breaks off"), out.Flush())
		}
		if strings.HasPrefix(line.Type, "urn:shunt:problem:") {
			var p problem
			_ = json.Unmarshal(lines.Bytes(), &p) // whatever is missing, it is a problem
			return errors.Join(fmt.Errorf("it is not whole: %w", p), out.Flush())
		}
		if _, err := fmt.Fprintf(out, "%s\n", lines.Bytes()); err != nil {
			return err
		}
	}
	err := lines.Err()
	if err != nil {
		err = fmt.Errorf("it is not whole: %w", err)
	}
	return errors.Join(err, out.Flush())
}
