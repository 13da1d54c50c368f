// Package cluster passes requests between the nodes of a cluster. A write that arrives at a node that
// does not lead is sent to the one that does, over TLS in which both sides name themselves by a
// certificate. The answer goes to the client when this node has applied what the leader had written by
// then, so clients read their own writes.
//
// The leader handles such a request like one of its own: it checks the caller's token and the
// rate limits again, and names in the audit log the network from which the client reached the other node. A
// request is forwarded at most once: a node that does not lead refuses what another node sends it. Only a
// request from an edge may take two steps (edge.go): to a full node, and from there to the leader.
//
// DESIGN.md describes the whole cluster.
package cluster
