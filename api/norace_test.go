//go:build !race

package api

const stride = 1

const (
	watches   = true // every answer is checked against the document: see watch_test.go
	gcPercent = 400  // hundreds of servers with small heaps: a sixth of the time would be collections
)
