// Package etcdtest runs real etcd servers as child processes, and proxies that delay, drop and change
// the traffic between servers and clients. Only tests may import it. make cluster-test installs the
// servers; without them, tests that need them are skipped.
//
// Files, leaves first: proxy.go, cut.go, cluster.go.
package etcdtest
