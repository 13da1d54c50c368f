package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"unsafe"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/mmap"
	"shunt/engine/tally"
)

const (
	recordWords     = 4
	slotBytes       = 8 * recordWords
	ringHeaderBytes = 4096
	ringFormat      = 1
	minRingRecords  = 1 << 8
	maxRingRecords  = 1 << 26
	ringHashBits    = 5
	maxRings        = 2 << ringHashBits // standby rings included
	pageBytes       = 4096
)

// A journal file is one ring, little-endian:
//
//	 0        8        16               32       40     44      48     52          64       72           4096
//	┌────────┬────────┬────────────────┬────────┬──────┬───────┬──────┬────────────┬────────┬────────────┬─────────────┐
//	│"shuntjn"│ format │ store id       │ epoch  │ ring │ rings │ size │ CRC-32C of │ head   │ zeros      │ size slots  │
//	│ + NUL  │ = 1    │                │        │      │       │      │ 0…52       │        │            │ of 32 bytes │
//	└────────┴────────┴────────────────┴────────┴──────┴───────┴──────┴────────────┴────────┴────────────┴─────────────┘
//
// Head stands on a cache line of its own. Slot i holds the record of the latest sequence number that is i modulo size:
//
//	 0           8              16      20    23        24             26      28          32
//	┌───────────┬──────────────┬───────┬─────┬─────────┬──────────────┬───────┬───────────┐
//	│ link id   │ visitor hash │ owner │hour │ country │ class,device │referrer│ checksum │
//	└───────────┴──────────────┴───────┴─────┴─────────┴──────────────┴───────┴───────────┘
var journalMagic = [8]byte{'s', 'h', 'u', 'n', 't', 'j', 'n', 0}

// The two bytes of class and device: bits 0 and 1 the class, 2 counted, 3 void, 4 to 7 the device, 8 to 15 the browser.
const (
	classMask     = 0b11
	countedBit    = 0b100
	voidBit       = 0b1000
	agentShift    = 4
	referrerShift = 16
	checksumShift = 32
)

// hitRecord is a journal record decoded.
type hitRecord struct {
	linkID  uint64
	visitor uint64
	owner   uint32
	hour    uint32 // Unix time / 3600, 24 bits: until the year 3883
	class   tally.Class
	counted bool // the link's counter was raised when this was recorded, so the fold must not raise it
	void    bool // there was no hit: a cap did not admit it after its slot was reserved (Engine.hitUnsure)
	tally.Values
}

// whose makes the third word of a visit's record.
func (v Visit) whose(owner uint32) uint64 {
	return uint64(owner) | uint64(v.NowMs)/msPerHour&0xffffff<<32 | uint64(v.Country)<<56
}

// what makes the fourth, without its checksum.
func (v Visit) what() uint64 {
	return uint64(v.Class) | uint64(v.Agent&tally.AgentMask)<<agentShift | uint64(v.Referrer)<<referrerShift
}

func (r *hitRecord) unpack(w *[recordWords]uint64) {
	r.linkID, r.visitor = w[0], w[1]
	r.owner, r.hour, r.Country = uint32(w[2]), uint32(w[2]>>32)&0xffffff, tally.Country(w[2]>>56)
	r.class, r.counted, r.void = tally.Class(w[3]&classMask), w[3]&countedBit != 0, w[3]&voidBit != 0
	r.Agent, r.Referrer = tally.Agent(w[3]>>agentShift)&tally.AgentMask, uint16(w[3]>>referrerShift)
}

// unpackIf unpacks the words of a slot if they prove to be the record with sequence number seq of an epoch.
func (r *hitRecord) unpackIf(w *[recordWords]uint64, epoch, seq uint64) bool {
	if uint32(w[3]>>checksumShift) != checksum(w, epoch, seq) {
		return false
	}
	r.unpack(w)
	return true
}

// checksum is over the record, the epoch and the full sequence number, so that a slot of an earlier lap, of an earlier
// epoch, or half written does not pass for a record. It mixes by folded 64×64-bit multiplications, as wyhash does.
func checksum(w *[recordWords]uint64, epoch, seq uint64) uint32 {
	return uint32(seal(digest(w[0], w[1], w[2], w[3]&(1<<checksumShift-1)), epoch, seq))
}

// digest is of the record alone, whose last word has no checksum yet. It is apart from seal so that both are inlined.
func digest(w0, w1, w2, w3 uint64) uint64 {
	h := hash.Mix(w0^0x9e3779b97f4a7c15, w1^0xd1b54a32d192ed03)
	return hash.Mix(h^w2, w3^0x8cb92ba72f3d8dd7)
}

// seal is the checksum in its low 32 bits.
func seal(digest, epoch, seq uint64) uint64 {
	h := hash.Mix(digest^epoch^0xaef17502108ef2d9, seq^0xd6e8feb86659fd93)
	return h ^ h>>32
}

