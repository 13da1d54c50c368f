package client

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// An Option changes one call. A call that the option does not apply to returns an error, and sends
// nothing.
type Option struct {
	kind  optionKind
	value string
}

// optionKind is a set of options.
type optionKind uint

const (
	takesOwner optionKind = 1 << iota
	takesVersion
	takesKey
	takesNoKey
	takesLinks
	takesDomain
	takesDomains
	takesDryRun
	takesReuse
	allOptions = takesOwner | takesDomain | takesVersion | takesKey

	whose = takesOwner | takesDomain

	creates = takesKey | takesNoKey
)

const (
	keyHeader     = "Idempotency-Key"
	versionHeader = "If-Match"
)

// noVersion is the version of a link whose version is not known.
const noVersion = `"0"`

const maxKeyBytes = 255

var (
	errNoVersion = errors.New("client: IfVersion(0): read the link for its version; lists do not have it")
	errKey       = fmt.Errorf("client: an IdempotencyKey must have at most %d visible ASCII characters", maxKeyBytes)
)

func invisible(r rune) bool { return r <= ' ' || r > '~' }

var optionNames = map[optionKind]string{
	takesOwner: "Owner", takesVersion: "IfVersion", takesKey: "IdempotencyKey", takesNoKey: "NoIdempotencyKey", takesLinks: "KeepLinks or MoveLinksTo", takesDomain: "InDomain",
	takesDomains: "CreateDomains", takesDryRun: "DryRun", takesReuse: "Reusable",
}

// Owner is for every call about links and figures, and for Tokens and RevokeToken: the links or tokens are those of the
// user with that id, not the caller's. Only admins may use it, and, to read links and figures, viewers.
func Owner(id uint32) Option { return Option{takesOwner, strconv.FormatUint(uint64(id), 10)} }

// AnyOwner is Owner for the links or tokens of all users.
func AnyOwner() Option { return Option{takesOwner, "all"} }

// InDomain is for every call about links, figures and misses: they are those of the domain with that host. Without it,
// a link or a tag is of the default domain, and lists and figures are of all domains.
func InDomain(host string) Option { return Option{takesDomain, host} }

// CreateDomains is for Import and ImportAll: the domains of links that are not there yet are added. Without it, their
// links are refused.
func CreateDomains() Option { return Option{takesDomains, "true"} }

// DryRun is for Import and ImportAll: nothing is changed, and the results are those that the import would have now. A
// link that an earlier call would have made counts as one that would be created.
func DryRun() Option { return Option{takesDryRun, "true"} }

// Reusable is for Import and ImportAll: a Shorten with Reuse, or another shortener's client, finds the new links by
// their targets.
func Reusable() Option { return Option{takesReuse, "true"} }

// IfVersion is for Update, Delete, EditFolder and RemoveFolder: the call fails with ErrPreconditionFailed unless the
// link or the folder still has this Version. Version 0, which links of lists have, is an error.
func IfVersion(version uint64) Option {
	return Option{takesVersion, `"` + strconv.FormatUint(version, 10) + `"`}
}

// IdempotencyKey is for Shorten, ShortenBulk and Do: it names the call, so that a program can
// repeat the call even after it has been restarted. A key has up to 255 visible ASCII characters,
// no spaces. "" is a random key, which Shorten and ShortenBulk have anyway.
func IdempotencyKey(key string) Option { return Option{takesKey, key} }

// NoIdempotencyKey is for Shorten and ShortenBulk: no key is sent, and the call is not repeated
// when its outcome is unknown.
func NoIdempotencyKey() Option { return Option{kind: takesNoKey} }

// KeepLinks is for RemoveUser: the user is removed even with links, which stay under the user's
// number.
func KeepLinks() Option { return Option{takesLinks, ""} }

// MoveLinksTo is for RemoveUser: the links of the user become those of the user with that id, before the
// user is removed.
func MoveLinksTo(id uint32) Option { return Option{takesLinks, strconv.FormatUint(uint64(id), 10)} }

// apply adds the options, and the query of the call, to r.
func (r *request) apply(asked *call, options []Option) error {
	query := make(url.Values)
	for name, values := range asked.query {
		query[name] = values
	}
	key, wantsKey := "", asked.takes&takesNoKey != 0
	for _, o := range options {
		if o.kind&asked.takes == 0 {
			return fmt.Errorf("client: %s %s has no use for the option %s", asked.method, asked.path, optionNames[o.kind])
		}
		switch o.kind {
		case takesOwner:
			query.Set("owner", o.value)
		case takesDomain:
			query.Set("domain", o.value)
		case takesDomains:
			query.Set("create_domains", o.value)
		case takesDryRun:
			query.Set("dry_run", o.value)
		case takesReuse:
			query.Set("reuse", o.value)
		case takesLinks:
			if o.value == "" {
				query.Set("links", "keep")
			} else {
				query.Set("move_links_to", o.value)
			}
		case takesVersion:
			if o.value == noVersion {
				return errNoVersion
			}
			r.header.Set(versionHeader, o.value)
		case takesKey, takesNoKey:
			key, wantsKey = o.value, o.kind == takesKey
		}
	}
	if len(key) > maxKeyBytes || strings.ContainsFunc(key, invisible) {
		return errKey
	}
	if wantsKey {
		r.header.Set(keyHeader, cmp.Or(key, rand.Text()))
		r.repeatable = true
	}
	r.addQuery(query)
	return nil
}

func (r *request) addQuery(query url.Values) {
	switch {
	case len(query) == 0:
	case strings.Contains(r.target, "?"):
		r.target += "&" + query.Encode()
	default:
		r.target += "?" + query.Encode()
	}
}
