// Package etcdtest runs real etcd servers as child processes, and proxies that hold, drop and change
// what goes between them and their clients. Only tests may use it. The servers come from
// make cluster-test; without them tests are skipped.
package etcdtest
