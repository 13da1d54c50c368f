// Package cores knows how many processors the process may use.
package cores

import "runtime"

// usable is set before main can raise GOMAXPROCS.
var usable = runtime.GOMAXPROCS(0)

// Usable is engine.Cores.
func Usable() int { return usable }
