package engine

import "math/bits"

// mix folds a 64×64-bit multiplication, the step of wyhash: its result depends on every bit of a and b.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
