package page

import (
	"cmp"

	"shunt/api/brand"
)

// A Site is what the pages of a server say about it.
type Site struct {
	Host   string // with its port
	Docs   string // the path of the reference page
	SignIn string // the path of the dashboard; empty: there is none
	Brand  brand.Brand
}

// LogoPath is where the logo is.
const LogoPath = "/_/logo"

// name is how pages call the site.
func (s *Site) name() string { return cmp.Or(s.Brand.Name, s.Host) }

// Top returns the bar at the top of every page: who runs the site, and where to ask. If there is a
// logo, a name stands beside it only if it was given: most logos have one in them.
func (s *Site) Top() Markup {
	mark := Format("%s", s.name())
	switch {
	case s.Brand.Logo != nil && s.Brand.Name != "":
		mark = Format(`<img src="%s" alt=""> %s`, LogoPath, s.Brand.Name)
	case s.Brand.Logo != nil:
		mark = Format(`<img src="%s" alt="%s">`, LogoPath, s.Host)
	}
	support := Markup("")
	if s.Brand.SupportURL != "" {
		support = Format("<a class=\"support\" href=\"%s\">Support</a>\n", s.Brand.SupportURL)
	}
	return Format("<header class=\"top\">\n<a class=\"brand\" href=\"/\">%s</a>\n%s</header>\n", mark, support)
}

// support returns a link to the support, empty if there is none.
func (s *Site) support() Markup {
	if s.Brand.SupportURL == "" {
		return ""
	}
	return Format(`<a href="%s">%s</a>`, s.Brand.SupportURL, s.Brand.Support())
}
