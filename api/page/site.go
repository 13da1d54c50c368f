package page

import (
	"cmp"

	"shunt/api/brand"
	"shunt/api/words"
)

// A Site is what the pages of a server say about it.
type Site struct {
	Host   string // with its port
	Docs   string // the path of the reference page
	SignIn string // the path of the dashboard; empty: there is none
	Brand  brand.Brand
}

// Root begins the paths of the dashboard, the reference page and the logo. No code begins with it.
const Root = "/_/"

// LanguageCookie has the language that a visitor has chosen for the pages below Root, which comes before those of the
// browser.
const LanguageCookie = "shunt_lang"

// LogoPath is where the logo is.
const LogoPath = Root + "logo"

// Name is how pages call the site.
func (s *Site) Name() string { return cmp.Or(s.Brand.Name, s.Host) }

// Mark returns how pages show the site: its logo, its name or both. A name stands beside a logo only
// if it was given, because most logos have one in them.
func (s *Site) Mark() Markup {
	switch {
	case s.Brand.Logo != nil && s.Brand.Name != "":
		return Format(`<img src="%s" alt=""> %s`, LogoPath, s.Brand.Name)
	case s.Brand.Logo != nil:
		return Format(`<img src="%s" alt="%s">`, LogoPath, s.Host)
	}
	return Format("%s", s.Name())
}

// Top returns the bar at the top of every page in a language: who runs the site, and where to ask.
func (s *Site) Top(language *words.Catalog) Markup {
	support := Markup("")
	if s.Brand.SupportURL != "" {
		support = Format("<a class=\"support\" href=\"%s\">%s</a>\n", s.Brand.SupportURL, language.Say("Support"))
	}
	return Format("<header class=\"top\">\n<a class=\"brand\" href=\"/\">%s</a>\n%s</header>\n", s.Mark(), support)
}

// support returns a link to the support, empty if there is none.
func (s *Site) support() Markup {
	if s.Brand.SupportURL == "" {
		return ""
	}
	return Format(`<a href="%s">%s</a>`, s.Brand.SupportURL, s.Brand.Support())
}
