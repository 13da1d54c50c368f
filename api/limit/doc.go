// Package limit holds the rate limits of the API: which there are, which of them a request comes
// under, and what its client is told of them. It knows how to count (package rate) but not HTTP:
// its callers say who asks, from which network and when, and write the fields of the answer.
//
// # Scopes and rules
//
// A request asks for one thing, its Scope. For that it comes under up to three rules, from the
// narrowest to the widest:
//
//	scope     owner                            network            site
//	Creates   a token (of sessions, the user)  address-creates
//	Calls     a token (of sessions, the user)  address-calls
//	Logins    an account at a network          address-logins     site-logins
//	Misses                                     misses
//
// A network is an IPv4 address or the /64 of an IPv6 address; a site is a /48.
//
// A request that one rule refuses is not counted by the others. So an attempt to log in that the
// address is refused leaves no trace in the table of accounts, which a flood of invented names
// would fill otherwise; and nobody in an office uses up the attempts of the others by going on
// after their own account has had its five. Package rate says what a full table does.
//
// # What a client is told
//
// The fields are those of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), a member for each
// rule that the request came under: q is the burst, w the seconds in which it comes back, r what
// remains, t the seconds until all of it is back. Retry-After says when the same request would be
// allowed.
package limit
