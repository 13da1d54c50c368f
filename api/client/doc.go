// Package client talks to the API of a shunt server, for Go programs. It needs the standard library
// and nothing else: it knows the API's contract, not the server's code.
//
//	c, err := client.New("https://sho.rt", token, nil)
//	link, err := c.Shorten(ctx, client.Draft{URL: "https://example.org/a/long/address"})
//	fmt.Println(link.ShortURL)
//
// A Client is safe for concurrent use and has nothing to close. Every call takes a context first.
// Lists are iterators, which fetch page after page and stop when their consumer does. Every call of
// the API has a method, except those of sessions, which are for pages in a browser (a program has a
// token), and the API's own description. Do and Lines make calls that have no method yet.
//
// # Errors
//
// A refusal by the server is a *Problem (RFC 9457). Its Kind is an error of its own, so there is
// one way to test for it:
//
//	if errors.Is(err, client.ErrNotFound) { … }
//
// errors.As gives the rest: which fields are wrong, how long to wait. If a server, or a proxy
// before it, answers an error in another form, the Problem has no Kind. Other errors come from the
// connection or the context.
//
// # Repeats
//
// The client repeats calls by itself (Options.Retry), after a random time that grows with each
// attempt (full jitter), and never earlier than Retry-After says. If that is longer than
// Retry.MaxWait, or the context would end before, the problem is returned at once. These calls are
// repeated:
//
//	answer or error                          reads, creating calls,      IssueToken, AddUser; without a
//	                                         changes and deletions       key: creating calls, POST by Do
//	429; 503 but the next two                yes                         yes
//	503 outcome_unknown, 503 of a proxy      yes                         no
//	no answer, or one that breaks off        yes                         no
//	everything else                          no                          no
//
// The first row is a promise of the server: it has changed nothing. After the next two rows it may
// have changed something, but the repeat does no harm:
//
//   - Shorten and ShortenBulk always have an Idempotency-Key, the same in all repeats, and the
//     server gives the first success again instead of making a second link. A server keeps 100,000
//     keys of a token for 24 hours and answers 429 beyond that. A program that makes more links a
//     day uses ShortenBulk, which needs one key for 1,000 links, or NoIdempotencyKey.
//   - Import and ImportAll find the links of an earlier attempt, and count them as existing.
//   - Update sets fields to values, so setting them again is the same, unless somebody else has
//     changed one of them between the attempts: the last writer wins, as always without IfVersion.
//     With IfVersion, the repeat of an edit that was made is answered ErrPreconditionFailed.
//   - Delete, RevokeToken and RemoveUser: the repeat of a deletion that was made is answered
//     ErrNotFound. A program that takes a deleted code again before its Delete has returned may
//     lose the new link to the repeat; IfVersion prevents that only if the two versions differ, and
//     every link begins with the same version.
//
// The error of such a repeat says that an earlier attempt had an unknown outcome, and wraps both
// errors. It does not count as a success, because a link of somebody else looks like a missing one:
// a program that gets ErrNotFound or ErrPreconditionFailed has to check.
//
// # Long imports
//
// ImportAll sends any number of links, one request of up to 1,000 after the other. So links are made
// in their order, and of two with one code the first stays. A request costs the client about 1 µs of
// CPU for each link: links are copied into the body, and of an answer only the counts are read, unless
// it refuses links. Import, which decodes each answer, takes ten times that. Next to a server, or in
// its network, the server's work is nearly all of the time; beyond a round trip of 15 ms the round
// trips are.
//
// Rejected: several requests under way over several connections (the server may do the second
// before the first, so lists would have another order, and of two links with one code the later might
// win); the last byte of a request withheld until the answer to the one before (a large body that
// waits keeps its place from others, and is cut); pipelined requests, which keep the order and fill
// round trips (net/http has none, so they took an HTTP/1.1 of our own, 400 lines); one request without
// end (a server reads a body whole, and bounds it).
//
// # What a server can do to a client
//
// Redirects are not followed, so the token goes only to the origin of New. An answer has at most 32
// MiB, a problem and a line of a stream 1 MiB each; more is an error. A call to a server that is
// silent for Options.Timeout fails. Errors show texts of the server without control characters.
package client
