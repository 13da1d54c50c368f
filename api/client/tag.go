package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// TagsQuery selects tags. The zero query selects all.
type TagsQuery struct {
	Prefix   string // of the tags, in any case
	PageSize int    // tags fetched at once, at most 1,000; 0: the server's default, 50
}

// A Tag is a tag and the number of links that have it.
type Tag struct {
	Name  string `json:"name"` // as the newest of the links has it
	Links uint64 `json:"links"`
}

// A TagChange is what a change of a tag has done.
type TagChange struct {
	Name  string `json:"name"`  // of the tag: after a rename the new one
	Links uint64 `json:"links"` // that were changed
}

// Tags lists the tags of the caller's links, in the order of the alphabet regardless of case. It fetches
// a page when the consumer asks for its first tag, and stops when the consumer does. An error ends the list.
func (c *Client) Tags(ctx context.Context, q TagsQuery, options ...Option) iter.Seq2[Tag, error] {
	query := make(url.Values)
	setGiven(query, "q", q.Prefix)
	if q.PageSize != 0 {
		query.Set("limit", strconv.Itoa(q.PageSize))
	}
	return pages(func(cursor string) (list[Tag], error) {
		query.Del("cursor")
		setGiven(query, "cursor", cursor)
		return ask[list[Tag]](ctx, c, call{method: http.MethodGet, path: "/tags", query: query, takes: whose}, options)
	})
}

// RenameTag renames a tag, in any case, on all links that have it. If there is a tag of the new name, the
// two become one. It makes as many calls as that takes; after an error, the links of TagChange are changed,
// and a repeat goes on.
func (c *Client) RenameTag(ctx context.Context, tag, name string, options ...Option) (TagChange, error) {
	body := struct {
		Name string `json:"name"`
	}{name}
	return c.changeTag(ctx, call{method: http.MethodPatch, path: tagPath(tag), body: body, takes: whose}, options)
}

// DeleteTag takes a tag, in any case, off all links that have it, as RenameTag does.
func (c *Client) DeleteTag(ctx context.Context, tag string, options ...Option) (TagChange, error) {
	return c.changeTag(ctx, call{method: http.MethodDelete, path: tagPath(tag), takes: whose}, options)
}

// changeTag repeats a call until it is complete. Links that others took the tag off meanwhile are done, too.
func (c *Client) changeTag(ctx context.Context, asked call, options []Option) (done TagChange, err error) {
	for {
		part, err := ask[struct {
			TagChange
			Complete bool `json:"complete"`
		}](ctx, c, asked, options)
		if done.Links > 0 && errors.Is(err, ErrNotFound) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		done = TagChange{part.Name, done.Links + part.Links}
		switch {
		case part.Complete:
			return done, nil
		case part.Links == 0:
			return done, errors.New("client: the server made no progress")
		}
	}
}

// tagPath returns the path of a tag. A dot alone would be read as a part of the path itself.
func tagPath(tag string) string {
	if tag == "." || tag == ".." {
		return "/tags/" + strings.ReplaceAll(tag, ".", "%2E")
	}
	return "/tags/" + url.PathEscape(tag)
}
