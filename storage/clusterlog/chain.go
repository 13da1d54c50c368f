package clusterlog

import (
	"crypto/sha256"
	"fmt"
)

// Next encodes the entry after p, and returns it with its encoded private part, which is nil if private is
// empty, and with the position after it.
func (p Position) Next(epoch uint64, batch BatchID, payload, private []byte) (encoded, sealed []byte, after Position) {
	e := Entry{Epoch: epoch, Sequence: p.Sequence + 1, Batch: batch, Previous: p.Hash, Payload: payload}
	if len(private) > 0 {
		sealed = seal(private)
		e.Sealed = sha256.Sum256(sealed)
	}
	encoded = AppendEntry(make([]byte, 0, headerBytes+len(payload)+checksumBytes), &e)
	return encoded, sealed, Position{Sequence: e.Sequence, Epoch: epoch, Hash: sha256.Sum256(encoded)}
}

// Follow decodes the entry after p, and returns it with the position after it. Its payload aliases
// encoded; its private part is not attached. The error is that of DecodeEntry, or ErrCorrupt if the entry has another
// sequence, or ErrDiverged if it is sound but does not follow p.
func (p Position) Follow(encoded []byte) (Entry, Position, error) {
	e, err := DecodeEntry(encoded)
	switch {
	case err != nil:
		return Entry{}, p, err
	case e.Sequence != p.Sequence+1:
		return Entry{}, p, fmt.Errorf("%w: entry %d in the place of %d", ErrCorrupt, e.Sequence, p.Sequence+1)
	case e.Previous != p.Hash:
		return Entry{}, p, fmt.Errorf("%w: entry %d does not follow the one before: its hash is %.4x…, want %.4x…", ErrDiverged, e.Sequence, p.Hash, e.Previous)
	case e.Epoch < p.Epoch:
		return Entry{}, p, fmt.Errorf("%w: epoch %d of entry %d after epoch %d", ErrDiverged, e.Epoch, e.Sequence, p.Epoch)
	}
	return e, Position{Sequence: e.Sequence, Epoch: e.Epoch, Hash: sha256.Sum256(encoded)}, nil
}

// Before returns an error unless p may be a place in a log that ends with head: ErrAhead, or ErrDiverged.
func (p Position) Before(head Position) error {
	switch {
	case p.Sequence > head.Sequence:
		return fmt.Errorf("%w: it has entry %d; the log ends with %d", ErrAhead, p.Sequence, head.Sequence)
	case p.Sequence == head.Sequence && p != head:
		return fmt.Errorf("%w: entry %d is another one there", ErrDiverged, p.Sequence)
	}
	return nil
}
