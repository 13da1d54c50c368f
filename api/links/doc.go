// Package links answers the calls of the API on links, tags and figures: it reads a request and writes the answer.
// Package ops decides what a call does; the table in api/routes.go says who may make it, and names the method here.
// This package knows no page and no listener. A new call is a method of Calls in the file of its subject.
//
// A live stream is an endless answer: fasthttp reads it on the connection's goroutine, and each look at the figures
// tells the sweep that the connection is alive.
//
// An export is complete if it ends with the last chunk. If it cannot go on (a revoked token,
// shutdown, a damaged row), its last line is a problem, and the connection is cut. A final line
// with a count was rejected: every reader would have to know it. An export must move 16 KiB a
// second, because it keeps a snapshot open.
//
// Files, leaves first: heavy.go, links.go, qrcode.go, figures.go, bulk.go, live.go, export.go.
package links
