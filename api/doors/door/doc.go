// Package door is what all doors are built on. A door answers the clients of another link shortener as that one would,
// at its paths: each is a face of package ops in a room of its own, and has no rule of its own about links.
//
// # What a door gets, and what it answers
//
// A door is a Handler. It gets a Request, and a House once, when it is opened. It reads the request in its protocol's
// way, names the credential and the Action, and passes to House.Do what is to be done with the caller. Do does what is
// done for each call of the API: one Authorization field, authentication, rate limits, scope, shedding. So a door
// cannot forget one of them. The error of Do is a problem, which the door writes in its protocol's form: House.Problem.
//
// # Secrets
//
// These protocols send tokens and passwords in queries. So a Request has its query apart, and nothing else has it: it
// was taken out of the RequestCtx before the door was called. Nothing that a door writes may have a part of the query
// that is not about a link.
//
// This package knows exchange, ops and what these stand on. It knows no door, and no page.
//
// Files, leaves first: door.go, values.go, link.go.
package door
