package clusterlog

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// MaxPayloadBytes is the size of the largest payload together with its private part. Measured: entries of 64 to 256 KiB
// give the most writes a second; larger ones delay the followers' heartbeats.
const MaxPayloadBytes = 256 << 10

// MaxEntryBytes is the size of the largest encoded entry.
const MaxEntryBytes = headerBytes + MaxPayloadBytes + checksumBytes

const (
	entryVersion = 1

	headerBytes   = 1 + 8 + 8 + 16 + 2*sha256.Size + 4
	checksumBytes = 4
	saltBytes     = 16 // before a private part, so that its hash does not confirm a guess of its contents
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is one entry of the log.
type Entry struct {
	Epoch    uint64 // of the leadership that wrote it
	Sequence uint64 // 1, 2, 3 …
	Batch    BatchID
	Previous Hash   // of the entry before, or of the origin
	Sealed   Hash   // of the encoded private part; zero: there is none
	Payload  []byte // what all nodes read
	Private  []byte // what only full nodes read; nil before Attach
}

// Attach gives an entry its encoded private part, which the entry aliases from then on. The error is
// ErrCorrupt unless it is exactly the one that was written with the entry.
func (e *Entry) Attach(private []byte) error {
	if sum := Hash(sha256.Sum256(private)); e.Sealed == (Hash{}) || sum != e.Sealed || len(private) <= saltBytes {
		return fmt.Errorf("%w: the private part of entry %d has %d bytes and the hash %.4x…, want %.4x…", ErrCorrupt, e.Sequence, len(private), sum, e.Sealed)
	}
	e.Private = private[saltBytes:]
	return nil
}

// Whole reports whether an entry has no private part, or has it attached.
func (e *Entry) Whole() bool { return e.Sealed == Hash{} || e.Private != nil }

// seal encodes a private part that is not empty.
func seal(private []byte) []byte {
	encoded := make([]byte, saltBytes, saltBytes+len(private))
	rand.Read(encoded) // never fails
	return append(encoded, private...)
}

// AppendEntry appends the encoding of e without its private part. Its payload must have at most MaxPayloadBytes.
func AppendEntry(dst []byte, e *Entry) []byte {
	start := len(dst)
	dst = append(dst, entryVersion)
	dst = binary.BigEndian.AppendUint64(dst, e.Epoch)
	dst = binary.BigEndian.AppendUint64(dst, e.Sequence)
	dst = append(dst, e.Batch[:]...)
	dst = append(dst, e.Previous[:]...)
	dst = append(dst, e.Sealed[:]...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Payload)))
	dst = append(dst, e.Payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// DecodeEntry decodes an entry; its payload aliases v. It accepts exactly what AppendEntry makes.
// The error is ErrCorrupt, or ErrNewerVersion if the checksum of an entry of another version is
// right.
func DecodeEntry(v []byte) (e Entry, err error) {
	if len(v) < 1+checksumBytes || len(v) > MaxEntryBytes {
		return Entry{}, fmt.Errorf("%w: an entry of %d bytes", ErrCorrupt, len(v))
	}
	body, sum := v[:len(v)-checksumBytes], binary.BigEndian.Uint32(v[len(v)-checksumBytes:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return Entry{}, fmt.Errorf("%w: checksum of an entry: %08x, want %08x", ErrCorrupt, got, sum)
	}
	if v[0] > entryVersion {
		return Entry{}, fmt.Errorf("%w: entry of version %d; this program knows version %d", ErrNewerVersion, v[0], entryVersion)
	}
	if v[0] != entryVersion || len(body) < headerBytes {
		return Entry{}, fmt.Errorf("%w: an entry of version %d, %d bytes", ErrCorrupt, v[0], len(v))
	}
	e.Epoch = binary.BigEndian.Uint64(v[1:])
	e.Sequence = binary.BigEndian.Uint64(v[9:])
	copy(e.Batch[:], v[17:])
	copy(e.Previous[:], v[33:])
	copy(e.Sealed[:], v[33+sha256.Size:])
	if n := binary.BigEndian.Uint32(v[headerBytes-4:]); int64(n) != int64(len(body)-headerBytes) {
		return Entry{}, fmt.Errorf("%w: an entry says %d bytes and has %d", ErrCorrupt, n, len(body)-headerBytes)
	}
	e.Payload = body[headerBytes:len(body):len(body)]
	return e, nil
}
