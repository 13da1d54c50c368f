// Package target decides what a target may be: its syntax, our own origins, private hosts, and the
// block list. It knows the limits of a link's fields and the errors of checks, and no links. The
// engine applies a Policy to every target that is written; the front doors ask a BlockList about
// every target that is followed.
//
// # Terminology
//
// A target is the address that a link leads to. Its authority is host and port; its stored form is
// what Policy.Parse returns. An own origin is an address of this server. A host is private if the
// public internet does not route it to one host. An IPv6 address carries an IPv4 address if a
// transition mechanism puts one into it.
//
// # What decides
//
// Nothing here looks names up or opens connections. So a name that leads to a private address is
// not detected: the text alone decides, in every spelling of an address and however an IPv6 address
// carries an IPv4 one (privatehost.go). Only the host of a target is rewritten before it is stored;
// clients are sent it in ASCII (engine/internal/ascii), of which policies and lists say the same.
//
// An operator may list other schemes than http and https (scheme.go). Such a target may have no host: then only its
// bytes and its length decide, and no block list applies to it.
//
// People type addresses without a scheme and paste them with blanks around them. ParseTyped mends
// the text first (typed.go), and then reads it like any other, so policies judge what is stored.
// Every way in uses it; an import first tries Parse, because it must keep what is valid byte for byte.
//
// # Layout
//
//	ParseTyped:    typed ─▶ raw
//	Policy.Parse:  raw ─▶ scheme │ authority │ rest
//	                                 └─▶ host ─▶ private? ─▶ own? ─▶ stored form ─▶ blocked? ─▶ target
//
//	BlockList ──atomic──▶ blockSet ─┬─▶ slots: 64-bit hashes of hosts, an open table, at most half full
//	                                └─▶ prefixes: hash of a host ─▶ paths with queries, in plain form
//
// # Concurrency
//
// A Policy is read-only while it is used. A BlockList is replaced by one atomic store; Blocks takes
// no lock and allocates nothing, because every redirect may call it.
//
// Files, leaves first: host.go, scheme.go, plain.go, privatehost.go, ownorigin.go, origin.go, blocklist.go, target.go,
// typed.go.
package target