// ring is one mapped journal file, or one in memory (standby.go). Any number of writers append; one reader at a time reads.
// Sequence numbers count from 0 in each epoch and never wrap.
type ring struct {
	// Written by writers.
	head *atomic.Uint64 // in the mapping: the next sequence number to reserve
	_    [56]byte

	// Written by the reader side, read by writers.
	limit     atomic.Uint64 // writers reserve below it: what is freed, plus size
	capsGiven atomic.Int32  // not 0: for so many folds, writers look whether their link has a cap by now; see Engine.countAtOnce
	_         [48]byte

	// Constant.
	slots []uint64 // size × recordWords words of the mapping; the last of a slot makes it a record
	mask  uint64
	size  uint64
	epoch uint64

	// The reader's, guarded by the fold's mutex.
	folded uint64 // records below it are in pending deltas or further

	// The flush's; read by metrics.
	committed atomic.Uint64 // records below it are durable in the store

	// The keeper's; read by the fold.
	keptFrom, kept atomic.Uint64 // pages of these records' slots are writable

	file    *os.File // nil: it is in the memory of the process
	mapping []byte   // unmapped once the ring is unreachable: a late writer finds it there
}

// append reserves a slot and publishes the record in it. It returns false if the ring is full, and has then changed
// nothing. Between the reservation and the last store nothing may panic, allocate or block: until that store the reader
// stops before this slot. Hit does the same, inlined.
func (r *ring) append(w *[recordWords]uint64) bool {
	for {
		seq, ok := r.reserve()
		if ok {
			r.put(seq, w)
			return true
		}
		if seq >= r.limit.Load() {
			return false
		}
	}
}

// put publishes the record in the slot of a sequence number that the caller has reserved.
func (r *ring) put(seq uint64, w *[recordWords]uint64) {
	storeRecord(r.slot(seq), w[0], w[1], w[2], w[3]|seal(digest(w[0], w[1], w[2], w[3]), r.epoch, seq)<<checksumShift)
}

// reserve takes the next sequence number. It fails if the ring is full, and if another writer was faster.
func (r *ring) reserve() (seq uint64, ok bool) {
	head := r.head
	seq = head.Load()
	return seq, seq < r.limit.Load() && head.CompareAndSwap(seq, seq+1)
}

// storeRecord stores a record, the word with its checksum last. What came after that could land in the record of the next
// lap, as soon as this one is folded and its slot free; and CheckJournal tells by it what was cut off.
func storeRecord(slot *[recordWords]uint64, w0, w1, w2, w3 uint64) {
	mmap.StoreWord(&slot[0], w0)
	mmap.StoreWord(&slot[1], w1)
	mmap.StoreWord(&slot[2], w2)
	mmap.StoreLast(&slot[3], w3)
}

// slot returns the words of the slot of a sequence number. A ring has a slot for each value of its mask.
func (r *ring) slot(seq uint64) *[recordWords]uint64 {
	return (*[recordWords]uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.slots)), seq&r.mask*(8*recordWords)))
}

// read decodes the record with sequence number seq; ok is false if the slot does not hold it (yet, or any more).
func (r *ring) read(seq uint64, rec *hitRecord) (ok bool) {
	slot := r.slot(seq)
	var w [recordWords]uint64
	w[3] = atomic.LoadUint64(&slot[3])
	w[0] = atomic.LoadUint64(&slot[0])
	w[1] = atomic.LoadUint64(&slot[1])
	w[2] = atomic.LoadUint64(&slot[2])
	return rec.unpackIf(&w, r.epoch, seq)
}

// fill returns the number of records that wait to be freed.
func (r *ring) fill() uint64 {
	head, limit := r.head.Load(), r.limit.Load()
	return head - min(head, limit-r.size)
}

// unprotected returns how many records a crash would lose now: they were freed and overwritten before they were durable.
// So is everything in a ring that has no file.
func (r *ring) unprotected() uint64 {
	head, kept := r.head.Load(), r.committed.Load()
	if r.file != nil {
		kept += r.size
	}
	return max(head, kept) - kept
}

// ringName names the file of a ring. Each epoch has its own files, and each store, so that two can share a folder.
func ringName(storeID [16]byte, epoch uint64, index int) string {
	return fmt.Sprintf("%s%d-%02d", ringPrefix(storeID), epoch, index)
}

func ringPrefix(storeID [16]byte) string { return fmt.Sprintf("ring-%x-", storeID[:8]) }

// ringHeader is the constant part of a journal file's header.
type ringHeader struct {
	storeID      [16]byte
	epoch        uint64
	index, rings uint32
	records      uint32
}

