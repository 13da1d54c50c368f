package replicate

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// A ledger is what all stores of a test have counted.
type ledger struct {
	all *rowtest.Flush
	seq uint64
}

// count has a store flush hits of different visitors, each as a record of its own.
func (l *ledger) count(t *testing.T, s *Store, hits int) {
	t.Helper()
	for range hits {
		l.seq++
		id := 1 + l.seq%clusterLinks
		f := rowtest.NewFlush()
		f.Add(100, id, clusterOwner(id), rowtest.Hit(l.seq))
		l.all.Add(100, id, clusterOwner(id), rowtest.Hit(l.seq))
		flush(t, s, l.seq, f)
	}
}

// pullSome applies records of another store's outbox, n of them at most.
func pullSome(t *testing.T, to, from *Store, n int) {
	t.Helper()
	id, _ := from.OutboxID()
	through, last, err := to.PulledThrough(id)
	expect.OK(t, err)
	has, err := from.RecordHash(through)
	expect.That(t, err == nil && has == last, "the record at %d is %x, and %x was applied; %v", through, has, last, err)
	p, err := from.Outbox(through, 1<<30)
	expect.OK(t, err)
	_, err = to.ApplyPulled(p.ID, p.First, p.Records[:min(n, len(p.Records))])
	expect.OK(t, err)
}

// copyOf returns a store that Restore has made of a backup of another one, which is on a disk.
func copyOf(t *testing.T, s *Store, disk *vfs.MemFS) *Store {
	t.Helper()
	_, err := s.Backup(t.Context(), "/backup")
	expect.OK(t, err)
	_, err = Restore(t.Context(), "/backup", otherDir, RestoreOptions{FS: disk, Logger: quiet})
	expect.OK(t, err)
	return open(t, otherDir, Options{FS: disk})
}

// want checks that each store has all hits once, after each has pulled from each.
func (l *ledger) want(t *testing.T, what string, stores ...*Store) {
	t.Helper()
	want := map[uint64]uint64{}
	for key, m := range l.all.Links {
		want[key.ID] += m.Hits
	}
	for i, s := range stores {
		for _, other := range stores {
			if other != s {
				pullSome(t, s, other, 1<<20)
			}
		}
		got := hitsOf(t, s)
		expect.That(t, maps.Equal(got, want), "%s: store %d has hits %v, want %v", what, i, got, want)
		wantSound(t, s)
	}
}

// sinceThen returns what TakeOver asks, and checks whether the outbox goes on.
func sinceThen(t *testing.T, want bool, first uint64) func(goesOn bool) (uint64, error) {
	return func(goesOn bool) (uint64, error) {
		expect.Equal(t, goesOn, want, "the outbox goes on")
		return first, nil
	}
}

// TestANodeThatTakesACopyCountsEachHitOnce has a node with hits that others have pulled in part begin with a copy of
// one of them. Its outbox goes on in the copy, so that all end with the same figures.
func TestANodeThatTakesACopyCountsEachHitOnce(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 7))
		disks, l := newCluster(t, newLog(), 3), ledger{all: rowtest.NewFlush()}
		a, b, c := openMem(t, disks[0]), openMem(t, disks[1]), openMem(t, disks[2])
		for _, s := range []*Store{a, b, c} {
			l.count(t, s, 5+rng.IntN(5))
		}
		for _, pair := range [][2]*Store{{a, b}, {a, c}, {b, a}, {b, c}, {c, a}, {c, b}} {
			pullSome(t, pair[0], pair[1], rng.IntN(8))
		}
		before, _ := b.OutboxID()
		if seed%2 == 0 { // so that a, or c, has the last record that was dropped
			byA, _, err := a.PulledThrough(before)
			expect.OK(t, err)
			byC, _, err := c.PulledThrough(before)
			expect.OK(t, err)
			_, err = b.DropOutbox(min(byA, byC))
			expect.OK(t, err)
		}
		expect.OK(t, b.NoteLacksHits())
		next := copyOf(t, a, disks[0])
		expect.OK(t, next.TakeOver(t.Context(), b.Rows, sinceThen(t, true, 0)))
		after, _ := next.OutboxID()
		expect.That(t, after == before && b.LacksHits() && !next.LacksHits(), "the outbox goes on: %t; hits are missing: %t, %t", after == before, b.LacksHits(), next.LacksHits())
		closeStore(t, b)
		closeStore(t, next)
		next = open(t, otherDir, Options{FS: disks[0]})
		l.count(t, next, 3)
		l.count(t, a, 3)
		l.want(t, fmt.Sprintf("seed %d", seed), a, next, c)
		for _, s := range []*Store{a, next, c} {
			closeStore(t, s)
		}
	}
}

