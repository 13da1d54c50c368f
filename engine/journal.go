package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// journal is the set of rings that hits are recorded in.
type journal struct {
	rings  []*ring                   // first those of the disk, a power of two, then as many standby rings
	tables [2]ringTable              // of the rings of the disk, and of the standby rings
	active atomic.Pointer[ringTable] // the table whose rings hits go to
	waits  atomic.Uint64             // appends that found their ring full
}

// ringTable has a ring for each value of a hash of ringHashBits. If there are fewer rings, they repeat.
type ringTable [1 << ringHashBits]*ring

// ringOf returns the ring of a link: the same one for as long as the disk answers.
func (j *journal) ringOf(linkID uint64) *ring {
	return j.active.Load()[linkID*0x9e3779b97f4a7c15>>(64-ringHashBits)]
}

// standbyShare is by how much a standby ring is smaller.
const standbyShare = 8

// newJournal makes the files of a new epoch: so many rings of so many records, and as many standby rings. If those cannot have
// files, standbyErr says why, and they are in the memory of the process.
func newJournal(in folders, id Identity, epoch uint64, rings, records int) (j *journal, standbyErr, err error) {
	j = new(journal)
	h := ringHeader{storeID: id.StoreID, epoch: epoch, rings: 2 * uint32(rings), records: uint32(records)}
	if j.rings, err = createRings(in.rings, h, rings); err != nil {
		return nil, nil, err
	}
	h.index, h.records = uint32(rings), max(minRingRecords, h.records/standbyShare)
	if standbyErr = errors.New("no folder in memory"); in.standby != "" {
		standbyErr = makePrivate(in.standby)
	}
	if standbyErr == nil {
		standbyErr = noteStandby(in.standby, in.of)
	}
	var standby []*ring
	if standbyErr == nil {
		standby, standbyErr = createRings(in.standby, h, rings)
	}
	for ; standbyErr != nil && len(standby) < rings; h.index++ {
		standby = append(standby, newMemoryRing(h))
	}
	j.rings = append(j.rings, standby...)
	for i := range j.tables[0] {
		j.tables[0][i], j.tables[1][i] = j.rings[i%rings], standby[i%rings]
	}
	j.useStandby(false)
	return j, standbyErr, nil
}

// createRings makes the files of n rings from h.index on, or none.
func createRings(dir string, h ringHeader, n int) ([]*ring, error) {
	var rings []*ring
	for range n {
		r, err := createRing(dir, h)
		if err != nil {
			for i, r := range rings {
				err = errors.Join(err, r.close(), os.Remove(filepath.Join(dir, ringName(h.storeID, h.epoch, int(h.index)-len(rings)+i))))
			}
			return nil, err
		}
		rings = append(rings, r)
		h.index++
	}
	return rings, nil
}

// disk returns the rings that are not standby rings.
func (j *journal) disk() []*ring { return j.rings[:len(j.rings)/2] }

// useStandby has hits go to the standby rings, or to those of the disk.
func (j *journal) useStandby(standby bool) {
	if standby {
		j.active.Store(&j.tables[1])
	} else {
		j.active.Store(&j.tables[0])
	}
}

// onStandby tells whether hits go to the standby rings.
func (j *journal) onStandby() bool { return j.active.Load() == &j.tables[1] }

func (j *journal) close() error {
	var errs []error
	for _, r := range j.rings {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// heads returns the head of each ring: every hit that was answered before is below.
func (j *journal) heads() []uint64 {
	heads := make([]uint64, len(j.rings))
	for i, r := range j.rings {
		heads[i] = r.head.Load()
	}
	return heads
}

// committedTo tells whether every record below heads is durable in the store.
func (j *journal) committedTo(heads []uint64) bool {
	for i, r := range j.rings {
		if r.committed.Load() < heads[i] {
			return false
		}
	}
	return true
}

// removeEpochs deletes a store's journal files of those epochs. An error that is errJournalInUse is of a file that stays.
func removeEpochs(dir string, storeID [16]byte, which func(epoch uint64) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), ringPrefix(storeID))
		number, _, ok := strings.Cut(rest, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if ours && ok && err == nil && which(n) {
			errs = append(errs, removeUnused(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
