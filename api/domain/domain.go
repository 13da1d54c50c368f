package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"shunt/engine"
)

// Limits of domains.
const (
	MaxDomains     = 1000 // beside the default one
	MaxAliases     = 8
	maxRobotsBytes = 4096

	// MaxAppLinksBytes bounds each document of app links, without spaces. Apple reads 128 KB at most, but a request has
	// 64 KiB (http1.MaxBodyBytes), and that shall be enough for both.
	MaxAppLinksBytes = 30 << 10

	// PathPlaceholder stands in a not_found_url for the path that nobody knew, without its slash.
	PathPlaceholder = "{path}"
)

// TakenCode is the code of the FieldError of a host that is another domain already.
const TakenCode = "taken"

// The values of robots that are no text of a robots.txt.
const (
	RobotsDefault = ""
	RobotsNone    = "none" // nothing is to be crawled
)

// Where the certificate of a domain comes from.
const (
	CertificateNone  = "none"  // it has none: HTTPS ends elsewhere
	CertificateACME  = "acme"  // an authority that the server asks
	CertificateFiles = "files" // files that the settings name
)

// A Domain is a host with links of its own. Its URLs are in the form of targets.
type Domain struct {
	Number    engine.Domain
	Host      string // a name in lower-case ASCII
	Aliases   []string
	BaseURL   string // short addresses begin with it; without a slash at its end
	CreatedAt time.Time

	Settings
}

// Settings are what is edited of a domain, the default one included.
type Settings struct {
	RootURL        string // where / leads; empty: nowhere
	NotFoundURL    string // where an unknown code leads; empty: nowhere
	ExpiredURL     string // where an expired link leads that has no such URL of its own; empty: nowhere
	RedirectStatus int    // of new links that name none; 0: 302
	Robots         string // RobotsDefault, RobotsNone, or the text of robots.txt
	Folds          bool   // a code may be typed in any case, and one that is drawn has no upper-case letters
	KeepsEnds      bool   // what people and mailers put after an address is not taken off
	UnicodeCodes   bool   // an alias may have characters beyond ASCII
	Certificate    string // CertificateNone and so on; empty: what the server does by itself

	// The files that phones read to open links of a host in an app: JSON without spaces; empty: none.
	AppSiteAssociation string // an object, for iOS
	AssetLinks         string // an array, for Android
}

// NotFoundFor returns where an unknown path leads, without its slash, percent-encoded as it was asked for; empty:
// nowhere.
func (s *Settings) NotFoundFor(path string) string {
	return strings.ReplaceAll(s.NotFoundURL, PathPlaceholder, path)
}

// Hosts returns the host and its aliases.
func (d *Domain) Hosts() []string { return append([]string{d.Host}, d.Aliases...) }

// normalise brings what a client sent into the form that is kept, or returns an engine.InvalidError. base is the base
// URL of the server.
func (d *Domain) normalise(policy engine.TargetPolicy, base string) error {
	var invalid engine.InvalidError
	note := func(err error) {
		if err != nil {
			invalid = append(invalid, err.(engine.FieldError))
		}
	}
	if d.Number != engine.DefaultDomain {
		note(d.normaliseHosts())
		if len(invalid) == 0 {
			note(d.normaliseBase(base))
		}
		served := policy.OwnHost
		policy.OwnHost = func(host string) bool {
			return slices.Contains(d.Hosts(), host) || served != nil && served(host)
		}
	}
	note(normaliseURL("root_url", &d.RootURL, policy))
	note(normaliseURL("expired_url", &d.ExpiredURL, policy))
	note(d.normaliseNotFound(policy))
	note(d.checkRest())
	note(compactJSON("apple_app_site_association", &d.AppSiteAssociation, isObject, "an object"))
	note(compactJSON("assetlinks", &d.AssetLinks, areObjects, "an array of objects"))
	if len(invalid) > 0 {
		return invalid
	}
	return nil
}

func (d *Domain) normaliseHosts() (err error) {
	if d.Host, err = hostOf("host", d.Host); err != nil {
		return err
	}
	if len(d.Aliases) > MaxAliases {
		return engine.FieldError{Field: "aliases", Code: "too_many", Message: fmt.Sprintf("must be at most %d hosts", MaxAliases)}
	}
	d.Aliases = slices.Clone(d.Aliases)
	for i := range d.Aliases {
		if d.Aliases[i], err = hostOf("aliases", d.Aliases[i]); err != nil {
			return err
		}
	}
	slices.Sort(d.Aliases)
	d.Aliases = slices.DeleteFunc(slices.Compact(d.Aliases), func(a string) bool { return a == d.Host })
	return nil
}

