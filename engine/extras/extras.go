package extras

import (
	"cmp"
	"encoding/binary"
	"errors"

	"shunt/engine/internal/limits"
)

// The parts of a blob. A number has one meaning for ever.
const (
	startsAt = 1 + iota
	expiredURL
	bits
	own
	rules
	split
	lock

	known // parts from this number on are those of newer programs
)

// Query is what becomes of the query after the code of a link that forwards it.
type Query uint8

const (
	Append   Query = iota // it is put after that of the target
	Override              // the same, and a parameter of the target goes if the visitor sends one of its name
	Keep                  // the same, without the parameters whose names the target has

	queryBits      = 0b11 // of the byte of bits
	forwardPathBit = 1 << 2
	cardBit        = 1 << 3
)

// headBytes is the size of the number and the length of a part.
const headBytes = 3

// MaxBytes bounds a blob.
const MaxBytes = limits.MaxExtrasBytes

// Fields is what a blob says. Two are equal if their blobs are.
type Fields struct {
	StartsAtMs int64  // before it the link looks unknown; Unix milliseconds; 0: it has started
	ExpiredURL string // where visitors are sent once the link is over; at most limits.MaxTargetBytes; empty: nowhere
	Query      Query

	ForwardPath bool // what follows the code in the path is added to the path of the target
	Card        bool // programs that show previews of links get a card; the cold record has its texts

	Target uint8   // the number of the link's own address, if it decides; else 0
	Rules  []Rule  // at most MaxRules
	Split  []Share // MinShares to MaxShares; nil: none

	Lock uint64 // not 0: visitors must type a password, with which the number changes
}

// ErrMalformed: the bytes are not a blob that this program writes.
var ErrMalformed = errors.New("malformed extras")

// Append appends the blob of f to dst: nothing if f is empty.
func (f *Fields) Append(dst []byte) []byte {
	if f.StartsAtMs != 0 {
		dst = binary.LittleEndian.AppendUint64(appendHead(dst, startsAt, 8), uint64(f.StartsAtMs))
	}
	if f.ExpiredURL != "" {
		dst = append(appendHead(dst, expiredURL, len(f.ExpiredURL)), f.ExpiredURL...)
	}
	if b := f.bits(); b != 0 {
		dst = append(appendHead(dst, bits, 1), b)
	}
	if f.Target != 0 {
		dst = append(appendHead(dst, own, 1), f.Target)
	}
	if len(f.Rules) > 0 {
		b := appendRules(nil, f.Rules)
		dst = append(appendHead(dst, rules, len(b)), b...)
	}
	if len(f.Split) > 0 {
		b := appendSplit(nil, f.Split)
		dst = append(appendHead(dst, split, len(b)), b...)
	}
	if f.Lock != 0 {
		dst = binary.LittleEndian.AppendUint64(appendHead(dst, lock, 8), f.Lock)
	}
	return dst
}

func (f *Fields) bits() (b byte) {
	if b = byte(f.Query); f.ForwardPath {
		b |= forwardPathBit
	}
	if f.Card {
		b |= cardBit
	}
	return b
}

func appendHead(dst []byte, part byte, sizeBytes int) []byte {
	return binary.LittleEndian.AppendUint16(append(dst, part), uint16(sizeBytes))
}

// Read returns what a blob says. It returns ErrMalformed unless Append makes the same bytes of it.
func Read[Bytes string | []byte](blob Bytes) (f Fields, err error) {
	if f, err = ReadUnnumbered(blob); err == nil && !f.numbered() {
		return Fields{}, ErrMalformed
	}
	return f, err
}

// ReadUnnumbered is Read of the blob of a link that is being written, whose targets may lack numbers.
func ReadUnnumbered[Bytes string | []byte](blob Bytes) (Fields, error) {
	f, wrong := ReadBegun(blob)
	if wrong != "" {
		return Fields{}, ErrMalformed
	}
	return f, nil
}

// partNames are what links call the parts that somebody can get wrong.
var partNames = [known]string{startsAt: "starts_at", expiredURL: "expired_url", rules: "rules", split: "split"}

// noPart is the name of all else that can be wrong with a blob.
const noPart = "blob"

