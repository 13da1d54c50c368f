package limit

import (
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"shunt/api/rate"
)

// Limits are the rates at which clients may send requests. The zero rate.Limit means no limit.
// Redirects of known codes have no limit; neither have callers with the scope admin, nor the socket
// of local commands. An address is the client's; an IPv6 address counts as its /64; trusted proxies
// have no limit as addresses.
type Limits struct {
	Creates        rate.Limit // of links: for each token, and for each address
	Calls          rate.Limit // other API requests: for each token, and for each address
	Logins         rate.Limit // attempts, for each account and address
	AddressLogins  rate.Limit // attempts, for each address; for each /48 of IPv6, siteShare times that
	Misses         rate.Limit // unknown codes, for each address
	Unlocks        rate.Limit // wrong passwords, for each link and address
	AddressUnlocks rate.Limit // wrong passwords of any link, as AddressLogins
}

// Default returns the limits of the contract.
func Default() Limits {
	return Limits{
		Creates:        rate.Limit{Events: 200, Period: time.Second, Burst: 2000},
		Calls:          rate.Limit{Events: 1000, Period: time.Second, Burst: 1000},
		Logins:         rate.Limit{Events: 5, Period: 15 * time.Minute, Burst: 5},
		AddressLogins:  rate.Limit{Events: 20, Period: 15 * time.Minute, Burst: 20},
		Misses:         rate.Limit{Events: 300, Period: time.Minute, Burst: 300},
		Unlocks:        rate.Limit{Events: 10, Period: 15 * time.Minute, Burst: 10},
		AddressUnlocks: rate.Limit{Events: 100, Period: 15 * time.Minute, Burst: 100},
	}
}

// A Scope is a kind of request, to which limits of its own apply.
type Scope uint8

const (
	Creates Scope = iota
	Calls
	Logins
	Misses
	Unlocks
	numScopes
)

var scopeNames = [numScopes]string{"creates", "calls", "logins", "misses", "unlocks"}

// A rule is a limit with the table that enforces it. The table is nil if the limit is off.
type rule struct {
	limit  rate.Limit
	name   string // in the header fields of an answer
	policy string // its member of RateLimit-Policy
	table  *rate.Table
}

func newRule(name string, l rate.Limit, epoch time.Time) *rule {
	if l.Off() {
		return &rule{limit: l, name: name}
	}
	quota, window := l.Quota()
	policy := `"` + name + `";q=` + strconv.Itoa(quota) + ";w=" + strconv.Itoa(window)
	return &rule{l, name, policy, rate.NewTable(l, epoch)}
}

// Rules are the limits of a server. Any number of goroutines may use them at once.
type Rules struct {
	own       [numScopes]slot // by token, by account and address, or by link and address
	byNetwork [numScopes]slot
	bySite    [numScopes]slot // by the /48 of an IPv6 address
	siteOwn   slot            // of Unlocks: by link and /48
	refused   [numScopes]atomic.Uint64
}

// A slot has the rule that is in force; nil: there is none.
type slot struct{ atomic.Pointer[rule] }

// put puts l in force. The same limit as before keeps its counts.
func (s *slot) put(name string, l rate.Limit, epoch time.Time) {
	if old := s.Load(); old == nil || old.limit != l {
		s.Store(newRule(name, l, epoch))
	}
}

// siteShare is the limit of a /48 as a multiple of the limit of an address. A site gets a /48 (RFC
// 6177), which has 65,536 /64: without a limit for the /48, its owner could attempt 1.3 million
// logins in 15 minutes and fill the table of addresses. 16 times 20 are enough for a provider that
// gives its customers, such as phones, /64 of one /48.
const siteShare = 16

// timesFour returns the limit of wrong passwords of a link for a /48: fewer than of all links, since they are guesses of
// one.
func timesFour(l rate.Limit) rate.Limit {
	l.Events, l.Burst = min(4*l.Events, rate.MaxEvents), min(4*l.Burst, rate.MaxBurst)
	return l
}

// siteLimit returns l for a /48.
func siteLimit(l rate.Limit) rate.Limit {
	l.Events, l.Burst = min(siteShare*l.Events, rate.MaxEvents), min(siteShare*l.Burst, rate.MaxBurst)
	return l
}

// New returns rules with nothing counted yet. A time before epoch counts as epoch.
func New(l Limits, epoch time.Time) *Rules {
	r := new(Rules)
	r.Replace(l, epoch)
	return r
}

// Replace puts l in force. A limit that changes begins with nothing counted; the others keep their
// counts, and so do the numbers of refused requests. Calls must not overlap.
func (r *Rules) Replace(l Limits, epoch time.Time) {
	r.own[Creates].put("creates", l.Creates, epoch)
	r.own[Calls].put("calls", l.Calls, epoch)
	r.own[Logins].put("logins", l.Logins, epoch)
	r.byNetwork[Creates].put("address-creates", l.Creates, epoch)
	r.byNetwork[Calls].put("address-calls", l.Calls, epoch)
	r.byNetwork[Logins].put("address-logins", l.AddressLogins, epoch)
	r.byNetwork[Misses].put("misses", l.Misses, epoch)
	r.own[Unlocks].put("unlocks", l.Unlocks, epoch)
	r.byNetwork[Unlocks].put("address-unlocks", l.AddressUnlocks, epoch)
	r.siteOwn.put("link-site-unlocks", timesFour(l.Unlocks), epoch)
	r.bySite[Unlocks].put("site-unlocks", siteLimit(l.AddressUnlocks), epoch)
	r.bySite[Logins].put("site-logins", siteLimit(l.AddressLogins), epoch)
}

// Refuse counts a request of that scope as refused.
func (r *Rules) Refuse(scope Scope) { r.refused[scope].Add(1) }

// Refused is an iterator over the number of refused requests of each scope, by the name of the
// scope.
func (r *Rules) Refused(yield func(scope string, n uint64) bool) {
	for scope, name := range scopeNames {
		if !yield(name, r.refused[scope].Load()) {
			return
		}
	}
}

// siteOf returns the /48 of an IPv6 address; found is false for IPv4.
func siteOf(network netip.Addr) (site [16]byte, found bool) {
	if !network.Is6() || network.Is4In6() {
		return site, false
	}
	prefix, _ := network.Prefix(48) // fails only above 128 bits
	return prefix.Addr().As16(), true
}
