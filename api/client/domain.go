package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// A Domain is a host with short links of its own. What is empty is not set.
type Domain struct {
	Host           string    `json:"host"`
	Default        bool      `json:"default"` // it is the one of all hosts that nobody has added
	Aliases        []string  `json:"aliases"` // other hosts of the same domain
	BaseURL        string    `json:"base_url"`
	RootURL        string    `json:"root_url"`        // where / leads
	NotFoundURL    string    `json:"not_found_url"`   // where an unknown code leads; {path} stands for it
	ExpiredURL     string    `json:"expired_url"`     // where a link leads that is over
	RedirectStatus int       `json:"redirect_status"` // of new links that name none; 0: 302
	Robots         string    `json:"robots"`          // "none", or the text of robots.txt
	Case           string    `json:"case"`            // "sensitive", or "fold": a code may be typed in any case
	Trim           bool      `json:"trim"`            // what people and mailers put after an address is taken off
	UnicodeCodes   bool      `json:"unicode_codes"`   // an alias may have characters beyond ASCII
	CreatedAt      time.Time `json:"created_at"`      // zero: the default domain
	Certificate    string    `json:"certificate"`     // "none", "acme" or "files"; empty: as the server does by itself

	// The files that phones read to open links of the host in an app. nil: none.
	AppSiteAssociation json.RawMessage `json:"apple_app_site_association"`
	AssetLinks         json.RawMessage `json:"assetlinks"`

	CertificateState *Certificate `json:"certificate_state"` // nil: the server does not speak HTTPS
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// A Certificate is how the certificate of a domain is.
type Certificate struct {
	From          string    `json:"from"`            // "none", "acme" or "files"
	State         string    `json:"state"`           // "none", "waiting", "valid" or "failing"
	ExpiresAt     time.Time `json:"expires_at"`      // zero: there is none yet
	Error         string    `json:"error"`           // why the last attempt failed; empty: it did not
	NextAttemptAt time.Time `json:"next_attempt_at"` // zero: none is planned
}

// A HostCheck is how a host answers: DNS, HTTP and HTTPS are "ok", "not asked", or what is wrong.
type HostCheck struct {
	Host      string   `json:"host"`
	Addresses []string `json:"addresses"`
	DNS       string   `json:"dns"` // whether the name leads to the server
	HTTP      string   `json:"http"`
	HTTPS     string   `json:"https"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Domain) UnmarshalJSON(text []byte) error {
	type fields Domain
	d.Raw = bytes.Clone(text)
	err := json.Unmarshal(text, (*fields)(d))
	for _, document := range []*json.RawMessage{&d.AppSiteAssociation, &d.AssetLinks} {
		if string(*document) == "null" {
			*document = nil
		}
	}
	return err
}

// A DomainDraft describes a new domain. Only Host is required.
type DomainDraft struct {
	Host           string   `json:"host"`
	Aliases        []string `json:"aliases,omitempty"`
	BaseURL        string   `json:"base_url,omitempty"` // empty: it follows from the host and the server's base URL
	RootURL        string   `json:"root_url,omitempty"`
	NotFoundURL    string   `json:"not_found_url,omitempty"`
	ExpiredURL     string   `json:"expired_url,omitempty"`
	RedirectStatus int      `json:"redirect_status,omitempty"`
	Robots         string   `json:"robots,omitempty"`
	Case           string   `json:"case,omitempty"` // empty: "sensitive"
	Trim           *bool    `json:"trim,omitempty"` // nil: true
	UnicodeCodes   bool     `json:"unicode_codes,omitempty"`
	Certificate    string   `json:"certificate,omitempty"`

	AppSiteAssociation json.RawMessage `json:"apple_app_site_association,omitempty"` // an object, for iOS
	AssetLinks         json.RawMessage `json:"assetlinks,omitempty"`                 // an array, for Android
}

// A DomainEdit says what EditDomain changes: a JSON merge patch (RFC 7396). Host cannot be Reset.
type DomainEdit struct {
	Host           Field[string]   `json:"host,omitzero"`
	Aliases        Field[[]string] `json:"aliases,omitzero"` // all of them
	BaseURL        Field[string]   `json:"base_url,omitzero"`
	RootURL        Field[string]   `json:"root_url,omitzero"`
	NotFoundURL    Field[string]   `json:"not_found_url,omitzero"`
	ExpiredURL     Field[string]   `json:"expired_url,omitzero"`
	RedirectStatus Field[int]      `json:"redirect_status,omitzero"`
	Robots         Field[string]   `json:"robots,omitzero"`
	Case           Field[string]   `json:"case,omitzero"`
	Trim           Field[bool]     `json:"trim,omitzero"`
	UnicodeCodes   Field[bool]     `json:"unicode_codes,omitzero"`
	Certificate    Field[string]   `json:"certificate,omitzero"`

	AppSiteAssociation Field[json.RawMessage] `json:"apple_app_site_association,omitzero"`
	AssetLinks         Field[json.RawMessage] `json:"assetlinks,omitzero"`
}

// Domains lists all domains, the default one first.
func (c *Client) Domains(ctx context.Context) ([]Domain, error) {
	domains, err := ask[list[Domain]](ctx, c, call{method: http.MethodGet, path: "/domains"}, nil)
	return domains.Data, err
}

// Domain returns the domain with a host or an alias.
func (c *Client) Domain(ctx context.Context, host string) (Domain, error) {
	return ask[Domain](ctx, c, call{method: http.MethodGet, path: domainPath(host)}, nil)
}

// AddDomain adds a domain. It and the calls below need the scope admin.
func (c *Client) AddDomain(ctx context.Context, draft DomainDraft) (Domain, error) {
	return ask[Domain](ctx, c, call{method: http.MethodPost, path: "/domains", body: draft}, nil)
}

// EditDomain changes a domain. Its links stay as they are.
func (c *Client) EditDomain(ctx context.Context, host string, edit DomainEdit) (Domain, error) {
	return ask[Domain](ctx, c, call{method: http.MethodPatch, path: domainPath(host), body: edit}, nil)
}

// RemoveDomain removes a domain that has no links.
func (c *Client) RemoveDomain(ctx context.Context, host string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: domainPath(host)}, nil, nil)
	return err
}

// CheckDomain has the server ask the hosts of a domain, over their names, whether they lead to it.
func (c *Client) CheckDomain(ctx context.Context, host string) ([]HostCheck, error) {
	found, err := ask[list[HostCheck]](ctx, c, call{method: http.MethodPost, path: domainPath(host) + "/check"}, nil)
	return found.Data, err
}

func domainPath(host string) string { return "/domains/" + url.PathEscape(host) }
