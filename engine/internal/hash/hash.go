// Package hash is the one step from which every hash in memory is made: folded multiplication, as in wyhash.
// It knows nothing of ours; every room of the engine may use it. What hashes are of, and under which keys, is
// said where they are made.
package hash

import "math/bits"

// Mix multiplies a and b and folds the 128 bits of the product to 64. It is small enough to be inlined
// everywhere.
func Mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
