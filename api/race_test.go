//go:build race

package api

// stride n means that every n-th case is tried by tests of thousands of cases, which one client tries one
// after the other: the race detector makes them ten times as slow, and has little to find in them.
const stride = 7

const (
	watches   = false
	gcPercent = 100 // memory of ended servers comes free over several collections, and here each byte takes two more
)

// watch checks nothing here: see watch_test.go.
func (*site) watch() {}
