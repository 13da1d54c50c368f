package row

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
)

const (
	outboxVersion      = 1
	outboxStateVersion = 1
	pulledVersion      = 1

	// MaxOutboxRecordBytes bounds a record of an outbox. The largest row has 80 KB.
	MaxOutboxRecordBytes = 1 << 20

	outboxSumBytes = 4
	outboxRowBytes = 1 + 2*binary.MaxVarintLen64 + binary.MaxVarintLen32 // of a row beside its tally, at most
)

// OutboxHead is the beginning of a record of an outbox.
type OutboxHead struct {
	Position uint64 // of the record in its outbox
	MadeMs   int64  // Unix ms, not before 1970
	Sequence uint64 // of the cluster's log: every link of the record was made by an entry up to it
}

// OutboxRow is a row of a flush, as other nodes of the cluster get it.
type OutboxRow struct {
	Table byte // TableLinkHours or TableOwnerHours
	Hour  uint32
	ID    uint64 // of the link, or the owner
	Tally []byte // a tally row
}

// follows reports whether r is encoded by its distance from the row before it.
func (r *OutboxRow) follows(last *OutboxRow) bool {
	return r.Table == last.Table && r.Hour == last.Hour && r.ID >= last.ID
}

// OutboxRecord encodes records of an outbox, one after the other. A record is the rows of a flush, or a
// part of them. Most rows follow one of the same hour, so their table and hour are not repeated.
//
//	┌───────────┬──────────┬─────────┬──────────┬───────┬────────────┐
//	│ version 1 │ position │ made at │ sequence │ rows… │ checksum 4 │
//	└───────────┴──────────┴─────────┴──────────┴───────┴────────────┘
//
//	row:       │ table 1 │ hour │ id │ length · tally row │
//	           │ 0       │ id − that of the last row │ length · tally row │ if it is of the same table and hour, and the id is not smaller
//
// The checksum is the CRC-32C of everything before it, little-endian. Pebble protects the record on
// disk, and it protects the record on its way to another node.
type OutboxRecord struct {
	buf  []byte
	rows int
	last OutboxRow // without its tally
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Begin begins a record.
func (o *OutboxRecord) Begin(h OutboxHead) {
	o.buf = binary.AppendUvarint(append(o.buf[:0], outboxVersion), h.Position)
	o.buf = binary.AppendUvarint(o.buf, uint64(h.MadeMs))
	o.buf = binary.AppendUvarint(o.buf, h.Sequence)
	o.rows, o.last = 0, OutboxRow{}
}

// Rows returns the number of rows so far.
func (o *OutboxRecord) Rows() int { return o.rows }

// SizeBytes returns the size of the record so far, without its checksum.
func (o *OutboxRecord) SizeBytes() int { return len(o.buf) }

// Fits reports whether there is room for a row with a tally of a size.
func (o *OutboxRecord) Fits(tallyBytes int) bool {
	return len(o.buf)+outboxRowBytes+tallyBytes+outboxSumBytes <= MaxOutboxRecordBytes
}

// Add adds a row, for which there must be room.
func (o *OutboxRecord) Add(r OutboxRow) {
	if o.rows > 0 && r.follows(&o.last) {
		o.buf = binary.AppendUvarint(append(o.buf, 0), r.ID-o.last.ID)
	} else {
		o.buf = binary.AppendUvarint(append(o.buf, r.Table), uint64(r.Hour))
		o.buf = binary.AppendUvarint(o.buf, r.ID)
	}
	o.buf = append(binary.AppendUvarint(o.buf, uint64(len(r.Tally))), r.Tally...)
	o.rows++
	o.last = OutboxRow{Table: r.Table, Hour: r.Hour, ID: r.ID}
}

// End returns the record, which is valid until the next Begin.
func (o *OutboxRecord) End() []byte {
	o.buf = binary.LittleEndian.AppendUint32(o.buf, crc32.Checksum(o.buf, castagnoli))
	return o.buf
}

// OutboxReader reads the rows of a record.
type OutboxReader struct {
	r    reader
	rows int
	row  OutboxRow
}

// ReadOutbox begins reading a record, whose checksum it compares.
func ReadOutbox(v []byte) (o OutboxReader, h OutboxHead, err error) {
	o.r = readValue("outbox record", v, outboxVersion)
	switch {
	case o.r.err != nil:
	case len(v) > MaxOutboxRecordBytes:
		o.r.fail("it is too long")
	case len(o.r.rest) < outboxSumBytes:
		o.r.fail("it ends early")
	case crc32.Checksum(v[:len(v)-outboxSumBytes], castagnoli) != binary.LittleEndian.Uint32(v[len(v)-outboxSumBytes:]):
		o.r.fail("its checksum differs")
	default:
		o.r.rest = o.r.rest[:len(o.r.rest)-outboxSumBytes]
	}
	h.Position = o.r.uvarint()
	made := o.r.uvarint()
	h.MadeMs, h.Sequence = int64(made), o.r.uvarint()
	if h.Position == 0 || made > math.MaxInt64 {
		o.r.fail("impossible position or time")
	}
	return o, h, o.r.err
}

// Next reads the next row. It returns false after the last one, and at an error.
func (o *OutboxReader) Next() bool {
	if len(o.r.rest) == 0 {
		if o.rows == 0 {
			o.r.fail("no rows")
		}
		return false
	}
	last := o.row
	switch table := o.r.byte(); {
	case table == 0 && o.rows > 0:
		distance := o.r.uvarint()
		if o.row.ID += distance; o.row.ID < distance {
			o.r.fail("id too large")
		}
	case table == TableLinkHours, table == TableOwnerHours:
		o.row = OutboxRow{Table: table, Hour: o.r.uint32(), ID: o.r.uvarint()}
		if o.rows > 0 && o.row.follows(&last) {
			o.r.fail("a row that is not in its shortest form")
		}
	default:
		o.r.fail("a row of another table")
	}
	if o.row.Table == TableOwnerHours && o.row.ID > math.MaxUint32 {
		o.r.fail("owner too large")
	}
	o.row.Tally = o.r.bytes(MaxOutboxRecordBytes)
	o.rows++
	return o.r.err == nil
}

// Row returns the row that Next has read. Its tally, which is not checked, aliases the record.
func (o *OutboxReader) Row() OutboxRow { return o.row }

// Err returns the error that has ended Next.
func (o *OutboxReader) Err() error { return o.r.err }

// CheckOutbox returns the head of a record, or an error unless everything in it can be read.
func CheckOutbox(v []byte) (OutboxHead, error) {
	o, h, err := ReadOutbox(v)
	if err != nil {
		return h, err
	}
	for o.Next() {
		if err := CheckTally(o.row.Tally); err != nil {
			return h, fmt.Errorf("outbox record: %w", err)
		}
	}
	return h, o.Err()
}

// RecordHash is the beginning of the SHA-256 of a record of an outbox. By it two nodes notice that a position has
// another record than it had: the folder of one of them was rolled back, or copied. Position 0, before the first
// record, has the zero hash.
type RecordHash [8]byte

// HashRecord returns the hash of a record.
func HashRecord(record []byte) RecordHash {
	sum := sha256.Sum256(record)
	return RecordHash(sum[:])
}

// String returns the hash in hexadecimal.
func (h RecordHash) String() string { return hex.EncodeToString(h[:]) }

// UnmarshalText is the inverse of String.
func (h *RecordHash) UnmarshalText(text []byte) error {
	if len(text) != 2*len(h) {
		return fmt.Errorf("%w: a hash of %d digits, want %d", ErrCorrupt, len(text), 2*len(h))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return fmt.Errorf("%w: a hash: %w", ErrCorrupt, err)
	}
	return nil
}

// OutboxState is the outbox of a store: its id, and its records. Those at the positions from First to
// before Next are kept; earlier ones are dropped.
type OutboxState struct {
	ID          [16]byte // random: of one history, so a copy of the store has another one
	First, Next uint64
	Bytes       uint64     // of the kept records
	Dropped     RecordHash // of the record before First

	// LacksHits: the folder was rolled back, so the tallies of this store lack hits that other nodes have.
	LacksHits bool
}

// AppendOutboxState appends the state of an outbox.
//
//	┌───────────┬───────┬───────┬──────┬───────┬───────────┬──────────────┐
//	│ version 1 │ id 16 │ first │ next │ bytes │ dropped 8 │ lacks hits 1 │
//	└───────────┴───────┴───────┴──────┴───────┴───────────┴──────────────┘
func AppendOutboxState(dst []byte, s OutboxState) []byte {
	dst = append(append(dst, outboxStateVersion), s.ID[:]...)
	dst = binary.AppendUvarint(dst, s.First)
	dst = binary.AppendUvarint(dst, s.Next)
	dst = binary.AppendUvarint(dst, s.Bytes)
	lacks := byte(0)
	if s.LacksHits {
		lacks = 1
	}
	return append(append(dst, s.Dropped[:]...), lacks)
}

// DecodeOutboxState decodes the state of an outbox.
func DecodeOutboxState(v []byte) (s OutboxState, err error) {
	r := readValue("outbox", v, outboxStateVersion)
	copy(s.ID[:], r.fixed(len(s.ID)))
	s.First, s.Next, s.Bytes = r.uvarint(), r.uvarint(), r.uvarint()
	copy(s.Dropped[:], r.fixed(len(s.Dropped)))
	lacks := r.byte()
	s.LacksHits = lacks == 1
	switch {
	case s.First == 0 || s.First > s.Next || (s.First == s.Next) != (s.Bytes == 0):
		r.fail("impossible positions")
	case s.First == 1 && s.Dropped != RecordHash{}:
		r.fail("a hash of position 0")
	case lacks > 1:
		r.fail("it lacks hits, or not")
	}
	return s, r.end()
}

// Pulled is up to where this store has applied another node's outbox.
type Pulled struct {
	Next uint64     // position of the record that comes next
	Last RecordHash // of the record before
}

// AppendPulled appends a position in another node's outbox.
//
//	┌───────────┬───────────────┬────────┐
//	│ version 1 │ next position │ last 8 │
//	└───────────┴───────────────┴────────┘
func AppendPulled(dst []byte, p Pulled) []byte {
	dst = binary.AppendUvarint(append(dst, pulledVersion), p.Next)
	return append(dst, p.Last[:]...)
}

// DecodePulled decodes a position in another node's outbox.
func DecodePulled(v []byte) (p Pulled, err error) {
	r := readValue("position in an outbox", v, pulledVersion)
	p.Next = r.uvarint()
	copy(p.Last[:], r.fixed(len(p.Last)))
	switch {
	case p.Next == 0:
		r.fail("position 0")
	case p.Next == 1 && p.Last != RecordHash{}:
		r.fail("a hash of position 0")
	}
	return p, r.end()
}

// AppendOutboxKey appends the key of a record of the outbox.
func AppendOutboxKey(dst []byte, position uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableOutbox), position)
}

// SplitOutboxKey returns the position of a record of the outbox.
func SplitOutboxKey(key []byte) (position uint64, err error) { return splitID(key, TableOutbox) }

// AppendPulledKey appends the key of the position in another node's outbox.
func AppendPulledKey(dst []byte, outbox [16]byte) []byte {
	return append(append(dst, TablePulled), outbox[:]...)
}

// SplitPulledKey returns the id of the outbox of a position.
func SplitPulledKey(key []byte) (outbox [16]byte, err error) {
	if len(key) != 1+len(outbox) || key[0] != TablePulled {
		return outbox, fmt.Errorf("%w: key %x in table %x", ErrCorrupt, key, TablePulled)
	}
	return [16]byte(key[1:]), nil
}
