// Package limit holds the rate limits of the API: which there are, which of them a request comes
// under, and what a client is told of its allowance. It knows how often (package rate), not HTTP:
// its callers say who asks, from which network and when, and write the fields.
//
// A request asks for one thing, its Scope. For that it comes under up to three rules, from the
// narrowest to the widest: one for its owner (a token, or an account together with an address), one
// for its network, and one for the site that the network is a part of. The request is counted by
// all of them or by none.
package limit
