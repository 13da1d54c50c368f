// Package exchange is what every handler needs to read a request and to answer it: its id, its JSON body, the answer as
// JSON or as a problem, and what is logged of a panic. It knows no call and no page.
//
// Files, leaves first: requestid.go, answer.go, clock.go, handler.go, requestbody.go, panics.go.
package exchange
