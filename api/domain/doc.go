// Package domain keeps the domains of a server: the hosts whose short links it serves, each with links of its own.
//
// A domain has a number, by which links know it and which is never given twice, and a host, by which visitors reach it.
// The default domain has the number 0 and the host of the base URL. It is there without a row, and a request with a
// host that nobody has registered is one of it. An alias of a host is the same domain.
//
// # Layout of the table
//
// Numbers are big-endian, values are JSON with a format version "v".
//
//	'd' | number (2)   → domain; of the default domain only what was edited
//	's'                → the last number (2): none is given twice
//
// # Concurrency and durability
//
// Any number of goroutines may call everything at once. Who asks for a domain reads one atomic pointer, and, if there
// is more than the default domain, a map by host: no lock and no allocation. Writes are made one after the other
// (package table); what is read is changed once they are durable. Other nodes and edges learn rows, and call Changed.
//
// Files, leaves first: host.go, domain.go, rows.go, domains.go, write.go, check.go.
package domain
