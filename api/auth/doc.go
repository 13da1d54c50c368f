// Package auth decides who may call, and how often: HTTPS, tokens, sessions, origins of pages, rate limits.
// It knows accounts (account), the rules of limits (limit) and how requests arrive (wire), but no call and no page.
// Package api asks its parts before each call; links and public ask the Limiter for what a request costs beyond that.
// session.go has the cookie of a session, and checks by Origin that a form or a change comes from a page of ours;
// auditorigin.go says where a caller is, for the audit log.
//
// An Authenticator identifies the caller: over the network by a token or the cookie of a session; on the socket in
// the data folder every caller is the owner of the folder. Two Authorization lines are refused.
//
// # HTTPS
//
// ServePublic takes a TLS listener; package wire limits the time of its handshakes. fasthttp speaks
// HTTP/1.1, so ALPN offers nothing else. Answers over TLS demand HTTPS (RFC 6797), except for
// redirects of known codes, which therefore cost nothing more.
//
// # Rate limits
//
// The Limiter holds clients to the rules of package limit. A call is counted after the authenticator
// has identified the caller, and before its scope and body are examined. It is counted for the
// token (of sessions, for the user) and for the client's network. An unknown caller is counted by
// network only, so that guesses of tokens are counted, too. Calls that create links have a limit of
// their own; each counts as one there, and its handler counts more (MayCreateMore). Logins are
// counted for the pair of network and account, for the network, and for the /48 of an IPv6 address,
// before a password is hashed.
//
// Redirects of known codes do not pay for this: unknown codes are counted where their page is
// chosen (api/front.go), after the one test of the outcome that is needed anyway. Addresses of this
// machine have limits like any other; its sockets have none.
//
// # Sessions
//
// Pages log in with POST /session and then have a cookie (session.go): HttpOnly, SameSite=Strict,
// and over HTTPS __Host- and Secure. Plain HTTP is for loopback and --allow-http; there the cookie
// is neither __Host- nor Secure. Chrome and Firefox trust http://localhost and 127.0.0.1 and keep
// their Secure cookies, Safari does not, and browsers have disagreed about __Host- cookies there.
// Cookies ignore the port, so on loopback other programs of this machine can see the cookie.
//
// SameSite stops other sites, but not neighbours on the same site or another port. So a change with
// a cookie must have Sec-Fetch-Site: same-origin or, without that field, the Origin of base_url.
// Browsers that send neither (before 2023, and over plain HTTP in an intranet those without Origin)
// can read but not write. A request with a bearer token needs no such proof, whatever cookies it
// has, because no page of another origin can add that field. A login needs no such proof either, so
// that curl can log in; but a login from a browser that reports another origin is refused, so that
// no page can log a visitor in as somebody else.
//
// Files, leaves first: limiter.go, auditorigin.go, cors.go, https.go, session.go, authenticator.go.
package auth
