// Package redirect is the hot path: it decides what a request for a code gets, and counts it. It knows the engine,
// packages visitor and choice and the turnstile, and no HTTP library: bytes go in, and bytes come out. Front doors call
// Decide and Commit for each request; previews, QR codes and link objects ask it too.
//
// # Terms
//
// A request for a code has one Outcome: it is Redirected, or it is a miss for a reason. The verdict
// on a link is the part of the outcome that the link alone decides. Misses of unknown codes are
// counted by code, in a Space-Saving summary (misses.go).
//
// # The redirect
//
// A redirect has two steps. Decide reads a small Request, appends the location to the caller's
// buffer, with what the answer begins with if the caller likes, and counts nothing. Commit counts,
// and says whether the decision stands. In between the caller may write the whole answer, so that
// nothing is counted that is not answered. Measured on two cores of an AMD EPYC (go test -bench
// Redirect ./api, trusted proxy and X-Forwarded-For included): 0.67 µs and no allocation in the
// handler for a browser, 0.61 µs for a bot; a referrer and a country cost 0.1 µs more (dims=on
// against dims=off); a test holds the zero.
//
// # While links are loaded
//
// A code that is not in memory may be in the store. Decide does not wait for a disk, so it says
// Unread; a front door whose goroutine may wait calls DecideUnread, which reads the link into memory
// (loading.go). An event loop hands such a connection to fasthttp, where it stays. At most two reads a
// core run at once, and the turnstile is fair to clients. A code is unknown only if the store says so.
// A link with a cap waits until all hits are loaded: before that nobody knows whether it is used up.
//
// # The order of checks
//
//	not loaded · unknown code · wrong method · choice of the target · verdict · card · location too long · prefetch · Hit
//	                                                                     │                                              │
//	                                     blocked · disabled · expired · exhausted · not started                 exhausted, exactly
//
// Facts.Verdict is the one order for redirects, previews, QR codes and the state of link objects.
// The block list comes first: whatever else has become of a link, its target must not be recommended. A redirect does
// not ask whether the cap is used up: Hit decides that, and reserves the hit in the same step. Hit comes last, so
// that only what passes all other checks counts; it is all of Commit that can change the outcome, to Exhausted. A
// redirect is in the journal before its answer is sent. A link that is over may have an address where visitors are
// sent then: the verdict, or the refusal of Hit, becomes Fallback. A link that has not started is answered like an
// unknown code. In a cluster the node that leads decides about a link with a cap (engine/caps), which takes
// milliseconds: so to a Quick request Commit says MustAsk, and counts nothing.
//
// The block list sees the whole target, the forwarded query included, before Location is made of it:
// it reads escapes and the bytes that they stand for alike. A redirect pays a branch
// without a list, some 0.1 µs with one, 0.2 µs with a million hosts (BenchmarkBlocks, a loaded
// machine). Previews, QR codes and link objects have no query to forward.
//
// # Location
//
// Location is ASCII (engine/internal/ascii): the target and the query that is added, in which the bytes
// that RFC 3986 does not allow are percent-encoded, in place. The index knows which targets have such
// bytes, because to look at every target that goes out would cost 9 ns, 3 % of a redirect. Beyond 8,192
// bytes the outcome is LocationTooLong, also for a target that a program took which did not bound this
// form.
//
// A query is put after that of the target. A link may ask instead that the visitor's parameters replace the target's of
// the same names, or yield to them (query.go): its extras say so, and only a redirect with a query reads them.
//
// # Links that decide
//
// A link with rules or a split has several targets (choose.go, package choice). Which of them a request gets is decided
// first, and all that follows is about that one: the block list, the query and the path that are added, the length. No
// answer may be stored, also not a permanent redirect. A HEAD and a prefetch choose as the GET of the same visitor
// would. A preview shows the link's own target, and of the others the hosts; a QR code and the state of a link object
// are about its own. A usual link pays nothing: one test, which it made anyway, says that it has no extras.
//
// # Links with a password
//
// A link with a password redirects who has a cookie of it (package lock), which Decide reads in place. All others get
// Locked: a page that asks for the password and tells nothing of the target. The front door compares the password
// (package public), in a POST to the address of the link. Such a POST is never sent on, cookie or not, also not by a
// link of status 307, since the target would get the password. A state that stops the link comes first, so nobody types
// a password in vain. No answer may be stored.
//
// # Cards
//
// A link may have a card, which chats and posts show of it. A known program that fetches a link to show a preview gets
// it where others would be redirected, with any query and however long the location is; search engines and all other
// bots get the redirect. The extras say that there is a card. Its texts are in the store, so an event loop hands the
// connection to fasthttp, and nothing is counted but the outcome: a card is neither a hit nor a bot of the link. Since
// the answer depends on who asks, no redirect of such a link may be stored.
//
// # Scans
//
// The address in a QR code is the short address with a parameter (ScanMark). Whoever reads a request with a query takes
// it out before Decide (TakeScan), so that neither rules, targets nor cards see it, and says so in Request.Scan. A hit
// then has the QR code as its referrer, which is a number of its own, so nothing else of a hit, of the journal or of
// the store knows scans. A camera sends no Referer, so none is lost. A request without a query pays one branch.
//
// A new state of a link is a field of Facts, a case in Verdict, a row in outcomes, and a page in
// package page.
//
// # What a hit is
//
// A request's class is the first that fits of: HEAD, prefetch (a header says so), bot (the
// User-Agent is known), hit. Method and headers are certain and cheap to read; the User-Agent is a
// guess and costs a hash. So a HEAD by a bot is a head. Only hits use up a cap, and only hits have
// a visitor and dimensions; package visitor reads them from the request.
//
// A prefetch is counted, but not redirected: its outcome is Prefetched, a 503 that nobody sees. A
// browser that has followed a redirect ahead does not ask again when its visitor clicks (Chromium with
// speculation rules), so the click would be no hit, and a cap of 1 would let everybody through who has
// prefetched. After an error the browser asks again. The status must be one that no cache stores and
// that makes Chromium give up the prefetch; 503 says that it may work later, which it does. There is no
// Retry-After, since the click may come at once. Where no redirect would follow, a prefetch gets what
// everybody gets.
package redirect