// TestAFolderThatWasRolledBackGivesWhatItHasCountedSince rolls a node back behind what another one has pulled, and has
// it count fewer hits than were lost, as many, and more, before it begins with a copy.
func TestAFolderThatWasRolledBackGivesWhatItHasCountedSince(t *testing.T) {
	for _, since := range []int{0, 2, 4, 9} {
		what := fmt.Sprintf("%d hits since", since)
		disks, l := newCluster(t, newLog(), 2), ledger{all: rowtest.NewFlush()}
		a, b := openMem(t, disks[0]), openMem(t, disks[1])
		l.count(t, b, 5)
		pullSome(t, a, b, 1<<20)
		closeStore(t, b)
		snapshot := cloneStore(t, disks[1])
		b = openMem(t, disks[1])
		l.count(t, b, 4)
		pullSome(t, a, b, 1<<20)
		closeStore(t, b)

		b = openMem(t, snapshot)
		l.count(t, b, since)
		l.count(t, a, 3)
		old, _ := b.OutboxID()
		through, last, err := a.PulledThrough(old)
		expect.That(t, err == nil && through == 9, "%s: applied through %d, %v", what, through, err)
		has, err := b.RecordHash(through)
		expect.That(t, errors.Is(err, ErrOutboxUnknown) == (since < 4) && has != last, "%s: it is not seen: %x, %v", what, has, err)
		next, before := copyOf(t, a, disks[0]), everything(t, b)
		expect.OK(t, next.TakeOver(t.Context(), b.Rows, sinceThen(t, false, 6)))
		expect.That(t, maps.Equal(everything(t, b), before), "%s: the folder has changed", what)
		now, _ := next.OutboxID()
		expect.That(t, now != old, "%s: the outbox goes on, although others have other records of it", what)
		closeStore(t, b)
		l.count(t, next, 2)
		l.want(t, what, a, next)
		closeStore(t, a)
		closeStore(t, next)
	}
}

// TestACopyThatCannotTakeThePlaceOfANodesDataIsRefused, and changes nothing.
func TestACopyThatCannotTakeThePlaceOfANodesDataIsRefused(t *testing.T) {
	log := newLog()
	disks, l := newCluster(t, log, 2), ledger{all: rowtest.NewFlush()}
	a, b := openMem(t, disks[0]), openMem(t, disks[1])
	defer func() { closeStore(t, a); closeStore(t, b) }()
	l.count(t, b, 3)
	pullSome(t, a, b, 1)
	_, err := b.DropOutbox(2)
	expect.OK(t, err)
	next := copyOf(t, a, disks[0])
	defer func() { closeStore(t, next) }()
	id, _ := b.OutboxID()
	before := everything(t, b)
	expect.Error(t, next.TakeOver(t.Context(), b.Rows, nil), ErrOutboxDropped, "a copy that lacks what was dropped")
	expect.That(t, maps.Equal(everything(t, b), before), "the folder has changed")
	expect.OK(t, next.LeaveLog())
	expect.That(t, next.TakeOver(t.Context(), b.Rows, nil) != nil, "a copy of no cluster")
	expect.OK(t, next.JoinLog(clusterlog.ID{2}, newLog().head))
	expect.That(t, next.TakeOver(t.Context(), b.Rows, nil) != nil, "a copy of another cluster")
	now, _ := b.OutboxID()
	expect.Equal(t, now, id, "the outbox of the folder")
}

