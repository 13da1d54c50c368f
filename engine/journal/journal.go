package journal

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"shunt/engine/internal/mmap"
)

// ErrNoMapping is in the error of Create if the file system cannot map files.
var ErrNoMapping = mmap.ErrNoMapping

// answerWithin is how long the keeper waits for a file before it sends hits to the standby rings.
const answerWithin = time.Second

// Positions says up to which sequence number the store contains each ring of an epoch.
type Positions struct {
	Epoch uint64   // of the journal's files; 0: there is no journal yet
	Rings []uint64 // per ring: records with sequence numbers below it are in the store; empty: the epoch has no rings
}

// OnDisk returns how many rings have files: the first half, or two thirds if there are larger rings (see RingCount).
// The others are standby rings.
func (p Positions) OnDisk() int {
	if n := len(p.Rings); n%3 == 0 {
		return n / 3 * 2
	}
	return len(p.Rings) / 2
}

// Journal is the files of one epoch: the rings in which hits are recorded, and the dictionary of
// referrers. Any number of writers, one reader, the keeper and readers of figures may use it at
// once.
type Journal struct {
	Rings     []*Ring    // those on the disk, a power of two; as many larger ones, if the journal can grow; as many standby rings, in memory
	Referrers *Referrers // the dictionary

	in     Folder
	ops    Disk
	set    int // rings in each set
	tables [4]ringTable
	active atomic.Pointer[ringTable] // the table whose rings hits go to
	grown  atomic.Bool               // hits go to the larger rings instead of the first ones
	woken  chan struct{}             // somebody has called Wake
}

// The tables of a journal.
const (
	first   = iota // the rings on the disk that a start fills
	larger         // those that are filled when they are needed; the same as first if the journal cannot grow
	standby        // in memory
	full           // a ring that is always full, for a journal that rests
)

// ringTable has a ring for each value of a hash of ringHashBits. If there are fewer rings, they
// repeat.
type ringTable [1 << ringHashBits]*Ring

// RingOf returns the ring of a link: the same one for as long as the disk answers.
func (j *Journal) RingOf(linkID uint64) *Ring {
	return j.active.Load()[linkID*0x9e3779b97f4a7c15>>(64-ringHashBits)]
}

// startRecords is how many records the rings have that a start fills, unless Spec asks for fewer: 2 MiB a ring. Those
// of the full size are sparse files until hits need them.
const startRecords = 1 << 16

// RingCount returns how many rings Create makes, those in memory included.
func RingCount(rings, records int) int {
	if records > startRecords {
		return 3 * rings
	}
	return 2 * rings
}

// A standby ring has 1/standbyShare of the records of a ring on the disk.
const standbyShare = 8

// Spec says what Create makes.
type Spec struct {
	Epoch   uint64
	Rings   int              // on the disk: a power of two up to MaxRings
	Records int              // of each, once it has grown: a power of two from MinRingRecords to MaxRingRecords
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
	j = &Journal{in: in, ops: n.Disk, woken: make(chan struct{}, 1)}
	h := ringHeader{storeID: in.storeID, epoch: n.Epoch, rings: uint32(RingCount(n.Rings, n.Records))}
	h.records = uint32(min(n.Records, startRecords))
	for onDisk := h.rings - uint32(n.Rings); h.index < onDisk; h.index++ {
		if int(h.index) == n.Rings {
			h.records = uint32(n.Records)
		}
		r, err := createRing(&n.Disk, in.path, h, int(h.index) >= n.Rings)
		if err != nil {
			return nil, errors.Join(err, j.removeRings())
		}
		j.Rings = append(j.Rings, r)
	}
	h.records = uint32(max(MinRingRecords, n.Records/standbyShare))
	for ; h.index < h.rings; h.index++ {
		j.Rings = append(j.Rings, newMemoryRing(h))
	}
	j.initTables(n.Rings)
	return j, nil
}

// removeRings closes the rings and removes their files.
func (j *Journal) removeRings() error {
	var errs []error
	for _, r := range j.Rings {
		errs = append(errs, r.close(), os.Remove(r.file.Name()))
	}
	return errors.Join(errs...)
}

// InMemory returns a journal without files, for an engine that records no hit. Its names are those of
// the dictionary that an earlier run left.
func InMemory(names *Referrers) *Journal {
	j := &Journal{Referrers: names}
	for i := range 2 {
		j.Rings = append(j.Rings, newMemoryRing(ringHeader{index: uint32(i), rings: 2, records: MinRingRecords}))
	}
	j.initTables(1)
	return j
}

// initTables fills the tables, for sets of n rings, and sends hits to the first one.
func (j *Journal) initTables(n int) {
	j.set = n
	none, last := &Ring{head: new(atomic.Uint64)}, len(j.Rings)-n
	for i := range j.tables[first] {
		j.tables[first][i], j.tables[larger][i] = j.Rings[i%n], j.Rings[last-n+i%n]
		j.tables[standby][i], j.tables[full][i] = j.Rings[last+i%n], none
	}
	j.UseStandby(false)
}

// FileBytes returns the bytes that the files of such a journal take on the disk after a start.
func FileBytes(rings, records int) int64 {
	h := ringHeader{records: uint32(min(records, startRecords))}
	sparse := RingCount(rings, records) - 2*rings
	return int64(rings)*h.fileBytes() + int64(sparse)*ringHeaderBytes + dictionaryBytes
}

// disk returns the rings on the disk that hits go to.
func (j *Journal) disk() []*Ring {
	if j.grown.Load() {
		return j.Rings[j.set : 2*j.set]
	}
	return j.Rings[:j.set]
}

// files returns the table of the rings on the disk that hits go to.
func (j *Journal) files() *ringTable {
	if j.grown.Load() {
		return &j.tables[larger]
	}
	return &j.tables[first]
}

// UseStandby sends hits to the standby rings, or to those on the disk. A writer that has already
// picked its ring uses that one.
func (j *Journal) UseStandby(use bool) {
	if use {
		j.active.Store(&j.tables[standby])
	} else {
		j.active.Store(j.files())
	}
}

// OnStandby reports whether hits go to the standby rings.
func (j *Journal) OnStandby() bool { return j.active.Load() == &j.tables[standby] }

// Rest makes every ring look full, unless hits go to the standby rings, so that nothing needs to look
// for hits or keep pages writable while there are none: the next hit finds no room and calls Wake. A
// writer that has already picked its ring uses that one.
func (j *Journal) Rest() { j.active.CompareAndSwap(j.files(), &j.tables[full]) }

// EndRest sends hits to the files, if the journal rests.
func (j *Journal) EndRest() { j.active.CompareAndSwap(&j.tables[full], j.files()) }

// Resting reports whether the journal rests.
func (j *Journal) Resting() bool { return j.active.Load() == &j.tables[full] }

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
	return !j.Resting() && !j.OnStandby()
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
	for _, r := range j.Rings[:j.set] {
		sizeBytes += uint64(len(r.mapping))
	}
	if j.grown.Load() {
		for _, r := range j.disk() {
			sizeBytes += uint64(len(r.mapping))
		}
	}
	return sizeBytes
}
