// Package certificate keeps the certificates that a server, or a cluster, has got from an ACME authority: those of its
// own host and of its domains, with their keys, and how the last attempt for each went. It asks no authority.
//
// A host has one certificate of its own, and so has each alias of a domain: one that fails holds up no other. A
// challenge is what an authority asks for, to see whether a host leads here (RFC 8555, 8). It is kept as well, so that
// any node, and any edge, can answer it.
//
// # Layout of the table
//
// Values are JSON with a format version "v". Keys are in PEM, as they are: whoever has the table can serve its hosts.
//
//	'a'          → the key of the account at the authority; edges do not have it (row.CertificatesAccount)
//	'h' | host   → the certificate of a host, and how the last attempt went
//	'p' | token  → a challenge: what proves that a host leads here
//
// # Concurrency and durability
//
// Any number of goroutines may call everything at once. A handshake reads one atomic pointer and a map: no lock, no
// table. Writes are made one after the other (package table), by the node that leads; what is read is changed once they
// are durable. Other nodes and edges learn rows, and call Changed.
//
// Files, leaves first: host.go, rows.go, known.go, certificates.go, write.go, check.go.
package certificate
