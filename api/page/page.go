package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"strings"

	"shunt/api/redirect"
	"shunt/api/words"
)

//go:embed base.css
var baseStyle string

//go:embed page.css
var pageStyle string

// BaseStyle has what all pages and the dashboard share: colours, light and dark, the font, and the
// bar at the top.
var BaseStyle = Compact(baseStyle)

// style is the style of all pages but the reference page. It is part of the page, so that a page
// takes one request; the policy allows it by its hash.
var style = BaseStyle + Compact(pageStyle)

// AssetPolicy is the Content-Security-Policy of answers that are not pages, in case a browser shows
// one by itself.
const AssetPolicy = "default-src 'none'; frame-ancestors 'none'"

// PolicyFor returns the Content-Security-Policy of a page of site that loads nothing but its style
// and, if the site has one, the logo.
func PolicyFor(site *Site, style string) string {
	hash := sha256.Sum256([]byte(style))
	images := ""
	if site.Brand.Logo != nil {
		images = "img-src 'self'; "
	}
	return "default-src 'none'; " + images + "style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Markup is HTML; a plain string is text, which Format escapes.
type Markup string

// Format formats values by format, which is HTML. It escapes strings among the values, and leaves
// Markup as it is.
func Format(format string, values ...any) Markup {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = html.EscapeString(text)
		}
	}
	return Markup(fmt.Sprintf(format, values...))
}

// Head is the beginning of every page in a language, up to its body.
func Head(language *words.Catalog, title, style string) Markup {
	return Format(`<!doctype html>
<html lang="%s">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>%s</title>
<style>%s</style>
`, language.Tag(), title, Markup(style))
}

// A Set is the pages of one site in one language.
type Set struct {
	Landing Text   // the page at /
	Policy  string // the Content-Security-Policy of every page of the set but Asks
	Asks    Asks

	site     Site
	language *words.Catalog
	errors   [len(errorTexts)]Error
}

// New returns the pages of site in English, and NewIn in any language.
func New(site Site) *Set { return NewIn(nil, site) }

func NewIn(language *words.Catalog, site Site) *Set {
	s := &Set{site: site, Policy: PolicyFor(&site, style), language: language}
	for o, t := range errorTexts {
		if t.kind != nil {
			s.errors[o] = Error{t.kind, t.text, NewText(s.HTML(t.title, s.errorBody(t.text, t.advice, t.help)))}
		}
	}
	s.Asks = s.asks()
	s.errors[redirect.Locked] = s.Asks.First
	s.Landing = NewText(s.HTML("Short links", s.landingBody()))
	return s
}

const whatItDoes = "<p>This server turns long addresses into short ones. Add a + to the end of a short address to see where it leads.</p>\n"

// DomainLanding returns the page at / of a domain that is not the default one: nobody signs in there.
func (s *Set) DomainLanding(host string) []byte {
	other := *s
	other.site.Host = host
	return other.HTML("Short links", whatItDoes)
}

func (s *Set) landingBody() Markup {
	body := Markup(whatItDoes)
	if s.site.SignIn != "" {
		body += Format("<p class=\"act\"><a class=\"button\" href=\"%s\">Sign in</a></p>\n", s.site.SignIn)
	}
	return body + Format(`<p class="quiet">Programs can use the <a href="%s">API</a>.</p>`, s.site.Docs)
}

// HTML returns a page, which names the site in its title and at its top.
func (s *Set) HTML(title string, body Markup) []byte { return s.styled(style, title, body) }

func (s *Set) styled(style, title string, body Markup) []byte {
	title = s.language.Say(title)
	var b strings.Builder
	b.WriteString(string(Head(s.language, title+" · "+s.site.Name(), style)))
	b.WriteString(string(s.site.Top(s.language)))
	b.WriteString(string(Format("<main>\n<h1>%s</h1>\n%s\n</main>\n</html>\n", title, s.said(body))))
	return []byte(b.String())
}

// said returns m with its texts in the language of s.
func (s *Set) said(m Markup) Markup { return Markup(s.language.Fragment(template.HTML(m))) }