// ReadBegun is ReadUnnumbered of a blob that may have parts which say what no link may have. It reads them, too, as far
// as it can. wrong is the name of the first one; empty: there is none.
func ReadBegun[Bytes string | []byte](blob Bytes) (f Fields, wrong string) {
	if len(blob) > MaxBytes {
		return Fields{}, noPart
	}
	for before := byte(0); len(blob) > 0; {
		if len(blob) < headBytes {
			return Fields{}, noPart
		}
		part, sizeBytes := blob[0], int(blob[1])|int(blob[2])<<8
		if part <= before || part >= known || sizeBytes > len(blob)-headBytes {
			return Fields{}, noPart
		}
		if !f.read(part, string(blob[headBytes:headBytes+sizeBytes])) {
			wrong = cmp.Or(wrong, partNames[part], noPart)
		}
		before, blob = part, blob[headBytes+sizeBytes:]
	}
	return f, wrong
}

// read takes the bytes of a part into f. It returns false if they are not what Append writes.
func (f *Fields) read(part byte, b string) (ok bool) {
	switch part {
	case startsAt:
		if len(b) != 8 {
			return false
		}
		f.StartsAtMs = int64(binary.LittleEndian.Uint64([]byte(b)))
		return f.StartsAtMs > 0
	case expiredURL:
		f.ExpiredURL = b
		return 0 < len(b) && len(b) <= limits.MaxTargetBytes
	case bits:
		if len(b) != 1 {
			return false
		}
		f.Query, f.ForwardPath, f.Card = Query(b[0]&queryBits), b[0]&forwardPathBit != 0, b[0]&cardBit != 0
		return b[0] != 0 && b[0] == f.bits() && f.Query <= Keep
	case own:
		if len(b) == 1 {
			f.Target = b[0]
		}
		return f.Target != 0
	case rules:
		f.Rules, ok = readRules([]byte(b))
	case split:
		f.Split, ok = readSplit([]byte(b))
	case lock:
		if len(b) == 8 {
			f.Lock = binary.LittleEndian.Uint64([]byte(b))
		}
		return f.Lock != 0
	}
	return ok
}

// The readers of a redirect. The blob must be one that Read accepts; nil has no parts.

// StartsAtMs returns when a link starts, in Unix milliseconds; 0: it has started.
func StartsAtMs(blob []byte) int64 {
	if b := find(blob, startsAt); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// ExpiredURL returns where visitors are sent once a link is over, which aliases the blob; nil: nowhere.
func ExpiredURL(blob []byte) []byte { return find(blob, expiredURL) }

// QueryOf returns what becomes of the query after the code.
func QueryOf(blob []byte) Query {
	if b := find(blob, bits); b != nil {
		return Query(b[0] & queryBits)
	}
	return Append
}

// ForwardsPath reports whether what follows the code in the path is added to the path of the target.
func ForwardsPath(blob []byte) bool {
	b := find(blob, bits)
	return b != nil && b[0]&forwardPathBit != 0
}

// HasCard reports whether programs that show previews of links get a card.
func HasCard(blob []byte) bool {
	b := find(blob, bits)
	return b != nil && b[0]&cardBit != 0
}

// Target returns the number of the link's own address; 0: the link has no other target.
func Target(blob []byte) uint8 {
	if b := find(blob, own); b != nil {
		return b[0]
	}
	return 0
}

// Rules returns the rules of a link, for CutRule; nil: it has none.
func Rules(blob []byte) []byte { return find(blob, rules) }

// Split returns the split of a link, for CutShare; nil: it has none.
func Split(blob []byte) []byte { return find(blob, split) }

// Lock returns the number that changes with the password of a link; 0: it has no password.
func Lock(blob []byte) uint64 {
	if b := find(blob, lock); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// find returns the bytes of a part, which alias the blob; nil: it has no such part.
func find(blob []byte, part byte) []byte {
	for len(blob) > 0 {
		end := headBytes + int(binary.LittleEndian.Uint16(blob[1:]))
		if blob[0] == part {
			return blob[headBytes:end]
		}
		blob = blob[end:]
	}
	return nil
}
