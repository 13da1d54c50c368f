package visit

import (
	"cmp"
	"slices"
	"strings"

	"shunt/engine"
)

// listedDomains is the most domains that a choice lists. If there are more, it is a field for a host.
const listedDomains = 100

// A DomainChoice is the choice of a domain: of a list or of figures, or of links that a form makes.
type DomainChoice struct {
	ID      string         // of the element
	Options []DomainOption // none: they are too many for a list
	Typed   string         // if so: what the field has
	Error   string
	Path    string      // of the page, for a form that is the choice alone
	Kept    []Parameter // the same: the page's other parameters
}

// A DomainOption is one domain, or all.
type DomainOption struct {
	Value, Name string
	Chosen      bool
}

// DomainsOfList returns the choice of the domain of a list or of figures, in which the host asked is chosen; nil if
// the visitor may use only one. all: of all domains is a choice, too; else the one of OneDomain stands for an empty
// host.
func (r *Request) DomainsOfList(asked string, all bool) *DomainChoice {
	may := r.Calls.DomainsOf(r.Caller)
	if len(may) < 2 {
		return nil
	}
	c := &DomainChoice{ID: "domain", Typed: asked, Path: r.Path(), Kept: r.given("domain", "cursor", "page", "back", "made")}
	chosen := r.hostNamed(asked)
	if asked == "" && !all {
		chosen = cmp.Or(r.OneDomain(Whose{}).Domain, may[0].Host)
	}
	if all {
		c.Options = append(c.Options, DomainOption{"", "all", asked == ""})
	}
	for _, one := range may {
		c.Options = append(c.Options, DomainOption{one.Host, one.Host, one.Host == chosen})
	}
	c.cut()
	return c
}

// DomainsOfForm returns the choice of the domain of new links, in which a host is chosen; nil if the visitor may use
// only one. An empty value is the default domain; a visitor who is limited to domains must name it.
func (r *Request) DomainsOfForm(asked string) *DomainChoice {
	may := r.Calls.DomainsOf(r.Caller)
	if len(may) < 2 {
		return nil
	}
	valueOf := r.HostOfLinks
	if r.Caller.Domains.Limited() {
		valueOf = r.hostNamed
	}
	c := &DomainChoice{ID: "link-domain", Typed: asked}
	chosen := valueOf(asked)
	for _, one := range may {
		value := valueOf(one.Host)
		c.Options = append(c.Options, DomainOption{value, one.Host, value == chosen})
	}
	c.cut()
	return c
}

// cut empties a list that is too long.
func (c *DomainChoice) cut() {
	if len(c.Options) > listedDomains {
		c.Options = nil
	}
}

// OneDomain returns w for a page about one domain. Without one, and for a visitor who does not mean the default one, it
// is the first that the visitor may use.
func (r *Request) OneDomain(w Whose) Whose {
	may := r.Calls.DomainsOf(r.Caller)
	if w.Domain == "" && len(may) > 0 && may[0].Number != engine.DefaultDomain {
		w.Domain = may[0].Host
	}
	return w
}

// hostNamed returns the host of the visitor's domain that a text names, which may be an alias; of none the text.
func (r *Request) hostNamed(text string) string {
	if d, err := r.Calls.DomainNamed(r.Caller, strings.TrimSpace(text)); err == nil {
		return d.Host
	}
	return text
}

// HostOfLinks returns the host that links of a domain have: empty for the default one.
func (r *Request) HostOfLinks(text string) string {
	if host := r.hostNamed(text); host != r.Calls.Domains().Default().Host {
		return host
	}
	return ""
}

// given returns the parameters of the address but those of the names.
func (r *Request) given(without ...string) (all []Parameter) {
	for name, value := range r.Ctx.QueryArgs().All() {
		if !slices.Contains(without, string(name)) {
			all = append(all, Parameter{string(name), string(value)})
		}
	}
	return all
}
