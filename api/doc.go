// Package api is the HTTP front end of shunt, on fasthttp: redirects, public pages, the JSON API and the admin address.
// It knows engine and the rooms below it, but not storage. cmd and bench use it: NewServer builds a Server of its
// parts. A part is a type with its own fields, in a room of its subject, or in a file here if it ties rooms together.
//
//	routes.go, endpoint.go          the table of the API: a row for each call
//	links                           the calls on links, tags and figures
//	login.go, users.go, tokens.go   the calls on sessions, users and tokens (setuplinks.go: for local commands)
//	operations.go                   backup and check, for local commands
//	auth                            who may call, and how often; bodylimits.go: how large a body may be
//	doors                           ways in for clients of other link shorteners, which the router opens if told to
//	public, dashboard.go            the pages; urlpath: which of them, or which code, a path names
//	front.go, plain.go, detached.go requests for codes, with and without fasthttp
//	server.go, options.go, drain.go how it all is built, set and stopped; reload.go: what can be changed meanwhile
//	blocklist, clustered.go, counts.go   blocked targets; requests between nodes; what the metrics show
//
// # Terminology
//
// A code is the part of a path after the slash. A request for a code has one outcome: it is
// redirected, or it is a miss for a reason; the redirector decides which. An endpoint is one row of the
// API's table. A problem is an error as a client sees it; its kind is its status and code.
//
// # The path of a request
//
//	      socket, fasthttp      (api/wire: refuses what could be read in two ways)
//	           │
//	     front.handle           recover · drain                    (front.go)
//	           │                raw path: /{code} or /{code}/, or one that is spoilt ?    (urlpath)
//	    ┌──────┴───────┐
//	serveCode      apiRouter    authenticate → limit → scope → handler → problem
//	    │              │        (router.go, auth, routes.go; handlers by subject)
//	    │         public.Router paths that are not of the API: pages, previews, QR codes
//	redirector                  Resolve → method → verdict → location → class → Hit   (api/redirect)
//	    │
//	Location, or a page         (public/pages.go)
//
// A plain request, one that package wire has read without fasthttp, goes to front.answerPlain
// (plain.go), which writes a redirect itself, byte for byte what fasthttp writes for serveCode. It
// answers a miss by the same front.miss, with a RequestCtx without a server (detached.go).
//
// In a path, escapes of unreserved bytes are those bytes (RFC 3986, 6.2.2.2). If it is not a code then, or
// no link has the code, what people and mailers put after an address is taken off (urlpath). A plain
// request has a code without escapes and dots, so only fasthttp's requests get there, and each is two
// look-ups at most: the exact code goes first. In a path of the API or the dashboard a code is one part,
// in which a slash is %2F; the routers go by the path as it was sent. Paths of the API
// and the dashboard have one spelling: what stands before us may guard them by their beginning. The
// router sees only /api/, and corrects no path.
//
// # The redirect
//
// Package redirect decides what a request for a code gets; it does not know fasthttp. For fasthttp,
// front.go keeps a request and a buffer in a pool for each call, and sets Location with SetCanonical,
// because fasthttp's own Redirect rewrites targets; what an address may not hold is percent-encoded there.
// Package visitor classifies the maker of a hit. The country comes from a trusted proxy, in the header
// that CountryHeader names, or else from the table of addresses in Countries.
//
// # The client's address
//
// Package wire determines the address that a request comes from. Tokens are accepted over plain
// HTTP only from this machine. A forwarding header means that a request is not from this machine,
// whatever address its socket has.
//
// # The host
//
// A request is for the domain of its host: the one that a trusted proxy names in HostHeader, or else that of an
// absolute target, or the Host field. The reader of plain requests finds it; for fasthttp, takeHost puts the named one
// into the request before anybody looks at it, so that redirects, pages, forms and other servers know no other.
//
// # Limits on costly work
//
// Rate limits ignore what a call costs. Costly calls are limited by turnstiles (package turnstile):
// a fixed number in all, a share for each caller, a queue, and callers take turns. A caller is a
// user, or the network of a client without a login. A request beyond a share or a full queue gets
// 503 overloaded.
//
//	                    in all   per caller   waiting
//	cores               half                  256, 20 s       links/heavy.go: all below that says "cores"
//	lists and figures   32       8                            cores; counted until the answer is sent
//	bulks, imports                                            cores, while the body is read
//	exports             16       2                            cores, page by page
//	passwords of users  half     8            64, 5 s         cores; 4 at most (api/password)
//	passwords of links  half     40           64, 5 s         the same, apart
//	asked by an edge    4        40           64, 5 s         api/public/unlock.go
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
// # Requests that are refused
//
// Package wire reads requests, and refuses those that could be read in two ways. Two Authorization
// lines are refused by the API alone (auth), with 400: a redirect does not read them.
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
// Links outlive their owner: they are printed on paper, and must not die with an account. DELETE
// /users/{id} refuses a user with links. With links=keep they stay under the number of the deleted
// user, which admins name with owner=ID; a link whose creation is under way stays, too. With
// move_links_to they are first given to another user, one write for each link, so a user with many
// takes several requests. What was counted for the former owner stays in that owner's sums.
//
// The trash is GET /links?state=deleted, a list that knows no words and no other order: what was deleted is found by
// when it was. It goes with its user, since nobody may be left with links of somebody who is gone. A restore of a code
// that a live link of the caller has is 409. If an admin has taken the code, it is 404 for the former owner, as for
// everybody whom that link does not belong to. DELETE with purge=true leaves the figures for 30 days, although nobody
// can ask for them: a hit of the link may be on its way, and would make rows again that nobody ever deletes.
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
// Files, leaves first: find.go, endpoint.go, detached.go, edges.go, edgelist.go, edgeof.go, challenges.go,
// bodylimits.go, clustered.go, front.go, login.go, setuplinks.go, operations.go, options.go, plain.go, router.go,
// server.go, reload.go, drain.go, dashboard.go, counts.go, tokens.go, users.go, routes.go.
package api
