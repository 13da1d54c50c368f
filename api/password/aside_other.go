//go:build !linux

package password

// lowerPriority does nothing: threads have no priorities of their own here.
func lowerPriority(int) {}
