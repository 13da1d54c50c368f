package journal

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"shunt/engine/internal/mmap"
)

// Limits of a journal's rings.
const (
	MaxRings       = 1 << ringHashBits // on the disk; there is a standby ring for each
	MinRingRecords = 1 << 8
	MaxRingRecords = 1 << 26
)

// ErrNoMapping is in the error of Create if the file system cannot map files.
var ErrNoMapping = mmap.ErrNoMapping

// Positions says up to which sequence number the store contains each ring of an epoch.
type Positions struct {
	Epoch uint64   // of the journal's files; 0: there is no journal yet
	Rings []uint64 // per ring: records with sequence numbers below it are in the store; empty: the epoch has no rings
}

// OnDisk returns how many rings have files: the first half. The others are standby rings.
func (p Positions) OnDisk() int { return len(p.Rings) / 2 }

// Journal is the files of one epoch: the rings in which hits are recorded, and the dictionary of
// referrers. Any number of writers, one reader, the keeper and readers of figures may use it at
// once.
type Journal struct {
	Rings     []*Ring    // first those on the disk, a power of two, then the same number of standby rings, in memory
	Referrers *Referrers // the dictionary

	in     Folder
	tables [3]ringTable              // of the rings on the disk, of the standby rings, and of full
	active atomic.Pointer[ringTable] // the table whose rings hits go to
	woken  chan struct{}             // somebody has called Wake
}

// ringTable has a ring for each value of a hash of ringHashBits. If there are fewer rings, they
// repeat.
type ringTable [1 << ringHashBits]*Ring

// RingOf returns the ring of a link: the same one for as long as the disk answers.
func (j *Journal) RingOf(linkID uint64) *Ring {
	return j.active.Load()[linkID*0x9e3779b97f4a7c15>>(64-ringHashBits)]
}

// A standby ring has 1/standbyShare of the records of a ring on the disk.
const standbyShare = 8

// Spec says what Create makes.
type Spec struct {
	Epoch   uint64
	Rings   int              // on the disk: a power of two up to MaxRings
	Records int              // of each: a power of two from MinRingRecords to MaxRingRecords
	Now     func() time.Time // of the dictionary
	Disk    Disk             // for tests
}

// Create makes the files of an epoch, all or none: the rings, and the dictionary last; and the same
// number of standby rings, which have no files. It fills and syncs the files, so it takes as long as
// the disk does.
func Create(in Folder, n Spec) (*Journal, error) {
	j, err := createAllRings(in, n)
	if err == nil {
		if j.Referrers, err = createReferrers(j, n); err != nil {
			err = errors.Join(err, j.Close())
		}
	}
	if err != nil {
		gone := in.removeEpochs(func(epoch uint64) bool { return epoch == n.Epoch })
		return nil, errors.Join(err, gone)
	}
	return j, nil
}

// createAllRings makes the rings of an epoch, and returns a journal without a dictionary.
func createAllRings(in Folder, n Spec) (j *Journal, err error) {
	j = &Journal{in: in, woken: make(chan struct{}, 1)}
	h := ringHeader{storeID: in.storeID, epoch: n.Epoch, rings: 2 * uint32(n.Rings), records: uint32(n.Records)}
	if j.Rings, err = createRings(&n.Disk, in.path, h, n.Rings); err != nil {
		return nil, err
	}
	h.records = max(MinRingRecords, h.records/standbyShare)
	for h.index = uint32(n.Rings); h.index < h.rings; h.index++ {
		j.Rings = append(j.Rings, newMemoryRing(h))
	}
	j.initTables()
	return j, nil
}

// createRings makes n rings and their files, or none.
func createRings(d *Disk, dir string, h ringHeader, n int) ([]*Ring, error) {
	var rings []*Ring
	for range n {
		r, err := createRing(d, dir, h)
		if err != nil {
			for i, r := range rings {
				err = errors.Join(err, r.close(), os.Remove(filepath.Join(dir, ringName(h.storeID, h.epoch, i))))
			}
			return nil, err
		}
		rings = append(rings, r)
		h.index++
	}
	return rings, nil
}

// InMemory returns a journal without files, for an engine that records no hit. Its names are those of
// the dictionary that an earlier run left.
func InMemory(names *Referrers) *Journal {
	j := &Journal{Referrers: names}
	for i := range 2 {
		j.Rings = append(j.Rings, newMemoryRing(ringHeader{index: uint32(i), rings: 2, records: MinRingRecords}))
	}
	j.initTables()
	return j
}

// initTables fills the tables and sends hits to the first one.
func (j *Journal) initTables() {
	full := &Ring{head: new(atomic.Uint64)}
	for i, n := 0, len(j.Rings)/2; i < len(j.tables[0]); i++ {
		j.tables[0][i], j.tables[1][i], j.tables[2][i] = j.Rings[i%n], j.Rings[n+i%n], full
	}
	j.UseStandby(false)
}

