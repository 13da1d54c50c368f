// Package lock makes and reads what a visitor gets who has typed the password of a link: a cookie that opens the link
// for an hour. It knows neither HTTP nor hashes.
//
// A cookie is the time until which it opens the link, and a MAC over that time, the link's id and its lock
// (extras.LockOf), which another password changes. So a cookie opens one link, until its end or until the link gets
// another password, whichever comes first; no server keeps what it has given, and all that have the visitors' key take
// it: nodes of a cluster, edges, and a server after its restart. The MAC is SipHash-2-4 of 128 bits (Aumasson and
// Bernstein 2012), by a key of its own that follows from the visitors' key. Reading a cookie allocates nothing, so
// a redirect does it in place.
//
// Rejected: a MAC by HMAC-SHA256, which allocates; sessions in the store, which edges lack; one cookie for all paths of
// each link, of which a browser would send more and more until its header is refused; a redirect of other spellings to
// the code's own, which goes round in a circle behind a proxy that spells addresses in its own way.
//
// Files, leaves first: lock.go, question.go.
package lock
