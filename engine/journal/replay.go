package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"syscall"
)

// Replayed counts what a replay found in the files of an earlier run.
type Replayed struct {
	Records uint64  // valid records that the store did not contain yet
	Invalid uint64  // slots without a record: torn, or reserved and never written
	Lost    uint64  // records overwritten under a stall before they were in the store
	Faults  []error // one for each file that cannot be used, or only in part; the error names it
}

// Replay calls fn for every record of p's epoch that the store does not contain. It skips what it
// cannot read and reports that in the result; a file of a newer format is an error, and so is an
// error of fn. passed are the positions of the rings below which all records were given to fn in
// earlier calls. A caller that commits those records together with passed can start another replay
// from there. passed is valid only during the call.
//
// Files are only read, never mapped, so that files of a read-only folder and of a file system
// without mmap can be replayed.
func (d *Folder) Replay(p Positions, fn func(passed []uint64, r *Record) error) (Replayed, error) {
	var res Replayed
	passed := slices.Clone(p.Rings)
	for i := range p.OnDisk() {
		path := d.ring(p.Epoch, i)
		r, err := openOldRing(path, ringHeader{storeID: d.storeID, epoch: p.Epoch, index: uint32(i)})
		switch {
		case errors.Is(err, errNewerRing):
			return res, err
		case err != nil:
			res.Faults = append(res.Faults, err)
			continue
		}
		err = r.replay(&passed[i], &res, func(r *Record) error { return fn(passed, r) })
		if r.fault != nil {
			res.Faults = append(res.Faults, fmt.Errorf("%s: %w", path, r.fault))
		}
		if err = errors.Join(err, r.file.Close()); err != nil {
			return res, err
		}
	}
	return res, nil
}

const (
	chunkRecords = 1 << 11 // 64 KiB
	noChunk      = math.MaxUint64
)

// oldRing is the journal file of an earlier run.
type oldRing struct {
	file  *os.File
	epoch uint64
	size  uint64
	head  uint64

	chunk   [chunkRecords * slotBytes]byte
	chunkAt uint64 // number of the chunk in chunk, or noChunk
	fault   error  // why a part of the file cannot be used; nil: all can
}

// openOld opens a file of an earlier run for reading. Anything but a regular file is an error: a
// pipe in its place would never answer.
func openOld(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openOldRing opens the journal file that want names. Its size may differ: rings of another run may
// have been larger.
func openOldRing(path string, want ringHeader) (*oldRing, error) {
	f, err := openOld(path)
	if err != nil {
		return nil, err
	}
	r := &oldRing{file: f, chunkAt: noChunk}
	if err := r.readHeader(want); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *oldRing) readHeader(want ringHeader) error {
	b := make([]byte, ringHeaderBytes)
	if _, err := r.file.ReadAt(b, 0); err != nil {
		return fmt.Errorf("%w: reading its header: %w", errForeignRing, err)
	}
	var h ringHeader
	if err := h.decode(b); err != nil {
		return err
	}
	if h.storeID != want.storeID || h.epoch != want.epoch || h.index != want.index {
		return fmt.Errorf("%w, but of store %x, epoch %d, ring %d", errForeignRing, h.storeID, h.epoch, h.index)
	}
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != h.fileBytes() {
		r.fault = fmt.Errorf("it has %d bytes, but %d by its header", info.Size(), h.fileBytes())
	}
	r.epoch, r.size, r.head = h.epoch, uint64(h.records), binary.LittleEndian.Uint64(b[ringHeadOffset:])
	return nil
}

// replay reads the slots of [position, position + size), which are all records unless the store
// stalled; if it did, also those of [head − size, head). Records prove themselves by their
// checksums, so a head that is damaged, or was not written back before a power cut, loses no record
// of the first range.
func (r *oldRing) replay(position *uint64, res *Replayed, fn func(*Record) error) error {
	from := *position
	if err := r.replayRange(from, from+r.size, position, res, fn); err != nil || r.head <= from+r.size {
		return err
	}
	read := res.Records
	if err := r.replayRange(max(from+r.size, r.head-r.size), r.head, position, res, fn); err != nil {
		return err
	}
	if res.Records > read { // otherwise nothing proves this head
		res.Lost += r.head - r.size - from
	}
	return nil
}

// replayRange moves position past each record that fn took.
func (r *oldRing) replayRange(from, to uint64, position *uint64, res *Replayed, fn func(*Record) error) error {
	var rec Record
	for seq := from; seq < to; seq++ {
		if !r.read(seq, &rec) {
			if seq < r.head && seq+r.size >= r.head {
				res.Invalid++
			}
			continue
		}
		if err := fn(&rec); err != nil {
			return err
		}
		res.Records++
		*position = seq + 1
	}
	return nil
}

// read does what Ring.read does, for a file that nobody writes to. It also reads slots beyond the head, which have
// records of the lap before as a rule. One of 2^32 of these would pass for a new record, and its hit count twice.
func (r *oldRing) read(seq uint64, rec *Record) (ok bool) {
	slot := seq & (r.size - 1)
	if at := slot / chunkRecords; at != r.chunkAt {
		r.readChunk(at)
	}
	b := r.chunk[slot%chunkRecords*slotBytes:][:slotBytes]
	var w Words
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	if seq >= r.head && seq >= r.size && w.prove(r.epoch, seq-r.size) { // of the lap before, whose checksum fits by chance
		return false
	}
	return rec.unpackIf(&w, r.epoch, seq)
}

// readChunk reads chunk number at. Slots that cannot be read become zeros, which are not a record.
func (r *oldRing) readChunk(at uint64) {
	n, err := r.file.ReadAt(r.chunk[:], ringHeaderBytes+int64(at)*int64(len(r.chunk)))
	clear(r.chunk[n:])
	r.chunkAt = at
	if err != nil && !errors.Is(err, io.EOF) && r.fault == nil {
		r.fault = err
	}
}
