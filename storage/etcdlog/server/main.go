// The server of etcd, for tests (make cluster-test). It is a module of its own, so that it is no
// dependency of the program, and its version is pinned here.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
