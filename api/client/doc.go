// Package client talks to the API of a shunt server. It needs the standard library and nothing else.
//
//	c, err := client.New("https://sho.rt", token, nil)
//	link, err := c.Shorten(ctx, client.Draft{URL: "https://example.org/a/long/address"})
//	fmt.Println(link.ShortURL)
//
// A Client is safe for concurrent use and has nothing to close. Every call takes a context first. Lists are iterators, which
// fetch page after page and stop when their consumer does. There is a method for every call of the API but those of sessions,
// which are for pages in a browser, where a program has a token, and the one for the API's own description. What has no method
// yet can be had with Do and Lines.
//
// # Errors
//
// What the server refuses is a *Problem (RFC 9457). Its Kind is an error of its own, so there is one way to ask for it:
//
//	if errors.Is(err, client.ErrNotFound) { … }
//
// errors.As gets at the rest: which fields are wrong, how long to wait. A server, or a proxy before it, that answers with
// something else than a problem makes a Problem without a Kind. Other errors are of the connection or of the context.
//
// # Repeats
//
// Calls are repeated by themselves (Options.Retry): after a random time that grows from one to the next (full jitter), and never
// before what Retry-After says. If that is longer than Retry.MaxWait, or the context would end before, the problem is returned at
// once. What is repeated, and when:
//
//	answer or error                          reads, creating calls,      IssueToken, AddUser; without a
//	                                         changes and deletions       key: creating calls, POST by Do
//	429; 503 but the next two                yes                         yes
//	503 outcome_unknown, 503 of a proxy      yes                         no
//	no answer, or one that breaks off        yes                         no
//	everything else                          no                          no
//
// The first row is a promise of the server: it has changed nothing. After the other two it may have. Then a repeat does no harm:
//
//   - Shorten and ShortenBulk always have an Idempotency-Key, the same in all repeats, and the server gives the first success
//     again instead of making a second link. A server keeps 100,000 keys of a token for 24 hours and answers 429 beyond: who makes
//     more links a day uses ShortenBulk, which needs one key for 1,000 of them, or NoIdempotencyKey.
//   - Import finds what an attempt before has made, and counts it as existing.
//   - Update sets fields to values, so setting them again is the same, unless somebody else has changed one of them between the
//     attempts: the last writer wins, as always without IfVersion. With it, the repeat of an edit that was done is
//     answered ErrPreconditionFailed.
//   - Delete, RevokeToken and RemoveUser: the repeat of a deletion that was done is answered ErrNotFound. Who takes a deleted
//     code again while its Delete has not returned may lose the new link to the repeat; IfVersion guards against
//     that only if the two versions differ, and every link begins with the same.
//
// The error of such a repeat says that an attempt before it had an unknown outcome, and wraps both errors. It is not taken for a
// success, because a link of somebody else looks like a missing one: whoever gets ErrNotFound or ErrPreconditionFailed has to
// look whether that is fine.
//
// # What a server can do to a client
//
// Redirects are not followed, so the token goes to the origin of New and nowhere else. An answer has at most 32 MiB, a problem
// and a line of a stream 1 MiB each; more is an error. A server that is silent for Options.Timeout has gone. Texts of the server
// in errors are shown without control characters.
package client
