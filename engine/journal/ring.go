package journal

import (
	"os"
	"sync/atomic"
	"unsafe"

	"shunt/engine/internal/mmap"
)

const (
	recordWords     = 4
	slotBytes       = 8 * recordWords
	ringHeaderBytes = 4096
	ringFormat      = 1
	ringHashBits    = 5
	pageBytes       = 4096
)

// Ring is one mapped journal file, or the same in the memory of the process (a standby ring). Any
// number of writers append at once; one reader at a time reads. Sequence numbers count from 0 in each
// epoch and never wrap.
type Ring struct {
	// Written by writers.
	head *atomic.Uint64 // in the mapping: the next sequence number to reserve
	_    [56]byte

	// Written by the reader side, read by writers.
	limit     atomic.Uint64 // writers reserve below it: the freed records plus size
	lookAgain atomic.Int32  // not 0: see LookAgain
	_         [48]byte

	// Constant.
	slots []atomic.Uint64 // size × recordWords words of the mapping; the last of a slot makes it a record
	mask  uint64
	size  uint64
	epoch uint64

	// The reader's, guarded by its mutex.
	folded uint64 // records below it were read

	// The reader's; read by metrics.
	committed atomic.Uint64 // records below it are durable elsewhere
	flushed   atomic.Uint64 // the most records that one Commit has freed

	// The keeper's; read by Keeper.Watch.
	keptFrom, kept atomic.Uint64 // the pages of the slots of these records are writable

	file    *os.File // nil: a standby ring, in the memory of the process
	mapping []byte   // unmapped only once the ring is unreachable, so a late writer can still use it
}

// Append reserves a slot and publishes the record in it. If the ring is full, it returns false and
// has changed nothing. Between the reservation and the last store nothing may panic, allocate or
// block: until that store the reader stops before this slot. Reserve and Put do the same in two
// steps. A caller that needs all of it inlined calls Reserve, Digest, Seal and Store.
func (r *Ring) Append(w *Words) bool {
	for {
		seq, ok := r.Reserve()
		if ok {
			r.Put(seq, w)
			return true
		}
		if r.Full(seq) {
			return false
		}
	}
}

// Reserve takes the next sequence number. It fails if the ring is full, or if another writer was
// faster: Full says which.
func (r *Ring) Reserve() (seq uint64, ok bool) {
	head := r.head
	seq = head.Load()
	return seq, seq < r.limit.Load() && head.CompareAndSwap(seq, seq+1)
}

// Full reports whether seq, with which Reserve failed, may not be reserved yet.
func (r *Ring) Full(seq uint64) bool { return seq >= r.limit.Load() }

// LookAgain reports whether a writer that has reserved a slot must check again what it knew of the
// link before it stores the record: see Journal.LookAgain.
func (r *Ring) LookAgain() bool { return r.lookAgain.Load() != 0 }

// Put publishes the record in the slot of a sequence number that the caller has reserved.
func (r *Ring) Put(seq uint64, w *Words) {
	r.Store(seq, w[0], w[1], w[2], w[3]|r.Seal(seq, Digest(w[0], w[1], w[2], w[3])))
}

// Seal returns the checksum of the record with a sequence number, at its position in the last word.
func (r *Ring) Seal(seq, digest uint64) uint64 { return seal(digest, r.epoch, seq) << checksumShift }

// Store stores the words of a record in the slot of a sequence number that the caller has reserved.
// The word with the checksum is last, for two reasons: a later store could land in the record of
// the next lap, because this one may be read and its slot free by then; and Folder.Check
// recognises by that word a record that was cut off.
func (r *Ring) Store(seq, w0, w1, w2, w3 uint64) {
	slot := r.slot(seq)
	mmap.StoreWord(&slot[0], w0)
	mmap.StoreWord(&slot[1], w1)
	mmap.StoreWord(&slot[2], w2)
	mmap.StoreLast(&slot[3], w3)
}

// A slot is where the words of a record are in the mapping.
type slot [recordWords]atomic.Uint64

// slot returns the words of the slot of a sequence number. It needs no bounds check, because a ring
// has a slot for each value of its mask.
func (r *Ring) slot(seq uint64) *slot {
	return (*slot)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.slots)), seq&r.mask*slotBytes))
}

// read decodes the record with sequence number seq. It returns false if the slot does not have it
// (yet, or any more).
func (r *Ring) read(seq uint64, rec *Record) (ok bool) {
	slot := r.slot(seq)
	var w Words
	w[3] = slot[3].Load()
	w[0] = slot[0].Load()
	w[1] = slot[1].Load()
	w[2] = slot[2].Load()
	return rec.unpackIf(&w, r.epoch, seq)
}

// Next reads the first record that was not read yet, and moves past it. It returns false if that
// record is not published yet. One goroutine at a time may call Next and Folded.
func (r *Ring) Next(rec *Record) bool {
	if !r.read(r.folded, rec) {
		return false
	}
	r.folded++
	return true
}

// Folded returns the sequence number below which Next has read every record.
func (r *Ring) Folded() uint64 { return r.folded }

// Head returns the next sequence number to be reserved.
func (r *Ring) Head() uint64 { return r.head.Load() }

// Size returns the number of slots.
func (r *Ring) Size() uint64 { return r.size }

// Free gives the slots of records below a sequence number back to writers. A lower number than
// before changes nothing.
func (r *Ring) Free(below uint64) { r.limit.Store(max(r.limit.Load(), below+r.size)) }

// Commit notes that the records below a sequence number are durable elsewhere, and frees their
// slots.
func (r *Ring) Commit(below uint64) {
	before := r.committed.Swap(below)
	r.flushed.Store(max(r.flushed.Load(), below-min(before, below)))
	r.Free(below)
}

// Committed returns the argument of the last call of Commit.
func (r *Ring) Committed() uint64 { return r.committed.Load() }

// Fill returns the number of records that wait to be freed.
func (r *Ring) Fill() uint64 {
	head, limit := r.head.Load(), r.limit.Load()
	return head - min(head, limit-r.size)
}

// unprotected returns how many records a crash would lose now: those that were freed and
// overwritten before they were durable and, in a ring without a file, all that are not committed.
func (r *Ring) unprotected() uint64 {
	head, kept := r.head.Load(), r.committed.Load()
	if r.file != nil {
		kept += r.size
	}
	return max(head, kept) - kept
}
