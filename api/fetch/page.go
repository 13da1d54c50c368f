package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"shunt/api/picture"
)

// Limits of what is read of a page and of its icon.
const (
	maxPageBytes  = 512 << 10
	maxIconBytes  = 256 << 10
	maxIconPixels = 1 << 20
	maxIconLinks  = 8
	iconSide      = 32 // pixels
)

// A Page is what a page says of itself.
type Page struct {
	Address string // where redirects have led
	Title   string // one line; empty: it has none
	Icon    []byte // a PNG of 32 × 32 pixels; nil: none that can be read
}

// IconURL returns the icon as an address that has all of it (RFC 2397); "" if there is none. Its bytes are those that
// this package has drawn.
func (p *Page) IconURL() string {
	if p.Icon == nil {
		return ""
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(p.Icon)
}

var errNotPage = errors.New("is not a page, so it has no title")

// Page reads the page at an address. may says of an address whether it may be asked, and in which form. A title is cut
// to maxTitle bytes.
func (c *Client) Page(ctx context.Context, address string, maxTitle int, may func(address string) (string, error)) (p Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	a, err := c.get(ctx, http.MethodGet, address, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1", may)
	if err != nil {
		return p, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return p, fmt.Errorf("answers with status %d", a.StatusCode)
	}
	kind := a.Header.Get("Content-Type")
	if media, _, _ := mime.ParseMediaType(kind); media != "text/html" && media != "application/xhtml+xml" {
		return p, errNotPage
	}
	text, err := charset.NewReader(io.LimitReader(a.Body, maxPageBytes), kind)
	if err != nil {
		return p, errNotPage // it is empty
	}
	head := readHead(text)
	if ctx.Err() != nil && head.title == "" {
		return p, errSilent
	}
	p = Page{Address: a.address, Title: cut(head.title, maxTitle)}
	p.Icon = c.icon(ctx, a.address, head.icons, may)
	return p, nil
}

// A head is what is read of a page.
type head struct {
	title string
	icons []string // addresses, as the page has them
}

// readHead reads a page up to its body, or as far as it comes. The title is that of the element title, else of
// og:title.
func readHead(text io.Reader) (h head) {
	tokens := html.NewTokenizer(text)
	tokens.SetMaxBuf(maxPageBytes)
	other := ""
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return h.orTitle(other)
		case html.StartTagToken, html.SelfClosingTagToken:
			t := tokens.Token()
			switch t.DataAtom {
			case atom.Title:
				if h.title == "" && tokens.Next() == html.TextToken {
					h.title = oneLine(tokens.Token().Data)
				}
			case atom.Meta:
				if attribute(&t, "property") == "og:title" {
					other = oneLine(attribute(&t, "content"))
				}
			case atom.Link:
				if isIcon(attribute(&t, "rel")) && len(h.icons) < maxIconLinks {
					h.icons = append(h.icons, attribute(&t, "href"))
				}
			case atom.Body:
				return h.orTitle(other)
			}
		}
	}
}

func (h head) orTitle(other string) head {
	if h.title == "" {
		h.title = other
	}
	return h
}

func attribute(t *html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func isIcon(rel string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(rel)) {
		if word == "icon" || word == "apple-touch-icon" {
			return true
		}
	}
	return false
}

// oneLine returns text on one line, without characters that do not show.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError, unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c':
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// cut returns the first bytes of text, at most most of them, cut between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:most], ""))
}

// icon returns the first icon that can be read: of those that the page names, or at the usual place.
func (c *Client) icon(ctx context.Context, page string, named []string, may func(address string) (string, error)) []byte {
	base, err := url.Parse(page)
	if err != nil {
		return nil
	}
	for _, href := range append(named[:min(len(named), 2)], "/favicon.ico") {
		address, err := base.Parse(href)
		if err != nil {
			continue
		}
		if icon := c.iconAt(ctx, address.String(), may); icon != nil {
			return icon
		}
	}
	return nil
}

func (c *Client) iconAt(ctx context.Context, address string, may func(address string) (string, error)) []byte {
	a, err := c.get(ctx, http.MethodGet, address, "image/png,image/*;q=0.5", may)
	if err != nil {
		return nil
	}
	defer a.Body.Close()
	var file bytes.Buffer
	if _, err := file.ReadFrom(io.LimitReader(a.Body, maxIconBytes+1)); err != nil || file.Len() > maxIconBytes || a.StatusCode != http.StatusOK {
		return nil
	}
	p, err := picture.Decode(file.Bytes(), maxIconPixels, picture.PNG, picture.JPEG, picture.GIF)
	if err != nil {
		return nil
	}
	return picture.EncodePNG(picture.Scaled(p, iconSide, iconSide))
}
