package clusterlog

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// ID names a cluster. It is drawn at random when the cluster's log is made.
type ID [16]byte

// NewID draws an ID.
func NewID() (id ID) {
	rand.Read(id[:]) // never fails
	return id
}

// String returns the ID in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID is the inverse of String.
func ParseID(text []byte) (id ID, err error) {
	if err := fromHex(id[:], text); err != nil {
		return ID{}, fmt.Errorf("%w: cluster id: %w", ErrCorrupt, err)
	}
	return id, nil
}

// Fingerprint stands for a secret that all nodes of a cluster share, and does not reveal it.
type Fingerprint [16]byte

// FingerprintOf returns the fingerprint of the key by which the nodes know visitors. With another key
// a node would count each visitor again.
func FingerprintOf(visitorKey [16]byte) (f Fingerprint) {
	sum := sha256.Sum256(append([]byte("shunt visitor key\n"), visitorKey[:]...))
	copy(f[:], sum[:])
	return f
}

// String returns the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// ParseFingerprint is the inverse of String.
func ParseFingerprint(text []byte) (f Fingerprint, err error) {
	if err := fromHex(f[:], text); err != nil {
		return Fingerprint{}, fmt.Errorf("%w: fingerprint: %w", ErrCorrupt, err)
	}
	return f, nil
}

// BatchID names a group of mutations that one entry carries. The one who appends draws it at random,
// and knows the entry by it when it follows the log.
type BatchID [16]byte

// NewBatchID draws a BatchID.
func NewBatchID() (id BatchID) {
	rand.Read(id[:]) // never fails
	return id
}

// Hash is the SHA-256 of an encoded entry.
type Hash [sha256.Size]byte

// Position is a place in the log: just after the entry Sequence, which Epoch wrote. Hash is that
// entry's, and so stands for all entries up to it. A follower keeps its position in the batch that
// applies the entry.
type Position struct {
	Sequence uint64
	Epoch    uint64
	Hash     Hash
}

// Origin returns the position before the first entry of a cluster's log. Its hash is made of the
// cluster's ID, so that the entries of two clusters never form one chain.
func Origin(id ID) Position {
	return Position{Hash: sha256.Sum256(append([]byte("shunt log\n"), id[:]...))}
}

// positionBytes is the size of a position's text: 16, 16 and 64 digits, and two spaces.
const positionBytes = 16 + 1 + 16 + 1 + 2*sha256.Size

// AppendText appends the position as text of a fixed width, so that equal positions are equal
// bytes: sequence, epoch and hash in hexadecimal.
func (p Position) AppendText(dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, "%016x %016x %x", p.Sequence, p.Epoch, p.Hash), nil
}

// String returns what AppendText appends.
func (p Position) String() string {
	text, _ := p.AppendText(nil)
	return string(text)
}

// ParsePosition is the inverse of String. It accepts nothing else.
func ParsePosition(text []byte) (p Position, err error) {
	var numbers [16]byte
	if len(text) != positionBytes || text[16] != ' ' || text[33] != ' ' {
		err = fmt.Errorf("%d bytes", len(text))
	} else if err = fromHex(numbers[:8], text[:16]); err == nil {
		if err = fromHex(numbers[8:], text[17:33]); err == nil {
			err = fromHex(p.Hash[:], text[34:])
		}
	}
	if err != nil {
		return Position{}, fmt.Errorf("%w: position: %w", ErrCorrupt, err)
	}
	p.Sequence, p.Epoch = binary.BigEndian.Uint64(numbers[:]), binary.BigEndian.Uint64(numbers[8:])
	return p, nil
}

// fromHex decodes lower-case digits that fill dst exactly.
func fromHex(dst, text []byte) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return fmt.Errorf("%d digits, want %d", len(text), hex.EncodedLen(len(dst)))
	}
	for _, c := range text {
		if c >= 'A' && c <= 'F' {
			return hex.InvalidByteError(c)
		}
	}
	_, err := hex.Decode(dst, text)
	return err
}