// fileBytes is the size of the ring's file.
func (h *ringHeader) fileBytes() int64 { return ringHeaderBytes + int64(h.records)*slotBytes }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h *ringHeader) encode() []byte {
	b := make([]byte, 0, ringHeaderBytes)
	b = append(b, journalMagic[:]...)
	b = binary.LittleEndian.AppendUint64(b, ringFormat)
	b = append(b, h.storeID[:]...)
	b = binary.LittleEndian.AppendUint64(b, h.epoch)
	b = binary.LittleEndian.AppendUint32(b, h.index)
	b = binary.LittleEndian.AppendUint32(b, h.rings)
	b = binary.LittleEndian.AppendUint32(b, h.records)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return b[:ringHeaderBytes]
}

// Errors of opening a journal file.
var (
	errForeignRing = errors.New("not a journal file of this store and epoch")
	errNewerRing   = errors.New("journal file of a newer format")
)

func (h *ringHeader) decode(b []byte) error {
	if len(b) < ringHeaderBytes || [8]byte(b[:8]) != journalMagic {
		return errForeignRing
	}
	if crc32.Checksum(b[:52], castagnoli) != binary.LittleEndian.Uint32(b[52:]) {
		return fmt.Errorf("%w: damaged header", errForeignRing)
	}
	switch f := binary.LittleEndian.Uint64(b[8:]); {
	case f > ringFormat:
		return fmt.Errorf("%w: %d, this version reads up to %d", errNewerRing, f, ringFormat)
	case f < ringFormat:
		return fmt.Errorf("%w: format %d", errForeignRing, f)
	}
	h.storeID = [16]byte(b[16:32])
	h.epoch = binary.LittleEndian.Uint64(b[32:])
	h.index = binary.LittleEndian.Uint32(b[40:])
	h.rings = binary.LittleEndian.Uint32(b[44:])
	h.records = binary.LittleEndian.Uint32(b[48:])
	if h.rings > maxRings || h.index >= h.rings {
		return fmt.Errorf("%w: ring %d of %d", errForeignRing, h.index, h.rings)
	}
	if n := h.records; n < minRingRecords || n > maxRingRecords || n&(n-1) != 0 {
		return fmt.Errorf("%w: %d records", errForeignRing, n)
	}
	return nil
}

// ringHeadOffset is where head stands in the header: on a cache line of its own.
const ringHeadOffset = 64

// Seams for tests, which put a full disk and a file system that cannot map files in their places.
var (
	writeJournal = func(f *os.File, b []byte) error { _, err := f.Write(b); return err }
	mapJournal   = mmap.File
)

// createRing makes a journal file, writes it full with zeros and syncs it (a sparse page would be a slow store, or
// SIGBUS on a full disk), and maps it. A file of that name is replaced.
func createRing(dir string, h ringHeader) (*ring, error) {
	f, err := createJournalFile(filepath.Join(dir, ringName(h.storeID, h.epoch, int(h.index))))
	if err != nil {
		return nil, err
	}
	r, err := initRing(f, h)
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return r, nil
}

// createJournalFile makes a file, or empties the one of that name, and locks it until it is closed.
func createJournalFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lockJournalFile(f); err == nil {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func initRing(f *os.File, h ringHeader) (*ring, error) {
	if err := writeJournal(f, h.encode()); err != nil {
		return nil, err
	}
	zeros := make([]byte, 1<<20)
	for left := int(h.records) * slotBytes; left > 0; left -= len(zeros) {
		if err := writeJournal(f, zeros[:min(left, len(zeros))]); err != nil {
			return nil, err
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return newRing(f, h)
}

func newRing(f *os.File, h ringHeader) (*ring, error) {
	b, err := mapJournal(f, int(h.fileBytes()))
	if err != nil {
		return nil, err
	}
	r := ringIn(b, h)
	r.file = f
	return r, nil
}

// newMemoryRing makes a ring in the memory of the process.
func newMemoryRing(h ringHeader) *ring { return ringIn(mmap.Memory(int(h.fileBytes())), h) }

// ringIn makes a ring of mapped memory, which has what its file has.
func ringIn(b []byte, h ringHeader) *ring {
	r := &ring{
		head:    (*atomic.Uint64)(unsafe.Pointer(&b[ringHeadOffset])),
		slots:   unsafe.Slice((*uint64)(unsafe.Pointer(&b[ringHeaderBytes])), int(h.records)*recordWords),
		mask:    uint64(h.records) - 1,
		size:    uint64(h.records),
		epoch:   h.epoch,
		mapping: b,
	}
	r.limit.Store(r.size)
	runtime.AddCleanup(r, mmap.Unmap, b)
	return r
}

// close closes the file. What a late writer still appends lands in it and is replayed at the next start.
func (r *ring) close() error {
	if r.file == nil {
		return nil
	}
	return closeJournalFile(r.file, r.mapping)
}

func closeJournalFile(f *os.File, mapping []byte) error {
	err := mmap.WriteBack(f, mapping)
	unlockJournalFile(f)
	return errors.Join(err, f.Close())
}
