package engine

import "shunt/engine/tally"

// Visit describes one redirect for the counters and the journal. Hit gets it in registers: the compiler keeps no struct of more
// than four fields there, and amd64 has nine for all arguments.
type Visit struct {
	Visitor uint64 // SipHash-2-4 of address and User-Agent under the store's key; 0 is as good as any
	NowMs   int64  // Unix ms, not before 1970
	Class   tally.Class
	tally.Values
}