// FileBytes returns the bytes that the files of such a journal take on the disk, without standby
// rings.
func FileBytes(rings, records int) int64 {
	h := ringHeader{records: uint32(records)}
	return int64(rings)*h.fileBytes() + dictionaryBytes
}

// disk returns the rings that are not standby rings.
func (j *Journal) disk() []*Ring { return j.Rings[:len(j.Rings)/2] }

// UseStandby sends hits to the standby rings, or to those on the disk. A writer that has already
// picked its ring uses that one.
func (j *Journal) UseStandby(standby bool) {
	if standby {
		j.active.Store(&j.tables[1])
	} else {
		j.active.Store(&j.tables[0])
	}
}

// OnStandby reports whether hits go to the standby rings.
func (j *Journal) OnStandby() bool { return j.active.Load() == &j.tables[1] }

// Rest makes every ring look full, unless hits go to the standby rings, so that nothing needs to look
// for hits or keep pages writable while there are none: the next hit finds no room and calls Wake. A
// writer that has already picked its ring uses that one.
func (j *Journal) Rest() { j.active.CompareAndSwap(&j.tables[0], &j.tables[2]) }

// EndRest sends hits to the files, if the journal rests.
func (j *Journal) EndRest() { j.active.CompareAndSwap(&j.tables[2], &j.tables[0]) }

// Resting reports whether the journal rests.
func (j *Journal) Resting() bool { return j.active.Load() == &j.tables[2] }

// Wake asks whoever has called Rest to end the rest, and does not wait for it.
func (j *Journal) Wake() {
	select {
	case j.woken <- struct{}{}:
	default: // it was already asked
	}
}

// Woken returns the channel that has a value after Wake.
func (j *Journal) Woken() <-chan struct{} { return j.woken }

// awaitRoom wakes the journal if it rests, and waits for that for a while. It reports whether names
// and hits may be stored into the files.
func (j *Journal) awaitRoom() bool {
	for start := time.Now(); j.Resting() && time.Since(start) < answerWithin; time.Sleep(wakePause) {
		j.Wake()
	}
	return j.active.Load() == &j.tables[0]
}

// wakePause is the time between two looks whether a rest has ended.
const wakePause = 100 * time.Microsecond

// LookAgain makes writers check again, after they have reserved a slot, what they knew of a link
// (Ring.LookAgain), until CountDown was called turns times.
func (j *Journal) LookAgain(turns int32) {
	for _, r := range j.Rings {
		r.lookAgain.Store(turns)
	}
}

// CountDown counts one of the turns that LookAgain set. One goroutine at a time may call it.
func (j *Journal) CountDown() {
	for _, r := range j.Rings {
		if r.lookAgain.Load() > 0 {
			r.lookAgain.Add(-1) // LookAgain may set it in between: then it counts down from there
		}
	}
}

// Close closes the files and releases their locks. A record that a late writer still appends is in
// its file and is replayed at the next start; in a standby ring it is lost.
func (j *Journal) Close() error {
	var errs []error
	for _, r := range j.Rings {
		errs = append(errs, r.close())
	}
	if j.Referrers != nil {
		errs = append(errs, j.Referrers.close())
	}
	return errors.Join(errs...)
}

// Heads returns the head of each ring. Every hit that was answered before the call is below.
func (j *Journal) Heads() []uint64 {
	heads := make([]uint64, len(j.Rings))
	for i, r := range j.Rings {
		heads[i] = r.head.Load()
	}
	return heads
}

// CommittedTo reports whether every record below heads is durable in the store.
func (j *Journal) CommittedTo(heads []uint64) bool {
	for i, r := range j.Rings {
		if r.committed.Load() < heads[i] {
			return false
		}
	}
	return true
}

// AtRisk returns how many records only the journal has, and how many not even the journal would
// have after a crash: those are in standby rings, or were overwritten before they were durable.
func (j *Journal) AtRisk() (inJournal, unprotected uint64) {
	for _, r := range j.Rings {
		head, committed, lost := r.head.Load(), r.committed.Load(), r.unprotected()
		inJournal += head - min(head, committed) - lost
		unprotected += lost
	}
	return inJournal, unprotected
}

// FillRatio returns how full the fullest ring is.
func (j *Journal) FillRatio() (fullest float64) {
	for _, r := range j.Rings {
		fullest = max(fullest, float64(r.Fill())/float64(r.size))
	}
	return fullest
}

// SizeBytes returns the bytes that the files of the rings on the disk take.
func (j *Journal) SizeBytes() (sizeBytes uint64) {
	for _, r := range j.disk() {
		sizeBytes += uint64(len(r.mapping))
	}
	return sizeBytes
}
