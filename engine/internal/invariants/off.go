//go:build !race && !shuntinvariants

package invariants

// Enabled reports whether this is a build with the race detector, or with -tags shuntinvariants.
const Enabled = false
