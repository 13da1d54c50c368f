// Package invariants reports whether this build checks invariants that are too expensive for
// production. It knows nothing of ours; every room of the engine may read it.
package invariants
