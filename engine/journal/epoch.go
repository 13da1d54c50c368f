package journal

import "math/rand/v2"

// The bits of an epoch, from the highest: 24 of its history, 24 that count the starts, 16 that are
// drawn.
const (
	lotBits     = 16
	historyBits = 24
)

// NextEpoch returns the epoch after one: it counts, and draws the low bits, so that two copies of a
// folder that go on from one epoch do not take each other's journal for their own.
func NextEpoch(epoch uint64) uint64 {
	return (epoch>>lotBits+1)<<lotBits | rand.Uint64N(1<<lotBits)
}

// OtherHistory returns the first epoch of another history: files of one history are neither
// replayed nor removed by another.
func OtherHistory(epoch uint64) uint64 {
	other := epoch
	for other == 0 || sameHistory(other, epoch) {
		other = rand.Uint64N(1<<historyBits) << (64 - historyBits)
	}
	return other
}

func sameHistory(a, b uint64) bool { return a>>(64-historyBits) == b>>(64-historyBits) }
