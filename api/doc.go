// Package api is the HTTP front end of shunt, on fasthttp: redirects, public pages, the JSON API
// and the admin address. It knows engine and the rooms below it, but not storage; cmd and bench use
// it. Server is the place where its parts meet: each part is a type with its own fields and file.
//
// # Terminology
//
// A code is the part of a path after the slash. A request for a code has one outcome: it is
// redirected, or it is a miss for a reason. The redirector decides it. An authenticator says who
// the caller is: over the network by a token or the cookie of a session; over the socket in the
// data folder, the owner of the folder. An endpoint is one row of the API's table. A problem is an
// error as a client sees it; its kind is its status and code. A live stream is an endless answer
// (live.go): fasthttp reads it on the connection's goroutine, and each look at the figures tells
// the sweep that the connection is alive.
//
// # The way of a request
//
//	      socket, fasthttp      (api/wire: what could be read in two ways is refused there)
//	           │
//	     front.handle           recover · drain                    (front.go, panics.go)
//	           │                raw path: /{code} or /{code}/ ?    (path.go)
//	    ┌──────┴───────┐
//	serveCode      apiRouter    authenticate → limit → scope → handler → problem
//	    │              │        (router.go, auth.go, limiter.go, routes.go; handlers by subject)
//	    │         publicPages   paths that are not of the API: pages, previews, QR codes
//	    │                       (public.go, peek.go, preview.go, qrcode.go)
//	redirector                  Resolve → method → verdict → location → class → Hit   (api/redirect)
//	    │
//	Location, or a page         (pages.go)
//
// The path is matched as it was sent. Nothing is decoded, cleaned or case-folded, so each code has
// one spelling, and no second parser can disagree. The router sees only /api/; it corrects no path
// either.
//
// # The redirect
//
// Package redirect decides what a request for a code gets; it does not know fasthttp. front.go
// keeps a request and a buffer in a pool for each call, and sets Location with SetCanonical,
// because fasthttp's own Redirect rewrites targets. Package visitor reads what a hit was made by;
// the country is what a trusted proxy says in the header of CountryHeader, or else what Countries
// has of the client's address.
//
// # What else anybody may see
//
// Behind a code stand + (a preview), .svg and .png (QR codes); no code has these bytes, so no path
// has two meanings. They see a link as a redirect would find it now, and count nothing of it. What
// they cost is bounded: QR codes, 1 to 2 ms each, are drawn in turn with other costly work, 16
// previews read the store, each client's network has a share of both, and beyond that is 503.
//
// Package preview says what a preview shows, package page what all pages share, package docs what
// the reference page says. Redirects have none of the header fields of pages: browsers look at
// nothing of a redirect but Location and Cache-Control.
//
// # The block list
//
// A file of hosts and beginnings of addresses (blockfile.go), which engine.BlockList looks up. It
// is stat'ed four times a second and read when it has changed, a million hosts in 0.3 s, so that a
// host is blocked within a second; for two seconds after a change it is read whatever stat says,
// because a second change in one tick of the clock shows in nothing else. inotify was rejected: it
// does not see every file system, and says less when a file is moved over another. What is matched
// is Location, the forwarded query included (package redirect). Writes are checked by the same
// list, through TargetPolicy.
//
// # Who the client is
//
// Package wire says whose address a request comes from. Tokens are taken over plain HTTP only from
// this machine, and a forwarding header says that a request is not from this machine, whatever its
// socket says.
//
// # How often
//
// limiter.go holds clients to the rules of package limit. A call is counted when the authenticator
// has said who the caller is, before its scope and body are looked at: for the token (of sessions,
// the user) and for the client's network. A caller that is not known is counted by network only, so
// that guesses of tokens are counted, too. Creating calls have a limit of their own; each counts as
// one there, and its handler counts more (mayCreateMore). Logins are counted for (network,
// account), for the network, and for the /48 of an IPv6 address, before a password is hashed.
//
// Redirects do not pay for it: unknown codes are counted where the page for them is chosen
// (front.go), after the one look at the outcome that is there anyway. This machine's addresses have
// limits like any other; its sockets have none.
//
// # How much at a time
//
// Rate limits do not look at what a call costs. Costly calls are limited by turnstiles (package
// turnstile): a fixed number in all, a share for each caller, a queue, and callers take turns. A
// caller is a user, or the network of a client without a login. A request beyond a share or a full
// queue gets 503 overloaded.
//
//	                    in all   a caller's   that wait
//	cores               half                  256, 20 s       heavy.go: everything below that says "cores"
//	lists and figures   32       8                            cores; their answers on their way included
//	bulks, imports                                            cores, while the body is read
//	exports             16       2                            cores, page by page
//	passwords           half     8            64, 5 s         cores; 4 at most (api/account)
//	QR codes            half     16           64, 5 s         cores
//	previews            16       64           1,024, 5 s
//	large bodies        32       8            64, 10 s        of a listener (api/wire); slow ones are cut
//	live streams        256      16
//	requests for tokens 32       4
//
// Places for cores are shared, because any work that keeps a core busy for a millisecond keeps
// redirects from it: on two cores, a password on one and a QR code on the other left none. A list
// is read in steps of 50 links, so that a short list of another caller waits for one step, not for
// all of them. Without these limits, 64 connections of one token at a twentieth of its rate made
// redirects wait 100 ms and more.
//
// # HTTPS
//
// ServePublic takes a TLS listener; package wire times its handshakes. fasthttp speaks HTTP/1.1, so
// nothing else is offered (ALPN). Answers over TLS demand HTTPS (RFC 6797) but for redirects of
// known codes, which cost nothing so.
//
// insecure.go is the plain listener beside it. It answers a 301, or a 308 that keeps the method, to
// the same bytes of path and query on BaseURL, never on the Host of the request. It also answers
// ACME's http-01 challenges.
//
// # Sessions
//
// Pages log in with POST /session and then have a cookie (session.go): HttpOnly, SameSite=Strict,
// and over HTTPS __Host- and Secure. Over plain HTTP, which is for loopback and --allow-http, it is
// neither: Chrome and Firefox trust http://localhost and 127.0.0.1 and keep their Secure cookies,
// Safari does not, and browsers have disagreed about __Host- cookies there. Cookies ignore the
// port, so on loopback other programs of this machine can see the cookie.
//
// SameSite stops other sites, but not neighbours on the same site or another port. So a change with
// a cookie must have Sec-Fetch-Site: same-origin or, without that field, the Origin of base_url.
// Browsers without either (before 2023, and for plain HTTP in an intranet those without Origin) can
// read but not write. A request with a bearer token needs none of that, whatever cookies it has,
// because no page of another origin can add that field. A login needs no such proof, so that curl
// can log in; but a browser that says it comes from elsewhere is refused, so that nobody is logged
// in as somebody else.
//
// # What is let in
//
// Package wire reads requests, and refuses those that could be read in two ways. Two Authorization
// lines are refused by the API alone (auth.go), with 400: a redirect does not read them.
//
// # Shutdown
//
// Shutdown (drain.go) drains: /readyz says so, every answer carries Connection: close, listeners
// are closed; connections of two seconds' age that have never sent a byte are cut (fasthttp takes
// them for busy); after 3 s idle connections are cut, and requests under way are waited for as long
// as the context allows.
//
// # Concurrency
//
// A Server does not change once built, except for atomics, the pool, and Prometheus' own metrics.
// Each Serve… starts one goroutine, the sweep, and joins it. Everything of a RequestCtx dies with
// its handler: what goes to the engine is copied, because a write may outlive the request that
// asked for it. The engine is given a background context for the same reason: fasthttp's is
// cancelled by Shutdown, which must let writes finish.
//
// # Decisions
//
// Handlers have no rules. They read parameters and header fields, call package ops, and write the
// answer; what a call does, and to whom, package ops says, and package jsonbody how strictly bodies are
// read. Unknown query parameters are 422, like unknown fields, so that a misspelt one does not answer
// another question.
//
// Whole is the export that ends with the last chunk. One that cannot go on (a revoked token, shutdown,
// a damaged row) has a problem as its last line, and the connection is cut. A line at the end of a
// whole one, with a count, was rejected: every reader would have to know it. An export has to move
// 16 KiB a second, because it keeps a snapshot open.
//
// Links outlive their owner. DELETE /users/{id} refuses a user with links unless links=keep says
// that they stay: links are printed on paper, and must not die with an account. They stay under the
// number of the deleted user, which admins name with owner=ID. Handing them to somebody else was
// rejected: figures are kept by owner as well as by link, so the new owner's would not add up, and
// a transfer of a million links is no atomic write. A link whose creation is under way while its
// owner is deleted is kept too.
//
// 422 for the last admin. Deleting or demoting the only admin is invalid, code last_admin, not a
// conflict: no repetition helps.
//
// Bodies are read whole, before the caller is known: 64 KiB, and more only where the endpoint's row
// says so and the token or session is good for it, or on the socket (bodylimits.go). How many
// larger ones come at a time, and of whom, package wire holds.
//
// A panic is answered 500 and ends its connection; those of one place are logged once a minute
// (panics.go).
//
// Nothing of a request is logged. fasthttp's own log quotes raw header bytes, so it is silenced,
// and what it could not read is counted: shunt_http_requests_total{route="malformed"}.
//
// Rejected: redirects as a route of the router (it keeps captured values in a map, and has meanings
// of its own for some paths).
package api
