package client

import (
	"context"
	"net/http"
)

// A PageTitle is what a page says of itself.
type PageTitle struct {
	URL   string `json:"url"` // where redirects have led
	Title string `json:"title"`
	Icon  string `json:"icon"` // a PNG of 32 × 32 pixels, as an address that begins with data:; empty: none
}

// FetchTitle has the server ask for the title and the icon of the page at an address, if it may (serve --fetch-titles).
func (c *Client) FetchTitle(ctx context.Context, address string, options ...Option) (PageTitle, error) {
	body := struct {
		URL string `json:"url"`
	}{address}
	return ask[PageTitle](ctx, c, call{method: http.MethodPost, path: "/titles", body: body, repeatable: true}, options)
}
