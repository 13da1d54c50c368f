// Package relay passes a request on to another server, and its answer back. It knows neither a cluster nor an edge:
// package cluster passes requests between nodes, and package api from an edge to its writer.
//
// Whoever passes a request on says who its client is (Client). The receiver must know that it may believe that, by a
// certificate or a token; then it notes the client in the request (Note), and everything else sees the client as if it
// had come here: rate limits, the audit log, and whether it used HTTPS.
//
// Files, leaves first: client.go, request.go, answer.go.
package relay
