// Package edge is edges without etcd, from both sides: what a server does as the writer of edges, and what it does as
// an edge of a writer (--edge-of). Both stand on storage/replicate, whose DESIGN.md describes them. An edge follows
// its writer by storage/replica, as a node of a cluster follows the cluster: its log (source) is the writer's, which
// it asks for over HTTPS.
//
// # What an edge may not do
//
// The writer takes the name of an edge from its token, never from a request. So an edge gives hits, and asks for the
// position of an outbox, in its own name alone (Writer.follow).
//
// Files, leaves first: settings.go, writer.go, client.go, source.go, node.go.
package edge
