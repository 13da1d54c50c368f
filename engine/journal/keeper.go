package journal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/internal/mmap"
)

// Redirects go on while the disk of the journal does not answer.
//
// A hit stores into a page of a mapped file. The first store after the kernel has written that page
// back faults into the file system, which may have to wait for the disk. The thread then hangs in
// the kernel and keeps its processor of Go's scheduler, so no garbage collection can finish, and
// the process answers nobody. So the keeper, a goroutine, makes the pages writable that hits will
// reach next. First it asks the file system, by a system call that waits for whatever such a fault
// would wait for, but in which a thread blocks no other (see makeWritable). While there is no answer, hits go to the
// standby rings, one for each ring on the disk. They are in the memory of the process, and in all
// else like the others: a kill loses the records that were not flushed (Journal.AtRisk counts them),
// and no replay sees them.
//
// Without hits the journal rests (Journal.Rest): nobody asks the disk and no page is made writable,
// because both make the disk write. The first hit after that waits until the keeper has asked.
//
// Two gaps are left. The first is the time from the disk's last answer to the switch, at most keepInterval and
// answerWithin. Redirects go on in that time only if the kernel does not write back the pages that hits store into,
// which it does every 30 s, and if no more new referrers come than fit into the pages kept for them. A freeze of
// the file system begins with such a write-back, so it does delay redirects. The second is the time, mostly
// microseconds, between an answer and the call that makes pages writable: see makeWritable. Only a journal in memory (a
// tmpfs) has no such gap.
const (
	// keepInterval is how often pages are made writable, unless the journal rests.
	keepInterval = 250 * time.Millisecond

	// keepHurry is how long the keeper may wait for a file when hits are about to reach pages that it
	// has not made writable.
	keepHurry = 200 * time.Millisecond

	// An answer of the file system came at once if it took less than atOnce: a clock of a file system ticks at least
	// every 10 ms. It is asked for at most maxAsks times.
	atOnce  = time.Millisecond
	maxAsks = 10

	// The pages of a ring are kept writable for eight times the records that came since the last time,
	// within these bounds.
	minKeptRecords = 64
	maxKeptRecords = 1 << 13 // 256 KiB a ring: eight of them are 0.3 s of 200,000 hits/s
)

// Keeper keeps pages of a journal's files writable, and sends hits to the standby rings while the
// disk does not answer.
type Keeper struct {
	// Ask returns once the file system has accepted a write to a journal file. Tests replace it before
	// Run.
	Ask func(*os.File) error

	journal  *Journal
	log      *slog.Logger
	answered func()
	wake     atomic.Bool // the journal is to end its rest
	growth   growth
	kick     chan struct{} // hits are near the end of the pages that are kept writable, or a rest is to end

	mu struct {
		sync.Mutex
		since        time.Time // when the wait for a file began; zero: the keeper does not wait
		standbySince time.Time // zero: hits go to the files
	}
}

// NewKeeper returns the keeper of a journal. It calls answered each time that hits go to the files
// again, because the records of the standby rings should then be in the store soon. answered must
// not block.
func NewKeeper(j *Journal, log *slog.Logger, answered func()) *Keeper {
	return &Keeper{Ask: askFile, journal: j, log: log, answered: answered, kick: make(chan struct{}, 1)}
}

// Run keeps pages writable until ctx is done. It may hang in a system call for as long as the disk
// hangs.
func (k *Keeper) Run(ctx context.Context) {
	defer k.growth.await()
	for interval := keepInterval; ; {
		wake := k.wake.Load()
		err := k.keep()
		if ctx.Err() != nil {
			return
		}
		if interval = keepInterval; err != nil {
			interval = time.Second
			k.failed(err)
		} else {
			k.grow(ctx)
			k.fromStandby()
			if wake {
				k.wake.Store(false)
				k.journal.EndRest()
			}
		}
		if !k.pause(ctx, interval) {
			return
		}
	}
}

// pause waits for interval, and then as long as the journal rests, or until it is kicked. It returns
// false if ctx is done.
func (k *Keeper) pause(ctx context.Context, interval time.Duration) bool {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-k.kick:
			return true
		case <-timer.C:
			if !k.journal.Resting() {
				return true
			}
		}
	}
}

// EndRest makes hits go to the files again, once pages are writable, or to the standby rings, if the
// disk does not answer soon and Watch is called. It does not wait for that.
func (k *Keeper) EndRest() {
	k.wake.Store(true)
	k.hurry()
}

