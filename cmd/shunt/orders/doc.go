// Package orders gets certificates from an ACME authority (RFC 8555) for the hosts that a server serves, and gives
// handshakes those that there are. It knows TLS, ACME and domains. It knows nothing of settings: serve builds its
// parts.
//
// A handshake reads what package api/certificate has in memory. It waits for no order and begins none, whatever name it
// asks for: a name that nobody registered gets an alert.
//
// An Orderer looks once a second which hosts need a certificate: those that have none, and those of which a third of
// the lifetime is left. At most two attempts run at once, and at most ten orders begin in an hour, because authorities
// limit what an account may ask for; hosts that have failed leave two of the ten to others. Before an order it asks the
// host, over its name, for a challenge of its own: a name that does not lead here costs no order. Each order is kept
// before it begins, as one that failed, so that a restart or a new leader neither orders again at once nor forgets it.
// After a failure a host waits two minutes, then twice as long each time, up to a day; hosts that have failed least go
// first, so one that fails keeps no other waiting. In a cluster only the leader orders. Certificates, failures and
// challenges are rows that all nodes and edges have.
//
// Files, leaves first: names.go, source.go, reach.go, words.go, authority.go, limit.go, orderer.go, report.go.
package orders
