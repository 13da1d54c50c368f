//go:build !shuntinvariants

package engine

// invariants switches on checks that are too dear for production; build with -tags shuntinvariants.
const invariants = false
