//go:build !linux

package engine

import "testing"

// immutable skips the rest of the test.
func immutable(t *testing.T, _ string) {
	t.Helper()
	t.Skip("only Linux makes files immutable, even for root")
}

// Immutable is immutable for tests outside the package.
func Immutable(t *testing.T, path string) { immutable(t, path) }
