package journal

import "math/rand/v2"

// The bits of an epoch, from the highest: 24 are its history, 24 count the starts, 16 are random.
const (
	lotBits     = 16
	historyBits = 24
)

// NextEpoch returns the epoch after the given one. It draws the low bits at random, so that two
// copies of a folder, which both continue from the same epoch, do not take each other's journal for
// their own.
func NextEpoch(epoch uint64) uint64 {
	return (epoch>>lotBits+1)<<lotBits | rand.Uint64N(1<<lotBits)
}

// OtherHistory returns the first epoch of another history than that of the given one. A store
// neither replays nor removes the files of another history.
func OtherHistory(epoch uint64) uint64 {
	other := epoch
	for other == 0 || sameHistory(other, epoch) {
		other = rand.Uint64N(1<<historyBits) << (64 - historyBits)
	}
	return other
}

func sameHistory(a, b uint64) bool { return a>>(64-historyBits) == b>>(64-historyBits) }
