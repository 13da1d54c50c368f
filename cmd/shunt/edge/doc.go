// Package edge is edges without etcd, from both sides: what a server does as the writer of edges, and what it does as
// an edge of a writer (--edge-of). Both stand on storage/replicate, whose DESIGN.md describes them. An edge follows
// its writer by storage/replica, as a node of a cluster follows the cluster: its log (source) is the writer's, which
// it asks for over HTTPS.
//
// # What an edge may not do
//
// What an edge says is said by its token, so it is said about this edge. It names no other edge: its position in the
// outbox, and the right to give hits, follow from the name in the token (Writer.Follow).
//
// Files, leaves first: settings.go, writer.go, client.go, source.go, node.go.
package edge
