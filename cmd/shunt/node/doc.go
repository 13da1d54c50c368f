// Package node makes this process a node of a cluster: its settings, its certificates, the log in etcd,
// and the replica that follows it. It ties storage/etcdlog and storage/replica to the engine and the
// accounts, and tells api what the node knows (api/cluster.State). Without --cluster nothing of it exists.
//
// # Edges
//
// A node with --role edge has links and the visitor key, no accounts and no figures. What it may have is
// decided by its certificate, whose organizational unit is edge, not by what it says of itself: full nodes
// ask the certificate before they give a backup, an outbox, or an answer that changes accounts, and an
// edge asks that of a full node before it sends a caller's token there. So whoever takes the machine of an
// edge, or its key, gets the links, the visitor key, and the tokens of callers who use that edge.
//
// The log has the rows of accounts too (passwords and tokens as hashes only), and an edge reads it: they
// pass its memory and are not stored. Whoever has the key of an edge can do at the servers of etcd what
// these let it do. So in etcd a role for edges reads the keys of the cluster and writes below names/ and
// nodes/ only (cmd/deploy/cluster/etcd-auth.sh); with etcd's own permissions off, every node can write
// every key.
//
// An edge pulls from nobody. It keeps its records until all full nodes have asked for what follows them.
package node
