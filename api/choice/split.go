package choice

import (
	"math"

	"shunt/engine/extras"
)

// ByWeight returns the address and the number of the share of a split that a visitor of a link gets.
func ByWeight(split []byte, visitor, link uint64) (url []byte, target uint8) {
	best := -1.0
	for share, rest, ok := extras.CutShare(split); ok; share, rest, ok = extras.CutShare(rest) {
		if score := float64(share.Weight) / -math.Log(draw(visitor, link, share.Target)); score > best {
			best, url, target = score, share.URL, share.Target
		}
	}
	return url, target
}

// draw returns a number between 0 and 1, neither of which it is. A visitor is a keyed hash already; mix makes draws of
// neighbouring links and shares independent of each other.
func draw(visitor, link uint64, target uint8) float64 {
	h := mix(mix(visitor^mix(link)) + uint64(target))
	return (float64(h>>12) + 0.5) / (1 << 52)
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014), after the addition of its constant.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
