package row

import (
	"encoding/binary"
	"fmt"
)

const (
	edgeLogVersion = 1
	edgeVersion    = 1

	// MaxEdgeOutboxes is how many outboxes are kept of an edge: one whose disk was lost begins another.
	MaxEdgeOutboxes = 8

	// MaxEdgeNameBytes bounds the name of an edge.
	MaxEdgeNameBytes = 63
)

// EdgeLog is the state of the log that a writer keeps for its edges. Its entries are those after First − 1, up to
// LogPosition.Sequence. Without a log, LogPosition.Cluster is zero, and the sequence is the last that was used.
type EdgeLog struct {
	LogPosition        // after the last entry; Cluster is the id of the log
	First       uint64 // sequence of the first entry that is kept, or of the next if there is none
	Bytes       uint64 // of the entries that are kept
}

// AppendEdgeLog appends the state of a writer's log.
//
//	┌───────────┬────────┬──────────┬───────┬─────────┬───────┬───────┐
//	│ version 1 │ log 16 │ sequence │ epoch │ hash 32 │ first │ bytes │
//	└───────────┴────────┴──────────┴───────┴─────────┴───────┴───────┘
func AppendEdgeLog(dst []byte, l *EdgeLog) []byte {
	dst = append(append(dst, edgeLogVersion), l.Cluster[:]...)
	dst = binary.AppendUvarint(dst, l.Sequence)
	dst = binary.AppendUvarint(dst, l.Epoch)
	dst = append(dst, l.Hash[:]...)
	dst = binary.AppendUvarint(dst, l.First)
	return binary.AppendUvarint(dst, l.Bytes)
}

// DecodeEdgeLog decodes the state of a writer's log.
func DecodeEdgeLog(v []byte) (EdgeLog, error) {
	r := readValue("log for edges", v, edgeLogVersion)
	var l EdgeLog
	copy(l.Cluster[:], r.fixed(len(l.Cluster)))
	l.Sequence, l.Epoch = r.uvarint(), r.uvarint()
	copy(l.Hash[:], r.fixed(len(l.Hash)))
	l.First, l.Bytes = r.uvarint(), r.uvarint()
	if r.err == nil && (l.First > l.Sequence+1 || (l.First == l.Sequence+1) != (l.Bytes == 0)) {
		r.fail(fmt.Sprintf("%d bytes from %d to %d", l.Bytes, l.First, l.Sequence))
	}
	return l, r.end()
}

// AppendEdgeEntryKey appends the key of an entry of a writer's log.
func AppendEdgeEntryKey(dst []byte, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableEdgeLog), sequence)
}

// SplitEdgeEntryKey returns the sequence of an entry of a writer's log.
func SplitEdgeEntryKey(key []byte) (sequence uint64, err error) { return splitID(key, TableEdgeLog) }

// AppendEdgeKey appends the key of what a writer knows of an edge.
func AppendEdgeKey(dst []byte, name string) []byte { return append(append(dst, TableEdges), name...) }

// SplitEdgeKey returns the name of an edge.
func SplitEdgeKey(key []byte) (name string, err error) {
	if len(key) < 2 || len(key) > 1+MaxEdgeNameBytes || key[0] != TableEdges {
		return "", fmt.Errorf("%w: key %x in the table of edges", ErrCorrupt, key)
	}
	return string(key[1:]), nil
}

// AppendEdge appends the ids of the outboxes of an edge that its writer knows, the latest last. They are those under
// which it keeps its positions (TablePulled).
//
//	┌───────────┬───────────────────┐
//	│ version 1 │ outboxes, 16 each │
//	└───────────┴───────────────────┘
func AppendEdge(dst []byte, outboxes [][16]byte) []byte {
	dst = append(dst, edgeVersion)
	for i := range outboxes {
		dst = append(dst, outboxes[i][:]...)
	}
	return dst
}

// DecodeEdge decodes the outboxes of an edge.
func DecodeEdge(v []byte) (outboxes [][16]byte, err error) {
	r := readValue("edge", v, edgeVersion)
	if n := len(r.rest); r.err == nil && (n == 0 || n%16 != 0 || n/16 > MaxEdgeOutboxes) {
		r.fail(fmt.Sprintf("%d bytes of outboxes", n))
	}
	for r.err == nil && len(r.rest) > 0 {
		outboxes = append(outboxes, [16]byte(r.fixed(16)))
	}
	return outboxes, r.end()
}
