// Package cluster makes a server one of the nodes of a cluster: it has the commands for that, and puts a node
// (cmd/shunt/node) into the server (serve.Node). A program that is built with the tag nocluster does not have this
// package, and so neither etcd nor gRPC.
//
// Files, leaves first: commands.go, node.go.
package cluster
