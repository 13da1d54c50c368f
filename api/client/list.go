package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// LinksQuery selects the links of a list. The zero query selects all of the caller's.
type LinksQuery struct {
	Q           string // words, each anywhere in code, target, a tag, title or another text, without case and accents; or an address
	Tag         string
	Folder      uint32    // the id of a folder: all links in it, without a Tag or Owner; 0: any
	State       State     // at the moment; empty: any
	CreatedFrom time.Time // only links created from then on; the zero time: all
	CreatedTo   time.Time // only links created before then
	NeverHit    bool      // only links without a hit
	Sort        string    // created, updated, hits, relevance, visitors or last_hit; empty: the newest first
	Ascending   bool
	Unique      bool // with the number of visitors of each
	PageSize    int  // links fetched at once, at most 1,000; 0: the server's default, 50
}

var errSameCursor = errors.New("client: the server's list goes in circles")

// Links lists links, the newest first unless q has another order. It fetches a page when the consumer asks for its
// first link, and stops when the consumer does. An error ends the list. Links that are made or deleted between
// pages neither repeat nor hide others; in the order of hits or of updates, a link may change its place between pages.
func (c *Client) Links(ctx context.Context, q LinksQuery, options ...Option) iter.Seq2[Link, error] {
	return pages(func(cursor string) (list[Link], error) { return c.linkPage(ctx, q, cursor, options) })
}

// pages returns the rows of all pages. fetch returns the page of a cursor; empty: the first.
func pages[T any](fetch func(cursor string) (list[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for cursor := ""; ; {
			page, err := fetch(cursor)
			if err != nil {
				yield(none, err)
				return
			}
			for _, row := range page.Data {
				if !yield(row, nil) {
					return
				}
			}
			switch page.NextCursor {
			case "":
				return
			case cursor:
				yield(none, errSameCursor)
				return
			}
			cursor = page.NextCursor
		}
	}
}

// list is an answer with rows and a cursor.
type list[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"next_cursor"`
}

func (c *Client) linkPage(ctx context.Context, q LinksQuery, cursor string, options []Option) (list[Link], error) {
	query := make(url.Values)
	q.choose(query)
	setNumber(query, "folder", q.Folder)
	setGiven(query, "cursor", cursor)
	setGiven(query, "sort", q.Sort)
	if q.Ascending {
		query.Set("order", "asc")
	}
	if q.Unique {
		query.Set("include", "unique")
	}
	if q.PageSize != 0 {
		query.Set("limit", strconv.Itoa(q.PageSize))
	}
	return ask[list[Link]](ctx, c, call{method: http.MethodGet, path: "/links", query: query, takes: whose}, options)
}

// choose sets the parameters that say which links are wanted.
func (q *LinksQuery) choose(query url.Values) {
	setGiven(query, "q", q.Q)
	setGiven(query, "tag", q.Tag)
	setGiven(query, "state", string(q.State))
	setTime(query, "created_from", q.CreatedFrom)
	setTime(query, "created_to", q.CreatedTo)
	if q.NeverHit {
		query.Set("never_hit", "true")
	}
}

// setGiven sets a parameter unless it is empty.
func setGiven(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// setNumber sets a parameter unless it is 0.
func setNumber(query url.Values, name string, n uint32) {
	if n != 0 {
		query.Set(name, strconv.FormatUint(uint64(n), 10))
	}
}

// ExportQuery says what an export contains.
type ExportQuery struct {
	Folder uint32 // the id of a folder: all links in it, without an Owner; 0: those of the owner
	Unique bool   // with the number of visitors of each link
	Hashes bool   // with the hashes of passwords, for admins
	Daily  bool   // with the hits of each day

	Only LinksQuery // only the links that Q, Tag, State, times of creation and NeverHit choose; nothing else of it matters
}

// ExportCSV is Export as a table: a column for each field of a link object, by its name. It is complete only if reading
// it ends with io.EOF; the caller closes it.
func (c *Client) ExportCSV(ctx context.Context, q ExportQuery, options ...Option) (io.ReadCloser, error) {
	asked := q.call()
	asked.accept = "text/csv"
	s, err := c.openStream(ctx, asked, options, c.timeout)
	if err != nil {
		return nil, err // and not a stream that is nil
	}
	return s, nil
}

// ExportLines is Export with the link objects as they come.
func (c *Client) ExportLines(ctx context.Context, q ExportQuery, options ...Option) iter.Seq2[json.RawMessage, error] {
	return c.lines(ctx, q.call(), options)
}

func (q *ExportQuery) call() call {
	asked := call{method: http.MethodGet, path: "/export", query: make(url.Values), takes: whose}
	setNumber(asked.query, "folder", q.Folder)
	q.Only.choose(asked.query)
	var includes []string
	if q.Unique {
		includes = append(includes, "unique")
	}
	if q.Daily {
		includes = append(includes, "daily")
	}
	if q.Hashes {
		includes = append(includes, "password_hash")
	}
	if len(includes) > 0 {
		asked.query.Set("include", strings.Join(includes, ","))
	}
	return asked
}

// Export reads all links as they are at one moment, the newest first. It is complete only if no
// error ends it. The server keeps a snapshot of its store for an export, so the consumer has to
// read at least 16 KiB a second.
func (c *Client) Export(ctx context.Context, q ExportQuery, options ...Option) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for line, err := range c.ExportLines(ctx, q, options...) {
			var link Link
			if err == nil {
				err = json.Unmarshal(line, &link)
			}
			if err != nil {
				yield(Link{}, err)
				return
			}
			if !yield(link, nil) {
				return
			}
		}
	}
}
