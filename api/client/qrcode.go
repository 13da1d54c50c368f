package client

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// A QRCode says how the QR code of a link is drawn. The zero one is an SVG, black on white.
type QRCode struct {
	Format     string  // svg, png or pdf; empty: svg
	Color      string  // of the modules, such as #1d3557; empty: black
	Background string  // the same, or transparent; empty: white
	Margin     *int    // in modules; nil: 4, which scanners need
	Level      string  // L, M, Q or H; empty: M, with a logo H
	MM         float64 // the side on paper; 0: of an SVG none, of a PNG what Size says, of a PDF 50
	DPI        int     // of a PNG; 0: 300, if MM is given
	Size       int     // the side of a PNG in pixels, instead of MM; 0: 512
	Untracked  bool    // the code has the short address alone, so a scan counts as a click
	Logo       []byte  // a PNG or JPEG file for the middle; the server does not keep it. nil: none
}

// A logo is the body of a call: a picture.
type logo []byte

// A picture is an answer that is not JSON.
type picture []byte

// QRCode draws the QR code of a link, which need not redirect at present.
func (c *Client) QRCode(ctx context.Context, code string, q QRCode, options ...Option) ([]byte, error) {
	asked := call{method: http.MethodGet, path: linkPath(code) + "/qr", query: q.parameters(), takes: whose}
	if q.Logo != nil {
		asked.method, asked.body, asked.repeatable = http.MethodPost, logo(q.Logo), true
	}
	return ask[picture](ctx, c, asked, options)
}

func (q *QRCode) parameters() url.Values {
	query := make(url.Values)
	setGiven(query, "format", q.Format)
	setGiven(query, "color", q.Color)
	setGiven(query, "background", q.Background)
	setGiven(query, "level", q.Level)
	if q.Margin != nil {
		query.Set("margin", strconv.Itoa(*q.Margin))
	}
	if q.MM != 0 {
		query.Set("mm", strconv.FormatFloat(q.MM, 'f', -1, 64))
	}
	if q.DPI != 0 {
		query.Set("dpi", strconv.Itoa(q.DPI))
	}
	if q.Size != 0 {
		query.Set("size", strconv.Itoa(q.Size))
	}
	if q.Untracked {
		query.Set("track", "false")
	}
	return query
}

// mediaType returns what the first bytes of l say that it is.
func (l logo) mediaType() string {
	if bytes.HasPrefix(l, []byte("\x89PNG")) {
		return "image/png"
	}
	return "image/jpeg" // the server says if it is not
}