// normaliseBase checks the base URL. An empty one stays empty: it follows from that of the server.
func (d *Domain) normaliseBase(base string) error {
	text := strings.TrimRight(strings.TrimSpace(d.BaseURL), "/")
	if text == baseOf(base, d.Host) {
		text = ""
	}
	d.BaseURL = text
	if text == "" {
		return nil
	}
	invalid := engine.FieldError{Field: "base_url", Code: "invalid", Message: "must be an address without path, such as https://" + d.Host}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return invalid
	}
	if host, err := engine.HostName(u.Host); err != nil || !slices.Contains(d.Hosts(), host) {
		invalid.Message = "must be of the host, or of one of its aliases, such as https://" + d.Host
		return invalid
	}
	return nil
}

// baseOf returns the origin of a host that is served as the base URL is: with its scheme and its port.
func baseOf(base, host string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "https://" + host
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

func normaliseURL(field string, at *string, policy engine.TargetPolicy) error {
	if *at = strings.TrimSpace(*at); *at == "" {
		return nil
	}
	target, err := policy.ParseTyped(*at)
	if err != nil {
		return fieldOf(err, field)
	}
	*at = target
	return nil
}

// fieldOf returns the error of a target as that of another field.
func fieldOf(err error, field string) error {
	invalid, ok := err.(engine.FieldError)
	if !ok {
		return engine.FieldError{Field: field, Code: "invalid", Message: err.Error()}
	}
	invalid.Field = field
	return invalid
}

// normaliseNotFound checks a URL that may have the placeholder, but not where it would change the host.
func (d *Domain) normaliseNotFound(policy engine.TargetPolicy) error {
	const field, stands = "not_found_url", "shunt-path"
	d.NotFoundURL = strings.TrimSpace(d.NotFoundURL)
	if !strings.Contains(d.NotFoundURL, PathPlaceholder) {
		return normaliseURL(field, &d.NotFoundURL, policy)
	}
	_, rest, _ := strings.Cut(d.NotFoundURL, ":")
	rest, found := strings.CutPrefix(rest, "//")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if !found || rest == "" || strings.Contains(authority, PathPlaceholder) {
		return engine.FieldError{Field: field, Code: "invalid", Message: "must begin with http:// or https://, and have {path} only after the host"}
	}
	text := strings.ReplaceAll(d.NotFoundURL, PathPlaceholder, stands)
	if err := normaliseURL(field, &text, policy); err != nil {
		return err
	}
	d.NotFoundURL = strings.ReplaceAll(text, stands, PathPlaceholder)
	return nil
}

// compactJSON removes the spaces of a document, which must be JSON of a kind.
func compactJSON(field string, at *string, is func(text []byte) bool, kind string) error {
	if strings.TrimSpace(*at) == "" {
		*at = ""
		return nil
	}
	var compact bytes.Buffer
	if !is([]byte(*at)) || json.Compact(&compact, []byte(*at)) != nil {
		return engine.FieldError{Field: field, Code: "type", Message: "must be JSON: " + kind}
	}
	if compact.Len() > MaxAppLinksBytes {
		return engine.FieldError{Field: field, Code: "too_long", Message: fmt.Sprintf("must be at most %d bytes without spaces", MaxAppLinksBytes)}
	}
	*at = compact.String()
	return nil
}

func isObject(text []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(text, &members) == nil && members != nil
}

func areObjects(text []byte) bool {
	var items []json.RawMessage
	return json.Unmarshal(text, &items) == nil && items != nil &&
		!slices.ContainsFunc(items, func(item json.RawMessage) bool { return !isObject(item) })
}

func (d *Domain) checkRest() error {
	if s := d.RedirectStatus; s != 0 {
		if _, ok := engine.StatusFlags(s); !ok {
			return engine.FieldError{Field: "redirect_status", Code: "range", Message: "must be 301, 302, 307 or 308"}
		}
	}
	switch {
	case d.Certificate != "" && d.Certificate != CertificateNone && d.Certificate != CertificateACME && d.Certificate != CertificateFiles:
		return engine.FieldError{Field: "certificate", Code: "invalid", Message: "must be none, acme or files"}
	case d.Certificate != "" && d.Number == engine.DefaultDomain:
		return engine.FieldError{Field: "certificate", Code: "range", Message: "must not be set for the default domain, whose certificate follows from the settings of the server"}
	case len(d.Robots) > maxRobotsBytes:
		return engine.FieldError{Field: "robots", Code: "too_long", Message: fmt.Sprintf("must be at most %d bytes", maxRobotsBytes)}
	case d.Robots != RobotsDefault && d.Robots != RobotsNone && !strings.Contains(strings.ToLower(d.Robots), "user-agent:"):
		return engine.FieldError{Field: "robots", Code: "invalid", Message: "must be none, or the text of a robots.txt, with a line User-agent:"}
	}
	return nil
}
