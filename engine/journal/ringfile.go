package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"unsafe"

	"shunt/engine/internal/mmap"
)

// Limits of a journal's rings.
const (
	MaxRings       = 1 << ringHashBits // on the disk; there is a standby ring for each
	MinRingRecords = 1 << 8
	MaxRingRecords = 1 << 26
)

// A journal file is one ring, little-endian:
//
//	 0        8        16               32       40     44      48     52          64       72           4096
//	┌────────┬────────┬────────────────┬────────┬──────┬───────┬──────┬────────────┬────────┬────────────┬─────────────┐
//	│"shuntjn"│ format │ store id       │ epoch  │ ring │ rings │ size │ CRC-32C of │ head   │ zeros      │ size slots  │
//	│ + NUL  │ = 1    │                │        │      │       │      │ 0…52       │        │            │ of 32 bytes │
//	└────────┴────────┴────────────────┴────────┴──────┴───────┴──────┴────────────┴────────┴────────────┴─────────────┘
//
// Head has a cache line to itself. Slot i has the record (record.go) of the latest sequence number
// that is i modulo size.
var journalMagic = [8]byte{'s', 'h', 'u', 'n', 't', 'j', 'n', 0}

// ringName returns the name of a ring's file. Each epoch has its own files, and so has each store,
// so that two stores can share a folder.
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

// fileBytes returns the size of the ring's file.
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
	if h.rings > 3*MaxRings || h.index >= h.rings {
		return fmt.Errorf("%w: ring %d of %d", errForeignRing, h.index, h.rings)
	}
	if n := h.records; n < MinRingRecords || n > MaxRingRecords || n&(n-1) != 0 {
		return fmt.Errorf("%w: %d records", errForeignRing, n)
	}
	return nil
}

// ringHeadOffset is the offset of head in the header: a cache line of its own.
const ringHeadOffset = 64

// Disk is the operations on new files. It is a seam for tests, which replace them by those of a
// full disk, or of a file system that cannot map files. nil means the real operation.
type Disk struct {
	Write func(f *os.File, b []byte) error
	Map   func(f *os.File, sizeBytes int) ([]byte, error)
}

func (d *Disk) write(f *os.File, b []byte) error {
	if d.Write != nil {
		return d.Write(f, b)
	}
	_, err := f.Write(b)
	return err
}

func (d *Disk) mapFile(f *os.File, sizeBytes int) ([]byte, error) {
	if d.Map != nil {
		return d.Map(f, sizeBytes)
	}
	return mmap.File(f, sizeBytes)
}

// createRing makes a journal file, fills it with zeros, syncs it (a store into a sparse page is
// slow, and is SIGBUS on a full disk), and maps it. It replaces a file of that name. With sparse, the slots are left
// for fill.
func createRing(d *Disk, dir string, h ringHeader, sparse bool) (*Ring, error) {
	f, err := createJournalFile(filepath.Join(dir, ringName(h.storeID, h.epoch, int(h.index))))
	if err != nil {
		return nil, err
	}
	r, err := initRing(d, f, h, sparse)
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return r, nil
}

// createJournalFile makes a file, or empties the existing one, and locks it until it is closed.
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

func initRing(d *Disk, f *os.File, h ringHeader, sparse bool) (*Ring, error) {
	err := d.write(f, h.encode())
	switch {
	case err != nil:
	case sparse:
		err = f.Truncate(h.fileBytes())
	default:
		err = d.fill(context.Background(), f, int(h.records)*slotBytes)
	}
	if err != nil {
		return nil, err
	}
	return newRing(d, f, h)
}

// fill writes zeros to f and syncs it, unless ctx ends before.
func (d *Disk) fill(ctx context.Context, f *os.File, sizeBytes int) error {
	zeros := make([]byte, 1<<20)
	for left := sizeBytes; left > 0; left -= len(zeros) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.write(f, zeros[:min(left, len(zeros))]); err != nil {
			return err
		}
	}
	return f.Sync()
}

func newRing(d *Disk, f *os.File, h ringHeader) (*Ring, error) {
	b, err := d.mapFile(f, int(h.fileBytes()))
	if err != nil {
		return nil, err
	}
	r := ringIn(b, h)
	r.file = f
	return r, nil
}

// newMemoryRing returns a ring in the memory of the process.
func newMemoryRing(h ringHeader) *Ring { return ringIn(mmap.Memory(int(h.fileBytes())), h) }

// ringIn returns the ring in mapped memory b, which has the layout of a ring's file.
func ringIn(b []byte, h ringHeader) *Ring {
	r := &Ring{
		head:    (*atomic.Uint64)(unsafe.Pointer(&b[ringHeadOffset])),
		slots:   unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[ringHeaderBytes])), int(h.records)*recordWords),
		mask:    uint64(h.records) - 1,
		size:    uint64(h.records),
		epoch:   h.epoch,
		mapping: b,
	}
	r.limit.Store(r.size)
	runtime.AddCleanup(r, mmap.Unmap, b)
	return r
}

// close closes the file. A record that a late writer still appends is in the file and is replayed
// at the next start.
func (r *Ring) close() error {
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
