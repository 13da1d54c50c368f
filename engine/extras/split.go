package extras

import "encoding/binary"

// Limits of a split.
const (
	MinShares = 2
	MaxShares = 10
	MaxWeight = 1000 // of a share; the least is 1
)

// A Share is a target of a split: of all visitors it gets its weight's part of the sum of weights.
type Share struct {
	URL    string
	Weight uint16
	Target uint8 // as that of a Rule
}

const shareHeadBytes = 5 // the number, the weight, the size of the address

// A ShareView is a share in a blob, which it aliases.
type ShareView struct {
	Target uint8
	Weight uint16
	URL    []byte
}

// CutShare returns the first share of a split and the others. Of a split that a blob has, ok is false after the last.
func CutShare(split []byte) (first ShareView, rest []byte, ok bool) {
	if len(split) < shareHeadBytes {
		return first, split, false
	}
	after := shareHeadBytes + int(binary.LittleEndian.Uint16(split[3:]))
	if after > len(split) {
		return first, split, false
	}
	return ShareView{split[0], binary.LittleEndian.Uint16(split[1:]), split[shareHeadBytes:after]}, split[after:], true
}

func appendSplit(dst []byte, split []Share) []byte {
	for _, s := range split {
		dst = binary.LittleEndian.AppendUint16(append(dst, s.Target), s.Weight)
		dst = append(binary.LittleEndian.AppendUint16(dst, uint16(len(s.URL))), s.URL...)
	}
	return dst
}

// readSplit returns the split that a blob has. ok is false if it is not what appendSplit writes.
func readSplit(b []byte) (split []Share, ok bool) {
	if len(b) > MaxDecidingBytes {
		return nil, false
	}
	for len(b) > 0 {
		var s ShareView
		if s, b, ok = CutShare(b); !ok || s.Weight == 0 || s.Weight > MaxWeight || !isAddress(s.URL) {
			return nil, false
		}
		split = append(split, Share{string(s.URL), s.Weight, s.Target})
	}
	return split, MinShares <= len(split) && len(split) <= MaxShares
}
