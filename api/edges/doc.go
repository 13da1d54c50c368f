// Package edges is what an edge and its writer say to each other: the bytes of their calls, without the connection. A
// writer is a server of its own that has edges; storage/replicate/DESIGN.md describes the whole.
//
// All calls are POST, below PathPrefix of the API, with a token of scope edge. An edge sends the first three one after
// the other on one connection, and the others on one each.
//
//	meet    {}                       → Identity, JSON: what the store of a new edge begins with
//	copy    {}                       → a copy of the links, as replicate.Rows.WriteCopy writes it
//	follow  Ask and outbox records   → Answer and entries of the writer's log
//	caps    engine.CapAsks, JSON     → engine.CapAnswers, JSON: the writer records the hits that it grants
//	find    absent.Question, JSON    → absent.Found, JSON
//	challenge {}, ?token=&host=      → the answer to ACME's challenge, text
//
// The bodies of follow are messages: a head in JSON and byte strings, each after its length.
//
// An edge also passes on requests of clients, which are calls of the API and pages. They have its token in TokenField,
// and say who the client is by the fields of package relay.
//
// Files, leaves first: message.go, calls.go, known.go (what a writer has heard).
package edges
