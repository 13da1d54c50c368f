package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LinksQuery selects the links of a list. The zero query selects all of the caller's.
type LinksQuery struct {
	Q           string // words, each anywhere in code, title, target, tags or note, in any case; or an address
	Tag         string
	State       State     // at the moment; empty: any
	CreatedFrom time.Time // only links that were created from then on; the zero time: all
	CreatedTo   time.Time // only links that were created before; the zero time: all
	NeverHit    bool      // only links without a hit
	Sort        Sort      // empty: the newest first
	Ascending   bool      // in the opposite order
	Unique      bool      // with the number of visitors of each
	PageSize    int       // links fetched at once, at most 1,000; 0: the server's default, 50
}

// A Sort is what a list of links is sorted by, the greatest or latest first.
type Sort string

const (
	SortCreated   Sort = "created"
	SortUpdated   Sort = "updated"
	SortHits      Sort = "hits"
	SortRelevance Sort = "relevance" // by the field that has the words
)

var errSameCursor = errors.New("client: the server's list goes in circles")

// Links lists links, the newest first unless they are sorted otherwise. It fetches a page when the consumer asks for its
// first link, and stops when the consumer does. An error ends the list. Links that are made or deleted between
// pages neither repeat nor hide others; but a link that is sorted by what changes may be listed twice, or not at all, if it
// changes between two pages.
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
	setGiven(query, "q", q.Q)
	setGiven(query, "tag", q.Tag)
	setGiven(query, "state", string(q.State))
	setGiven(query, "sort", string(q.Sort))
	for name, t := range map[string]time.Time{"created_from": q.CreatedFrom, "created_to": q.CreatedTo} {
		if !t.IsZero() {
			query.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	if q.NeverHit {
		query.Set("never_hit", "true")
	}
	if q.Ascending {
		query.Set("order", "asc")
	}
	setGiven(query, "cursor", cursor)
	if q.Unique {
		query.Set("include", "unique")
	}
	if q.PageSize != 0 {
		query.Set("limit", strconv.Itoa(q.PageSize))
	}
	return ask[list[Link]](ctx, c, call{method: http.MethodGet, path: "/links", query: query, takes: takesOwner}, options)
}

// setGiven sets a parameter unless it is empty.
func setGiven(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// ExportQuery says what an export contains.
type ExportQuery struct {
	Unique bool // with the number of visitors of each link
}

// Export reads all links as they are at one moment, the newest first. It is complete only if no
// error ends it. The server keeps a snapshot of its store for an export, so the consumer has to
// read at least 16 KiB a second.
func (c *Client) Export(ctx context.Context, q ExportQuery, options ...Option) iter.Seq2[Link, error] {
	asked := call{method: http.MethodGet, path: "/export", takes: takesOwner}
	if q.Unique {
		asked.query = url.Values{"include": {"unique"}}
	}
	return func(yield func(Link, error) bool) {
		for line, err := range c.lines(ctx, asked, options) {
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
