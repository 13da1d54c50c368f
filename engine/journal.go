package engine

import (
	"errors"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// journal is the set of rings that hits are recorded in.
type journal struct {
	rings []*ring       // first those of files, a power of two, then as many standby rings
	first atomic.Uint64 // of those that are written to: 0, or the number of files (useStandby)
	shift uint8         // (id * golden) >> shift is the index of its ring
	waits atomic.Uint64 // appends that found their ring full
}

// ringOf returns the ring of a link: the same one for as long as the disk answers.
func (j *journal) ringOf(linkID uint64) *ring {
	return j.rings[j.first.Load()+linkID*0x9e3779b97f4a7c15>>j.shift]
}

// newJournal makes the files of a new epoch in dir.
func newJournal(dir string, id Identity, epoch uint64, rings, records int) (*journal, error) {
	j := &journal{shift: uint8(64 - bits.TrailingZeros(uint(rings)))}
	h := ringHeader{storeID: id.StoreID, epoch: epoch, rings: uint32(rings), records: uint32(records)}
	for ; h.index < h.rings; h.index++ {
		r, err := createRing(dir, h)
		if err != nil {
			return nil, errors.Join(err, j.close())
		}
		j.rings = append(j.rings, r)
	}
	for range rings {
		j.rings = append(j.rings, newStandbyRing(h))
	}
	return j, nil
}

// files returns the rings of files: those that the store has positions of.
func (j *journal) files() []*ring { return j.rings[:len(j.rings)/2] }

// useStandby has hits go to the standby rings, or to the files.
func (j *journal) useStandby(standby bool) {
	first := 0
	if standby {
		first = len(j.rings) / 2
	}
	j.first.Store(uint64(first))
}

// onStandby tells whether hits go to the standby rings.
func (j *journal) onStandby() bool { return j.first.Load() > 0 }

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
