// Package node makes this process a node of a cluster: its settings, its certificates, the log in etcd,
// and the replica that follows it. It ties storage/etcdlog and storage/replica to the engine and the
// accounts, and tells api what the node knows (api/cluster.State). Without --cluster nothing of it exists.
//
// # Edges
//
// A node with --role edge has links and the visitor key, but no accounts and no figures. Its certificate, whose
// organizational unit is edge, decides what it may have, not what it says of itself. Full nodes check the
// certificate before they give a backup or an outbox, or change an account; an edge checks that of a full node
// before it sends a caller's token there. So whoever takes over the machine of an edge, or its key, gets the
// links, the visitor key, and the tokens of callers who use that edge.
//
// Whoever has the key of an edge can also do at etcd what its servers permit. So in etcd each edge has a role
// that reads the keys of the cluster that edges need, not accounts, and writes its own two keys only
// (cmd/deploy/cluster/etcd-auth.sh). Without authentication in etcd, every node can write every key.
//
// An edge pulls from nobody. It keeps its records until all full nodes have acknowledged them.
package node
