package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// LinksQuery says which links are listed. The zero query is all of the caller's.
type LinksQuery struct {
	Q        string // case-insensitive beginning of code, host or title
	Tag      string
	Unique   bool // with the visitors of each
	PageSize int  // how many are fetched at once, at most 1,000; 0: the server's choice, 50
}

var errSameCursor = errors.New("client: the server's list goes in circles")

// Links lists links, the newest first. It fetches a page when the consumer wants its first link, and stops when the consumer
// does. An error ends the list. Links that come and go between pages neither repeat nor hide others.
func (c *Client) Links(ctx context.Context, q LinksQuery, options ...Option) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for cursor := ""; ; {
			page, err := c.linkPage(ctx, q, cursor, options)
			if err != nil {
				yield(Link{}, err)
				return
			}
			for _, link := range page.Data {
				if !yield(link, nil) {
					return
				}
			}
			switch page.NextCursor {
			case "":
				return
			case cursor:
				yield(Link{}, errSameCursor)
				return
			}
			cursor = page.NextCursor
		}
	}
}

// list is an answer with rows.
type list[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"next_cursor"`
}

func (c *Client) linkPage(ctx context.Context, q LinksQuery, cursor string, options []Option) (list[Link], error) {
	query := make(url.Values)
	setGiven(query, "q", q.Q)
	setGiven(query, "tag", q.Tag)
	setGiven(query, "cursor", cursor)
	if q.Unique {
		query.Set("include", "unique")
	}
	if q.PageSize != 0 {
		query.Set("limit", strconv.Itoa(q.PageSize))
	}
	return ask[list[Link]](ctx, c, call{method: http.MethodGet, path: "/links", query: query, takes: takesOwner}, options)
}

// setGiven sets a parameter that is not empty.
func setGiven(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// ExportQuery says what an export holds.
type ExportQuery struct {
	Unique bool // with the visitors of each link
}

// Export reads all links as they are at one moment, the newest first. Only if no error ends it, it is whole. While it goes on,
// the server keeps a snapshot of its store, so the consumer must not dawdle: it has to take 16 KiB a second.
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
