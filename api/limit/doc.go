// Package limit holds the rate limits of the API: their values, which of them apply to a request,
// and the header values that tell its client. It knows how to count (package rate) but not HTTP:
// its callers pass owner, network and time, and write the fields of the answer.
//
// # Scopes and rules
//
// A request has one Scope. Up to three rules of that scope apply to it, from the narrowest to the
// widest:
//
//	scope     owner                            network            site
//	Creates   a token (of sessions, the user)  address-creates
//	Calls     a token (of sessions, the user)  address-calls
//	Logins    an account at a network          address-logins     site-logins
//	Misses                                     misses
//
// A network is an IPv4 address or the /64 of an IPv6 address; a site is a /48.
//
// A request that one rule refuses is not counted by the others. So an attempt to log in that is
// refused for the address leaves no trace in the table of accounts, which a flood of invented names
// would fill otherwise. And in an office, a user that goes on after the five attempts of their own
// account does not use up the attempts of the others. Package rate describes what happens when a
// table is full.
//
// # Header fields
//
// The fields are those of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), with a member for
// each rule that applies to the request: q is the burst, w the seconds in which it is restored, r
// the rest of it, t the seconds until all of it is restored. Retry-After says when the same request
// would be allowed.
package limit
