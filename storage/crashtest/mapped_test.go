//go:build !race

package crashtest

// mapped reports whether the journal's files are mapped, so that they can be copied while hits are
// recorded. In race builds they are memory that is written back when they are closed: then only
// flushed hits outlive a kill.
const mapped = true
