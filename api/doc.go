// Package api is the HTTP front end of shunt, on fasthttp: redirects, public pages, the JSON API
// and the admin address. It knows engine and the rooms below it, but not storage; cmd and bench use
// it. Server connects its parts: each part is a type with its own fields and file.
//
// # Terminology
//
// A code is the part of a path after the slash. A request for a code has one outcome: it is
// redirected, or it is a miss for a reason; the redirector decides which. An authenticator
// identifies the caller: over the network by a token or the cookie of a session; on the socket in
// the data folder every caller is the owner of the folder. An endpoint is one row of the API's
// table. A problem is an error as a client sees it; its kind is its status and code. A live stream
// is an endless answer (live.go): fasthttp reads it on the connection's goroutine, and each look at
// the figures tells the sweep that the connection is alive.
//
// # The path of a request
//
//	      socket, fasthttp      (api/wire: refuses what could be read in two ways)
//	           │
//	     front.handle           recover · drain                    (front.go)
//	           │                raw path: /{code} or /{code}/, or one that is spoilt ?    (path.go)
//	    ┌──────┴───────┐
//	serveCode      apiRouter    authenticate → limit → scope → handler → problem
//	    │              │        (router.go, auth.go, limiter.go, routes.go; handlers by subject)
//	    │         publicPages   paths that are not of the API: pages, previews, QR codes
//	    │                       (public.go, peek.go, preview.go, qrcode.go)
//	redirector                  Resolve → method → verdict → location → class → Hit   (api/redirect)
//	    │
//	Location, or a page         (pages.go)
//
// A plain request, one that package wire has read without fasthttp, goes to front.answerPlain
// (plain.go), which writes a redirect itself, byte for byte what fasthttp writes for serveCode. It
// answers a miss by the same front.miss, with a RequestCtx without a server (detached.go).
//
// The path is matched as it was sent. If it is not a code, escapes of unreserved bytes are decoded
// (RFC 3986, 6.2.2.2), and what people and mailers put after an address is taken off (path.go). A plain
// request has a code, so only fasthttp's requests get there, and each is one look-up. Paths of the API
// and the dashboard have one spelling: what stands before us may guard them by their beginning. The
// router sees only /api/, and corrects no path.
//
// # The redirect
//
// Package redirect decides what a request for a code gets; it does not know fasthttp. For fasthttp,
// front.go keeps a request and a buffer in a pool for each call, and sets Location with SetCanonical,
// because fasthttp's own Redirect rewrites targets; what an address may not hold is percent-encoded there. Package visitor classifies the maker of a hit.
// The country comes from a trusted proxy, in the header that CountryHeader names, or else from the
// table of addresses in Countries.
//
// # Public pages
//
// A code may be followed by + (a preview), .svg or .png (QR codes). No code contains these bytes,
// so no path has two meanings. These pages read a link as a redirect would find it now, and count
// no hit. Their cost is bounded: QR codes, 1 to 2 ms each, are drawn in turn with other costly
// work, at most 16 previews read the store at once, and each client's network has a share of both.
// A request beyond that gets 503.
//
// Package preview renders the preview, package page holds what all pages share, and package docs
// renders the reference page. Redirects have none of the header fields of pages, because browsers
// read only Location and Cache-Control of a redirect.
//
// # The block list
//
// The block list is a file of hosts and address prefixes (blockfile.go), which engine.BlockList
// looks up. The server calls stat on it four times a second and reads it when it has changed, a
// million hosts in 0.3 s, so a new host is blocked within two seconds. For two seconds after a change
// the file is read whatever stat reports, because a second change within one tick of the clock
// shows only in the content. inotify was rejected: it does not see every file system, and reports
// less when a file is moved over another. The list is matched against Location, with the forwarded
// query (package redirect). Writes of links are checked by the same list, through TargetPolicy.
//
// # The client's address
//
// Package wire determines the address that a request comes from. Tokens are accepted over plain
// HTTP only from this machine. A forwarding header means that a request is not from this machine,
// whatever address its socket has.
//
// # Rate limits
//
// limiter.go holds clients to the rules of package limit. A call is counted after the authenticator
// has identified the caller, and before its scope and body are examined. It is counted for the
// token (of sessions, for the user) and for the client's network. An unknown caller is counted by
// network only, so that guesses of tokens are counted, too. Calls that create links have a limit of
// their own; each counts as one there, and its handler counts more (mayCreateMore). Logins are
// counted for the pair of network and account, for the network, and for the /48 of an IPv6 address,
// before a password is hashed.
//
// Redirects of known codes do not pay for this: unknown codes are counted where their page is
// chosen (front.go), after the one test of the outcome that is needed anyway. Addresses of this
// machine have limits like any other; its sockets have none.
//
// # Limits on costly work
//
// Rate limits ignore what a call costs. Costly calls are limited by turnstiles (package turnstile):
// a fixed number in all, a share for each caller, a queue, and callers take turns. A caller is a
// user, or the network of a client without a login. A request beyond a share or a full queue gets
// 503 overloaded.
//
//	                    in all   per caller   waiting
//	cores               half                  256, 20 s       heavy.go: everything below that says "cores"
//	lists and figures   32       8                            cores; counted until the answer is sent
//	bulks, imports                                            cores, while the body is read
//	exports             16       2                            cores, page by page
//	passwords           half     8            64, 5 s         cores; 4 at most (api/account)
//	QR codes            half     16           64, 5 s         cores
//	previews            16       64           1,024, 5 s
//	large bodies        32       8            64, 10 s        per listener (api/wire); slow ones are cut
//	live streams        256      16
//	requests for tokens 32       4
//
// The places for cores are shared, because any work that keeps a core busy for a millisecond keeps
// redirects from it: on two cores, a password on one and a QR code on the other left no core for
// redirects. A list is read in steps of 50 links, so that a short list of another caller waits for
// one step only. Without these limits, 64 connections of one token at a twentieth of its rate made
// redirects wait 100 ms and more.
//
// # HTTPS
//
// ServePublic takes a TLS listener; package wire limits the time of its handshakes. fasthttp speaks
// HTTP/1.1, so ALPN offers nothing else. Answers over TLS demand HTTPS (RFC 6797), except for
// redirects of known codes, which therefore cost nothing more.
//
// insecure.go serves plain HTTP for clients that should use HTTPS. It answers a 301, or a 308 that
// keeps the method, to the same bytes of path and query on BaseURL, never on the Host of the
// request. It also answers ACME's http-01 challenges.
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
// # Requests that are refused
//
// Package wire reads requests, and refuses those that could be read in two ways. Two Authorization
// lines are refused by the API alone (auth.go), with 400: a redirect does not read them.
//
// # Shutdown
//
// Shutdown (drain.go) drains: /readyz reports it, every answer carries Connection: close, and
// listeners are closed. Connections that are two seconds old and have never sent a byte are cut,
// because fasthttp takes them for busy. After 3 s idle connections are cut, and requests under way
// have as long as the context allows.
//
// # Concurrency
//
// A Server does not change once built, except for atomics, the pool, and Prometheus' own metrics.
// Each Serve… starts one goroutine, the sweep, and joins it. Everything in a RequestCtx is valid
// only until its handler returns. So the engine gets copies, because a write may outlive the
// request that asked for it. The engine gets a background context for the same reason: fasthttp's
// is cancelled by Shutdown, which must let writes finish.
//
// # Decisions
//
// Handlers contain no rules. They read parameters and header fields, call package ops, and write
// the answer. Package ops decides what a call does and who may make it; package jsonbody decides
// how strictly bodies are read. Unknown query parameters are 422, like unknown fields: a request
// with a misspelt parameter must not get the answer to another question.
//
// An export is complete if it ends with the last chunk. If it cannot go on (a revoked token,
// shutdown, a damaged row), its last line is a problem, and the connection is cut. A final line
// with a count was rejected: every reader would have to know it. An export must move 16 KiB a
// second, because it keeps a snapshot open.
//
// Links outlive their owner. DELETE /users/{id} refuses a user with links unless links=keep says
// that they stay: links are printed on paper, and must not die with an account. They stay under the
// number of the deleted user, which admins name with owner=ID. A transfer to another user was
// rejected: figures are kept by owner as well as by link, so the new owner's would not add up, and
// a transfer of a million links is not an atomic write. A link whose creation is under way while
// its owner is deleted is kept too.
//
// To delete or demote the only admin is 422 with the code last_admin, not a conflict: no repetition
// helps.
//
// Bodies are read whole, before the caller is known. The limit is 64 KiB; it is higher only where
// the endpoint's row says so and the token or session is valid for it, or on the socket
// (bodylimits.go). Package wire limits how many larger bodies arrive at once, in all and for each
// caller.
//
// A panic is answered with 500 and ends its connection. Panics at one place in the code are logged
// once a minute (exchange/panics.go).
//
// Nothing of a request is logged. fasthttp's own log quotes raw header bytes, so it is silenced.
// Requests that fasthttp could not read are counted instead:
// shunt_http_requests_total{route="malformed"}.
//
// Rejected: redirects as a route of the router. It keeps captured values in a map, and gives some
// paths meanings of its own.
//
// Files, leaves first: pages.go, https.go, session.go, clock.go, limiter.go, auth.go, blockfile.go, cors.go,
// detached.go, docs.go, endpoint.go, heavy.go, links.go, bulk.go, live.go, export.go, login.go, setuplinks.go,
// operations.go, options.go, insecure.go, path.go, front.go, clustered.go, bodylimits.go, peek.go, plain.go,
// preview.go, qrcode.go, public.go, router.go, server.go, reload.go, drain.go, counts.go, dashboard.go, stats.go,
// tokens.go, users.go, routes.go.
package api