// keep makes those pages of each file writable that will be stored into next.
func (k *Keeper) keep() error {
	for _, r := range k.journal.disk() {
		if err := k.keepRing(r); err != nil {
			return err
		}
	}
	names := k.journal.Referrers
	return k.makeWritable(names.file, names.next())
}

// keepRing makes the pages of r writable that writers use now and next.
func (k *Keeper) keepRing(r *Ring) error {
	head, from := r.head.Load(), r.keptFrom.Load()
	ahead := min(max(8*(head-from), minKeptRecords), maxKeptRecords, r.size)
	if err := k.makeWritable(r.file, r.mapping[:ringHeaderBytes]); err != nil {
		return err
	}
	for seq := head; seq < head+ahead; { // in two parts at the end of a lap
		slot := seq & r.mask
		n := min(head+ahead-seq, r.size-slot)
		if err := k.makeWritable(r.file, r.mapping[ringHeaderBytes+slot*slotBytes:][:n*slotBytes]); err != nil {
			return err
		}
		seq += n
	}
	r.keptFrom.Store(head)
	r.kept.Store(head + ahead)
	return nil
}

// makeWritable makes pages of f writable once the file system answers, and tells Watch since when it waits for that.
// The call that makes them writable must not be the one that waits: meanwhile the kernel lets nobody map memory, so all
// of Go waits with it, as soon as the heap grows. So it follows an answer that came at once: what the file system has
// allowed within one tick of its clock, it allows without its log. An answer that came late, because the disk or the
// scheduler was slow, is asked for again.
func (k *Keeper) makeWritable(f *os.File, pages []byte) error {
	mark := func(at time.Time) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.mu.since = at
	}
	mark(time.Now())
	defer mark(time.Time{})
	for range maxAsks {
		asked := time.Now()
		if err := k.Ask(f); err != nil {
			return err
		}
		if time.Since(asked) < atOnce {
			break
		}
	}
	return mmap.MakeWritable(pages)
}

// Watch sends hits to the standby rings if Run waits too long for a file, and wakes Run if hits
// come faster than it expected. Call it every few milliseconds. It does not wait for the disk, but
// its logging may.
func (k *Keeper) Watch() {
	short := k.wake.Load()
	if k.journal.cramped() {
		k.hurry()
	}
	for _, r := range k.journal.disk() {
		short = short || r.keptShort()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch waits := time.Since(k.mu.since); {
	case k.mu.since.IsZero():
		if short {
			k.hurry()
		}
	case waits > answerWithin || short && waits > keepHurry:
		k.toStandbyLocked(fmt.Errorf("no answer for %v", waits.Round(time.Millisecond)))
	}
}

func (k *Keeper) hurry() {
	select {
	case k.kick <- struct{}{}:
	default: // Run will wake anyway
	}
}

func (k *Keeper) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.toStandbyLocked(err)
}

// toStandbyLocked sends hits to the standby rings, and logs that once.
func (k *Keeper) toStandbyLocked(why error) {
	if !k.mu.standbySince.IsZero() {
		return
	}
	k.mu.standbySince = time.Now()
	j := k.journal
	j.UseStandby(true)
	k.log.Warn("the disk of the hit journal does not answer; redirects go on", "folder", j.in.path,
		"hits", "in the memory of this process: a kill loses those since the last flush", "cause", why)
}

// fromStandby sends hits to the files again. Their pages must be writable.
func (k *Keeper) fromStandby() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.standbySince.IsZero() {
		return
	}
	k.journal.UseStandby(false)
	k.answered()
	k.log.Info("the disk of the hit journal answers again", "after", time.Since(k.mu.standbySince).Round(time.Millisecond))
	k.mu.standbySince = time.Time{}
}

// keptShort reports whether writers have used more than half of the pages that are kept writable.
func (r *Ring) keptShort() bool {
	head, from, kept := r.head.Load(), r.keptFrom.Load(), r.kept.Load()
	return 2*head > from+kept
}

// next returns the part of the text that the next names are written to.
func (r *Referrers) next() []byte {
	const namesAhead = 4 * pageBytes
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.current.Load()
	return h.text[h.used:min(h.used+namesAhead, len(h.text))]
}

// askOffset is the offset of 8 bytes of zeros that nobody reads, in a ring as in a dictionary: they
// end the page of the header.
const askOffset = ringHeaderBytes - 8

// askFile returns once the file system has accepted a write to a journal file.
func askFile(f *os.File) error {
	_, err := f.WriteAt(make([]byte, 8), askOffset)
	return err
}
