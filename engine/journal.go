package engine

import (
	"errors"
	"fmt"
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
			return nil, errors.Join(fmt.Errorf("making the hit journal: %w", err), j.close())
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

// replayResult is what an earlier run left.
type replayResult struct {
	records uint64 // valid ones that the store did not contain yet
	invalid uint64 // slots that hold no record: torn, or reserved and never written
	lost    uint64 // overwritten under a stall before they were in the store
	missing uint64 // rings that the store knows and whose file cannot be used

	nameless uint64 // records whose referrer has no name in the dictionary, which is damaged
}

// replay calls fn for every record of the journal that the store does not contain. A file that is missing, foreign or damaged in its header is skipped and logged;
// a file of a newer format is an error.
func replay(dir string, id Identity, p Positions, warn func(path string, err error), fn func(*hitRecord)) (replayResult, error) {
	var res replayResult
	for i, position := range p.Rings {
		path := filepath.Join(dir, ringName(id.StoreID, p.Epoch, i))
		r, err := openRing(path, ringHeader{storeID: id.StoreID, epoch: p.Epoch, index: uint32(i)})
		if errors.Is(err, errNewerRing) {
			return res, err
		}
		if err != nil {
			warn(path, err)
			res.missing++
			continue
		}
		r.replay(position, &res, fn)
		if err := r.close(); err != nil {
			return res, err
		}
	}
	return res, nil
}

// replay looks at the slots of [position, position + size), which is all that there is unless the store stalled; and, if
// it did, of [head − size, head). Records prove themselves by their checksums, so that a head that is damaged, or was not
// written back when the power went, costs no record of the first range.
func (r *ring) replay(position uint64, res *replayResult, fn func(*hitRecord)) {
	head := r.head.Load()
	r.replayRange(position, position+r.size, head, res, fn)
	if head > position+r.size {
		r.replayRange(max(position+r.size, head-r.size), head, head, res, fn)
	}
}

func (r *ring) replayRange(from, to, head uint64, res *replayResult, fn func(*hitRecord)) {
	var rec hitRecord
	for seq := from; seq < to; seq++ {
		switch {
		case r.read(seq, &rec):
			res.records++
			fn(&rec)
		case seq+r.size < head:
			res.lost++
		case seq < head:
			res.invalid++
		}
	}
}

// removeOldRings deletes a store's journal files of epochs before epoch. Their content is in the store.
func removeOldRings(dir string, storeID [16]byte, epoch uint64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), ringPrefix(storeID))
		number, _, ok := strings.Cut(rest, "-")
		n, err := strconv.ParseUint(number, 10, 64)
		if ours && ok && err == nil && n < epoch {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
