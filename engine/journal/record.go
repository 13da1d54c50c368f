package journal

import (
	"shunt/engine/internal/hash"
	"shunt/engine/tally"
)

// Visit describes one redirect. It has few fields, so that it is passed in registers: the compiler
// keeps structs of at most four fields there, and amd64 has nine registers for all arguments.
type Visit struct {
	Visitor    uint64 // SipHash-2-4 of address and User-Agent under the store's key; 0 is a valid value
	NowMs      int64  // Unix ms, not before 1970
	tally.Kind        // one field for class and target, because there is no register for another
	tally.Values
}

// A record is four words of 8 bytes, little-endian:
//
//	 0           8              16      20    23        24             26      28          32
//	┌───────────┬──────────────┬───────┬─────┬─────────┬──────────────┬───────┬───────────┐
//	│ link id   │ visitor hash │ owner │hour │ country │ class,device │referrer│ checksum │
//	└───────────┴──────────────┴───────┴─────┴─────────┴──────────────┴───────┴───────────┘
//
// The link id has 48 bits; the 8 above them are the number of the target that the visitor was sent to (tally.TargetID),
// 0 if the link has one target, and the highest 8 are 0.
//
// The two bytes of class and device: bits 0 and 1 the class, 2 counted, 3 void, 4 to 7 the device,
// 8 to 15 the browser.
const (
	classMask     = 0b11
	countedBit    = 0b100
	voidBit       = 0b1000
	agentShift    = 4
	referrerShift = 16
	checksumShift = 32
)

// Words are the words of a record. The last word has the checksum only in a slot.
type Words [recordWords]uint64

// Record is a record decoded: one redirect.
type Record struct {
	LinkID  uint64
	Visitor uint64
	Owner   uint32
	Hour    uint32 // Unix time / 3600, 24 bits: until the year 3883
	Target  uint8  // its number, of a hit of a link with several targets; else 0
	Class   tally.Class
	Counted bool // the link's counter was raised when this was recorded, so the reader must not raise it
	Void    bool // not a hit: the visit was refused after its slot was reserved
	tally.Values
}

// PackOwner returns the third word of a visit's record: owner, hour and country.
func (v Visit) PackOwner(owner uint32) uint64 {
	return uint64(owner) | uint64(v.NowMs)/(3600*1000)&0xffffff<<32 | uint64(v.Country)<<56
}

// PackClass returns the fourth word, without its checksum: class, device, browser and referrer.
func (v Visit) PackClass() uint64 {
	return uint64(v.Class()) | uint64(v.Agent&tally.AgentMask)<<agentShift | uint64(v.Referrer)<<referrerShift
}

// Words returns the words of a visit's record.
func (v Visit) Words(linkID uint64, owner uint32) Words {
	return Words{tally.TargetID(linkID, v.Target()), v.Visitor, v.PackOwner(owner), v.PackClass()}
}

// Void returns the words of a void record.
func Void() Words { return Words{recordWords - 1: voidBit} }

// SetCounted marks the record as counted: its link's counter was raised already.
func (w *Words) SetCounted() { w[recordWords-1] |= countedBit }

func (r *Record) unpack(w *Words) {
	r.LinkID, r.Target = tally.SplitID(w[0])
	r.Visitor = w[1]
	r.Owner, r.Hour, r.Country = uint32(w[2]), uint32(w[2]>>32)&0xffffff, tally.Country(w[2]>>56)
	r.Class, r.Counted, r.Void = tally.Class(w[3]&classMask), w[3]&countedBit != 0, w[3]&voidBit != 0
	r.Agent, r.Referrer = tally.Agent(w[3]>>agentShift)&tally.AgentMask, uint16(w[3]>>referrerShift)
}

// unpackIf unpacks the words of a slot if they prove to be the record with sequence number seq of
// an epoch. An empty slot is none, although zeros are the checksum of zeros for one sequence number in 2^32: a start
// reads up to two million empty slots.
func (r *Record) unpackIf(w *Words, epoch, seq uint64) bool {
	if !w.prove(epoch, seq) || w[0]|w[1]|w[2]|w[3] == 0 {
		return false
	}
	r.unpack(w)
	return true
}

// prove reports whether the words of a slot have the checksum of the record with a sequence number.
func (w *Words) prove(epoch, seq uint64) bool {
	return uint32(w[3]>>checksumShift) == checksum(w, epoch, seq)
}

// checksum covers the record, the epoch and the full sequence number, so that a slot of an earlier
// lap, of an earlier epoch, or half written is not taken for a record. It mixes by folded 64×64-bit
// multiplications, as wyhash does.
func checksum(w *Words, epoch, seq uint64) uint32 {
	return uint32(seal(Digest(w[0], w[1], w[2], w[3]&(1<<checksumShift-1)), epoch, seq))
}

// Digest returns the hash of a record's words alone, the last without its checksum. It is separate
// from Ring.Seal so that both are inlined.
func Digest(w0, w1, w2, w3 uint64) uint64 {
	h := hash.Mix(w0^0x9e3779b97f4a7c15, w1^0xd1b54a32d192ed03)
	return hash.Mix(h^w2, w3^0x8cb92ba72f3d8dd7)
}

// seal returns the checksum, in the low 32 bits, of the record with this digest.
func seal(digest, epoch, seq uint64) uint64 {
	h := hash.Mix(digest^epoch^0xaef17502108ef2d9, seq^0xd6e8feb86659fd93)
	return h ^ h>>32
}
