//go:build !race

package crashtest

// mapped tells that the journal's files are mapped, so that they can be copied while hits are
// recorded. Under the race detector they are memory, written back when they are closed: nothing
// outlives a kill then but what was flushed.
const mapped = true
