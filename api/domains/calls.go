package domains

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// An Object is a domain as the API shows it. What is null is not set.
type Object struct {
	Host           string     `json:"host"`
	Default        bool       `json:"default"`
	Aliases        []string   `json:"aliases"`
	BaseURL        string     `json:"base_url"`
	RootURL        *string    `json:"root_url"`
	NotFoundURL    *string    `json:"not_found_url"`
	ExpiredURL     *string    `json:"expired_url"`
	RedirectStatus *int       `json:"redirect_status"`
	Robots         *string    `json:"robots"`
	Case           string     `json:"case"` // CaseSensitive or CaseFold
	Trim           bool       `json:"trim"` // what people and mailers put after an address is taken off
	UnicodeCodes   bool       `json:"unicode_codes"`
	CreatedAt      *time.Time `json:"created_at"` // of the default domain: null

	AppSiteAssociation json.RawMessage `json:"apple_app_site_association"` // nil: null
	AssetLinks         json.RawMessage `json:"assetlinks"`                 // the same

	Certificate      *string      `json:"certificate"`
	CertificateState *Certificate `json:"certificate_state"` // null: this server does not speak HTTPS
}

// The values of case.
const (
	CaseSensitive = "sensitive"
	CaseFold      = "fold" // a code may be typed in any case
)

// Shown returns a domain as the API shows it.
func (c *Calls) Shown(d *domain.Domain) Object {
	o := Object{
		Host: d.Host, Default: d.Number == engine.DefaultDomain, Aliases: append([]string{}, d.Aliases...), BaseURL: d.BaseURL,
		RootURL: orNull(d.RootURL), NotFoundURL: orNull(d.NotFoundURL), ExpiredURL: orNull(d.ExpiredURL),
		RedirectStatus: orNull(d.RedirectStatus), Robots: orNull(d.Robots),
		Case: CaseSensitive, Trim: !d.KeepsEnds, UnicodeCodes: d.UnicodeCodes,
		Certificate: orNull(d.Certificate), CertificateState: c.Certificates.of(d),
	}
	if d.AppSiteAssociation != "" {
		o.AppSiteAssociation = json.RawMessage(d.AppSiteAssociation)
	}
	if d.AssetLinks != "" {
		o.AssetLinks = json.RawMessage(d.AssetLinks)
	}
	if d.Folds {
		o.Case = CaseFold
	}
	if !d.CreatedAt.IsZero() {
		o.CreatedAt = &d.CreatedAt
	}
	return o
}

// orNull returns nil for what is not set.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// domainFields are the fields of POST and PATCH /domains. Package domain checks their values.
var domainFields = jsonbody.NewFields(map[string]jsonbody.Reader[domain.Domain]{
	"host":          domainText(func(d *domain.Domain) *string { return &d.Host }),
	"base_url":      domainText(func(d *domain.Domain) *string { return &d.BaseURL }),
	"root_url":      domainText(func(d *domain.Domain) *string { return &d.RootURL }),
	"not_found_url": domainText(func(d *domain.Domain) *string { return &d.NotFoundURL }),
	"expired_url":   domainText(func(d *domain.Domain) *string { return &d.ExpiredURL }),
	"robots":        domainText(func(d *domain.Domain) *string { return &d.Robots }),
	"certificate":   domainText(func(d *domain.Domain) *string { return &d.Certificate }),
	"aliases": func(d *domain.Domain, value json.RawMessage) (err error) {
		d.Aliases, err = jsonbody.Strings(value)
		return err
	},
	"redirect_status": func(d *domain.Domain, value json.RawMessage) error {
		status, err := jsonbody.Int(value)
		if _, ok := engine.StatusFlags(int(min(max(status, 0), 999))); err == nil && !ok {
			err = jsonbody.FieldError("", "range", "must be 301, 302, 307 or 308")
		}
		d.RedirectStatus = int(min(max(status, 0), 999))
		return err
	},
	"case": func(d *domain.Domain, value json.RawMessage) error {
		text, err := jsonbody.String(value)
		if err == nil && text != CaseSensitive && text != CaseFold {
			err = jsonbody.FieldError("", "range", "must be "+CaseSensitive+" or "+CaseFold)
		}
		d.Folds = text == CaseFold
		return err
	},
	"trim": func(d *domain.Domain, value json.RawMessage) error {
		trim, err := jsonbody.Bool(value)
		d.KeepsEnds = !trim
		return err
	},
	"unicode_codes": func(d *domain.Domain, value json.RawMessage) (err error) {
		d.UnicodeCodes, err = jsonbody.Bool(value)
		return err
	},
	"apple_app_site_association": func(d *domain.Domain, value json.RawMessage) error {
		d.AppSiteAssociation = string(value)
		return nil
	},
	"assetlinks": func(d *domain.Domain, value json.RawMessage) error {
		d.AssetLinks = string(value)
		return nil
	},
})