// TestACopyOfWhatLacksHitsLacksThem restores a backup of a store that lacks hits, and renews its outbox.
func TestACopyOfWhatLacksHitsLacksThem(t *testing.T) {
	disks := newCluster(t, newLog(), 1)
	s := openMem(t, disks[0])
	expect.That(t, !s.LacksHits(), "a new store lacks hits")
	expect.OK(t, s.NoteLacksHits())
	expect.OK(t, s.RenewOutbox())
	expect.That(t, s.LacksHits(), "with another outbox it lacks none")
	restored := copyOf(t, s, disks[0])
	expect.That(t, restored.LacksHits(), "the copy lacks none")
	closeStore(t, restored)
	closeStore(t, s)
	s = openMem(t, disks[0])
	defer closeStore(t, s)
	expect.That(t, s.LacksHits(), "after a restart it lacks none")
	wantSound(t, s)
	expect.OK(t, s.LeaveLog())
	expect.OK(t, s.NoteLacksHits())
	expect.OK(t, s.JoinLog(clusterlog.ID{1}, newLog().head))
	expect.That(t, !s.LacksHits(), "in another cluster it lacks hits")
}

// TestTheHashOfEachRecordIsKnown also that of the last one that was dropped, and also after a restart and for those who
// have pulled from the outbox before it was renewed.
func TestTheHashOfEachRecordIsKnown(t *testing.T) {
	disks, l := newCluster(t, newLog(), 2), ledger{all: rowtest.NewFlush()}
	s, other := openMem(t, disks[0]), openMem(t, disks[1])
	defer func() { closeStore(t, s); closeStore(t, other) }()
	l.count(t, s, 6)
	records := posted(t, s, 0).Records
	want := func(first uint64) {
		t.Helper()
		for position := range uint64(9) {
			has, err := s.RecordHash(position)
			switch {
			case position > 6:
				expect.Error(t, err, ErrOutboxUnknown, "record %d", position)
			case position < first-1:
				expect.Error(t, err, ErrOutboxDropped, "record %d", position)
			default:
				expect.That(t, err == nil && has == hashBefore(records, position+1), "record %d: %x, %v", position, has, err)
			}
		}
	}
	want(1)
	for _, through := range []uint64{1, 2, 5, 6} {
		_, err := s.DropOutbox(through)
		expect.OK(t, err)
		want(through + 1)
		closeStore(t, s)
		s = openMem(t, disks[0])
		want(through + 1)
	}
	old, _ := s.OutboxID()
	expect.OK(t, s.RenewOutbox())
	through, last, err := s.PulledThrough(old)
	expect.That(t, err == nil && through == 6 && last == row.HashRecord(records[5]), "of the old outbox: %d, %x, %v", through, last, err)
	has, err := s.RecordHash(0)
	expect.That(t, err == nil && has == RecordHash{}, "before the first record of the new one: %x, %v", has, err)
	l.count(t, s, 2)
	pullSome(t, other, s, 2)
	before, _ := s.OutboxID()
	last2 := row.HashRecord(posted(t, s, 0).Records[1])
	expect.OK(t, s.RenewOutboxFrom(2))
	through, last, err = s.PulledThrough(before)
	expect.That(t, err == nil && through == 2 && last == last2, "of the old outbox, with its records: %d, %x, %v", through, last, err)
	through, last, err = other.PulledThrough(before)
	expect.That(t, err == nil && through == 2 && last == last2, "at another node: %d, %x, %v", through, last, err)
}

// TestRecordsAreFoundByTheirTime looks for records that were made after a time.
func TestRecordsAreFoundByTheirTime(t *testing.T) {
	l := ledger{all: rowtest.NewFlush()}
	s := openCluster(t, newLog(), 1)[0]
	l.count(t, s, 3)
	made, err := madeMs(posted(t, s, 0).Records[2])
	expect.OK(t, err)
	for _, c := range []struct {
		after int64
		want  uint64
	}{{0, 1}, {made, 4}} {
		got, err := s.MadeAfter(c.after)
		expect.That(t, err == nil && got == c.want, "after %d: record %d, %v, want %d", c.after, got, err, c.want)
	}
	time.Sleep(2 * time.Millisecond)
	l.count(t, s, 2)
	got, err := s.MadeAfter(made)
	expect.That(t, err == nil && got == 4, "after the third: record %d, %v", got, err)
	_, err = s.DropOutbox(5)
	expect.OK(t, err)
	got, err = s.MadeAfter(0)
	expect.That(t, err == nil && got == 6, "in an empty outbox: record %d, %v", got, err)
}
