package shlink

import (
	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/jsonbody"
	"shunt/engine"
)

// A Domain is a domain as Shlink's clients read it.
type Domain struct {
	Domain    string    `json:"domain"`
	IsDefault bool      `json:"isDefault"`
	Redirects Redirects `json:"redirects"`
}

// Redirects are where a domain sends visitors who ask for what is not there. Shlink tells codes from other addresses;
// here there is one address for all, so Regular404 is always null.
type Redirects struct {
	BaseURL         *string `json:"baseUrlRedirect"`
	Regular404      *string `json:"regular404Redirect"`
	InvalidShortURL *string `json:"invalidShortUrlRedirect"`
}

func redirectsOf(s *domain.Settings) Redirects {
	return Redirects{BaseURL: orNull(s.RootURL), InvalidShortURL: orNull(s.NotFoundURL)}
}

// domains is GET /domains.
func (d *Door) domains(a *asked, caller account.Caller) error {
	data := []Domain{}
	for _, one := range d.Ops.DomainsOf(caller) {
		data = append(data, Domain{one.Host, one.Number == engine.DefaultDomain, redirectsOf(&one.Settings)})
	}
	return show(a, map[string]any{"domains": map[string]any{"data": data, "defaultRedirects": Redirects{}}})
}

// editRedirects is PATCH /domains/redirects.
func (d *Door) editRedirects(a *asked, caller account.Caller) error {
	host, patch, err := redirectsPatch(a.Ctx.PostBody())
	if err != nil {
		return err
	}
	a.about = subject{Domain: host}
	if _, err := d.Ops.DomainNamed(caller, d.hostOf(host)); err != nil {
		return err
	}
	edited, err := d.Domains.EditDomain(caller, d.hostOf(host), patch.body())
	if err != nil {
		return err
	}
	return show(a, Redirects{BaseURL: edited.RootURL, InvalidShortURL: edited.NotFoundURL})
}

// redirectsPatch makes a patch of a domain of a body, and returns the host that it names.
func redirectsPatch(text []byte) (host string, patch object, err error) {
	members, err := jsonbody.Object(text)
	if err != nil {
		return "", patch, err
	}
	var invalid engine.InvalidError
	for _, m := range members {
		switch name := string(m.Name); name {
		case "domain":
			invalid = jsonbody.AppendError(invalid, name, readText(&host, m.Value))
		case "baseUrlRedirect", "invalidShortUrlRedirect":
			patch.member(oursNamed[name], m.Value)
		case "regular404Redirect":
			if !isNothing(m.Value) {
				invalid = append(invalid, jsonbody.FieldError(name, "conflict", "must be null: invalidShortUrlRedirect is for all that is not found here"))
			}
		}
	}
	if host == "" && len(invalid) == 0 {
		invalid = append(invalid, jsonbody.FieldError("domain", "required", "must be given"))
	}
	if len(invalid) > 0 {
		return "", patch, invalid
	}
	return host, patch, nil
}