func domainText(of func(*domain.Domain) *string) jsonbody.Reader[domain.Domain] {
	return func(d *domain.Domain, value json.RawMessage) (err error) {
		*of(d), err = jsonbody.String(value)
		return err
	}
}

// Calls are the calls on domains.
type Calls struct {
	Domains *domain.Domains
	Engine  *engine.Engine
	Targets engine.TargetPolicy

	Certificates Certificates
	Places       *ops.Places // for checks
	Now          func() time.Time
}

// AddDomain registers a domain. A host that is another domain already is an engine.FieldError, so that a form can show
// it at its field; programs get hostTaken.
func (c *Calls) AddDomain(caller account.Caller, body jsonbody.Body) (o Object, err error) {
	if err := body.WantJSON(); err != nil {
		return o, err
	}
	var asked domain.Domain
	if _, err := readDomainBody(body, &asked); err != nil {
		return o, err
	}
	d, err := c.Domains.Add(caller, asked, c.Targets)
	if err != nil {
		return o, err
	}
	return c.Shown(d), nil
}

// EditDomain applies body, a JSON merge patch (RFC 7396), to the domain of a host: null unsets a field.
func (c *Calls) EditDomain(caller account.Caller, host string, body jsonbody.Body) (o Object, err error) {
	if !body.Is(ops.PatchTypes...) {
		return o, problem.New(problem.MediaType, "Content-Type must be %s or %s", ops.PatchTypes[0], ops.PatchTypes[1])
	}
	d, err := c.Domains.Edit(caller, host, c.Targets, func(d *domain.Domain) error {
		null, err := readDomainBody(body, d)
		for _, name := range null {
			if name == "host" {
				return jsonbody.FieldError(name, "required", "must not be null")
			}
			unset(d, name)
		}
		return err
	})
	if err != nil {
		return o, err
	}
	return c.Shown(d), nil
}

// unset gives a field its default.
func unset(d *domain.Domain, name string) {
	switch name {
	case "base_url":
		d.BaseURL = ""
	case "root_url":
		d.RootURL = ""
	case "not_found_url":
		d.NotFoundURL = ""
	case "expired_url":
		d.ExpiredURL = ""
	case "robots":
		d.Robots = ""
	case "certificate":
		d.Certificate = ""
	case "aliases":
		d.Aliases = nil
	case "redirect_status":
		d.RedirectStatus = 0
	case "case":
		d.Folds = false
	case "trim":
		d.KeepsEnds = false
	case "unicode_codes":
		d.UnicodeCodes = false
	case "apple_app_site_association":
		d.AppSiteAssociation = ""
	case "assetlinks":
		d.AssetLinks = ""
	}
}

// readDomainBody reads the fields of a body into d, and returns the names of those that are null.
func readDomainBody(body jsonbody.Body, d *domain.Domain) (null []string, err error) {
	members, err := jsonbody.Object(body.Text)
	if err != nil {
		return nil, err
	}
	_, null, invalid := jsonbody.Read(members, d, domainFields)
	if len(invalid) > 0 {
		return nil, invalid
	}
	return null, nil
}

// RemoveDomain removes a domain without links. What was deleted there can no longer be restored.
func (c *Calls) RemoveDomain(caller account.Caller, host string) error {
	return c.Domains.Remove(caller, host, func(ctx context.Context, n engine.Domain) (func(gone bool), error) {
		settle, err := c.Engine.RetireDomain(ctx, n)
		switch {
		case errors.Is(err, engine.ErrOwnsLinks):
			return nil, domain.ErrInUse
		case errors.Is(err, engine.ErrOverloaded):
			return nil, problem.New(problem.Overloaded, "links of this domain are being written; try again")
		case err != nil:
			return nil, err
		}
		if err := c.emptyTrash(ctx, caller, n); err != nil {
			settle(false)
			return nil, err
		}
		return settle, nil
	})
}

// emptyingTime is how long one request may purge what is in the trash of a domain: a repeat goes on.
const emptyingTime = 5 * time.Second

func (c *Calls) emptyTrash(ctx context.Context, caller account.Caller, n engine.Domain) error {
	ctx, cancel := context.WithTimeout(ctx, emptyingTime)
	defer cancel()
	by := caller.By(c.Now())
	_, err := c.Engine.EmptyTrash(ctx, 0, n, &by)
	if errors.Is(err, engine.ErrOverloaded) {
		err = problem.New(problem.Overloaded, "what was deleted in this domain is being purged; send the request again")
	}
	return err
}
