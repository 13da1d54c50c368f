//go:build !shuntinvariants

package invariants

// Enabled reports whether this is a build with -tags shuntinvariants.
const Enabled = false
