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
	rings []*ring       // a power of two
	shift uint8         // (id * golden) >> shift is the index of its ring
	waits atomic.Uint64 // appends that found their ring full
}

// ringOf returns the ring of a link: always the same one while the process lives, so that a link's records keep their
// order.
func (j *journal) ringOf(linkID uint64) *ring {
	return j.rings[linkID*0x9e3779b97f4a7c15>>j.shift]
}

// newJournal makes the files of a new epoch in dir.
func newJournal(dir string, id Identity, epoch uint64, rings, records int) (*journal, error) {
	j := &journal{shift: uint8(64 - bits.TrailingZeros(uint(rings)))}
	for i := range rings {
		r, err := createRing(dir, ringHeader{
			storeID: id.StoreID, epoch: epoch, index: uint32(i), rings: uint32(rings), records: uint32(records),
		})
		if err != nil {
			return nil, errors.Join(err, j.close())
		}
		j.rings = append(j.rings, r)
	}
	return j, nil
}

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
