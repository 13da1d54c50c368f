// Package node makes this process a node of a cluster: its settings, its certificates, the log in etcd,
// and the replica that follows it. It ties storage/etcdlog and storage/replica to the engine and the
// accounts, and tells api what the node knows (api/cluster.State). Without --cluster nothing of it exists.
package node
