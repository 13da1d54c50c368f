// Package edges is what an edge and its writer say to each other: the bytes of their calls, without the connection. A
// writer is a server of its own that has edges; storage/replicate/DESIGN.md describes the whole.
//
// All calls are POST, below PathPrefix of the API, with a token of scope edge. An edge sends the first three one after
// the other on one connection, and the others on one each.
//
//	meet    Who, JSON                → Identity, JSON: what the store of a new edge begins with
//	copy    Who, JSON                → a copy of the links, as replicate.Rows.WriteCopy writes it
//	follow  Ask and outbox records   → Answer and entries of the writer's log
//	caps    engine.CapAsks, JSON     → engine.CapAnswers, JSON: the writer records the hits that it grants
//	find    absent.Question, JSON    → absent.Found, JSON
//	unlock  lock.Question, JSON      → lock.Answer, JSON
//	challenge {}, ?token=&host=      → the answer to ACME's challenge, text
//
// The bodies of follow are messages: a head in JSON and byte strings, each after its length.
//
// An edge also passes on requests of clients, which are calls of the API and pages. They have its token in TokenField,
// and say who the client is by the fields of package relay.
//
// # One edge for each token
//
// A token names one edge, which has one row in lists and one outbox at a time. So a writer refuses the first three
// calls of another edge that uses the same token, as long as it hears the first one (Known.Claim). Which edge it is
// they say themselves (Who): a token is no secret between the two, so that is against mistakes, not attacks.
//
// Files, leaves first: message.go, calls.go, known.go (what a writer has heard).
package edges
