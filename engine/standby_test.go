package engine_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/tally"
)

// sickDisk decides how a journal's disk answers the keeper.
type sickDisk struct {
	hold atomic.Pointer[chan struct{}] // it answers once this is closed
	fail atomic.Pointer[error]         // it answers with this

	asked atomic.Uint64
}

func (d *sickDisk) ask(*os.File) error {
	d.asked.Add(1)
	if hold := d.hold.Load(); hold != nil {
		<-*hold
	}
	if err := d.fail.Load(); err != nil {
		return *err
	}
	return nil
}

// stall makes the disk not answer until resume is called.
func (d *sickDisk) stall() (resume func()) {
	hold := make(chan struct{})
	d.hold.Store(&hold)
	return func() {
		d.hold.Store(nil)
		close(hold)
	}
}

// onSickDisk calls f with an engine that runs over a journal on d, in faked time.
func onSickDisk(t *testing.T, o engine.Options, f func(l *life, d *sickDisk)) {
	synctest.Test(t, func(t *testing.T) {
		var d sickDisk
		l := newLife(t, 1)
		defer l.stop()
		l.open(o)
		l.AskFilesBy(d.ask)
		l.running(func() { f(l, &d) })
	})
}

func (l *life) wantStandby(want bool) {
	l.t.Helper()
	expect.Equal(l.t, l.Metrics().JournalStandby, want, "hits go to memory")
}

func (l *life) wantUnprotected(want uint64) {
	l.t.Helper()
	expect.Equal(l.t, l.Metrics().JournalUnprotected, want, "a kill would lose hits")
}

func (l *life) wantHits(want uint64) {
	l.t.Helper()
	s, err := l.Stats(context.Background(), keyOf("link0"))
	expect.That(l.t, err == nil && s.Hits == want, "got %d hits, %v; want %d", s.Hits, err, want)
}

func (l *life) wantDurable(want uint64) {
	l.t.Helper()
	expect.Equal(l.t, l.durable(0), want, "hits in the store")
}

func TestHitsGoToMemoryWhileTheJournalDiskStalls(t *testing.T) {
	onSickDisk(t, engine.Options{}, func(l *life, d *sickDisk) {
		l.hit(0, 3, 1)
		time.Sleep(time.Minute)
		l.wantStandby(false)
		l.wantUnprotected(0)
		l.wantLog(0)

		resume := d.stall()
		time.Sleep(12 * time.Second) // without hits nobody asks the disk
		l.wantStandby(false)
		l.wantLog(0)
		l.hit(0, 5, 2)
		synctest.Wait() // the keeper writes its line after the switch
		l.wantStandby(true)
		l.wantLog(1, "does not answer", "folder=")
		l.wantHits(8)
		l.wantUnprotected(5)
		expect.NoError(t, l.FlushRecorded(context.Background()))
		l.wantDurable(8)
		l.wantUnprotected(0)
		l.hit(0, 7, 3)
		time.Sleep(time.Second) // folded

		resume()
		time.Sleep(2 * time.Second)
		l.wantStandby(false)
		l.wantDurable(15) // without waiting for the next interval, which is an hour
		got := l.log.take()
		expect.That(t, len(got) == 1 && strings.Contains(got[0], "answers again"), "got these lines: %q", got)
		l.hit(0, 1, 4)
		l.wantUnprotected(0)
		l.wantHits(16)
	})
}

// TestAKillLosesOnlyTheHitsInMemoryThatWereNotFlushed also checks that no hit counts twice.
func TestAKillLosesOnlyTheHitsInMemoryThatWereNotFlushed(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 3, 1)
	l.UseStandby(true)
	l.hit(0, 5, 2)
	expect.OK(t, l.flush())
	l.hit(0, 7, 3)
	l.UseStandby(false)
	l.hit(0, 11, 4)
	l.wantUnprotected(7)
	l.crash()
	for range 2 { // a start, and another one on the state that it left
		l.open(engine.Options{})
		l.wantHits(3 + 5 + 11)
		l.crash()
	}
	l.wantLog(0)
}

func TestAStopLosesNoHitInMemory(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.UseStandby(true)
	l.hit(0, 5, 1)
	l.close()
	l.wantDurable(5)
	if files := journalFiles(t, l.dir); len(files) != 3 { // rings and dictionary
		t.Errorf("these files are left: %q", files)
	}
}

func TestAFailingJournalDiskIsTreatedLikeAStalledOne(t *testing.T) {
	onSickDisk(t, engine.Options{}, func(l *life, d *sickDisk) {
		broken := errors.New("input/output error")
		d.fail.Store(&broken)
		time.Sleep(time.Minute)
		l.wantStandby(true)
		l.wantLog(1, "input/output error")
		l.hit(0, 5, 1)
		l.wantUnprotected(5)
		time.Sleep(time.Second) // folded
		d.fail.Store(nil)
		time.Sleep(2 * time.Second)
		l.wantStandby(false)
		l.wantUnprotected(0)
		l.wantDurable(5)
	})
}

// TestHitsThatFillTheirPagesSwitchToMemorySooner lets hits reach the end of the writable pages
// while the disk takes half a second, which alone is not a reason to switch.
func TestHitsThatFillTheirPagesSwitchToMemorySooner(t *testing.T) {
	for hits, want := range map[int]bool{1: false, 200: true} {
		onSickDisk(t, engine.Options{Rings: 1, RingRecords: 1024}, func(l *life, d *sickDisk) {
			time.Sleep(time.Second)
			resume := d.stall()
			time.Sleep(300 * time.Millisecond) // the keeper asks
			l.hit(0, hits, 1)
			time.Sleep(500 * time.Millisecond)
			l.wantStandby(want)
			resume()
			l.wantHits(uint64(hits))
		})
	}
}

// TestNoHitIsLostWhileBothJournalDiskAndStoreStall has more hits than a standby ring takes.
func TestNoHitIsLostWhileBothJournalDiskAndStoreStall(t *testing.T) {
	onSickDisk(t, engine.Options{Rings: 1, RingRecords: 256}, func(l *life, d *sickDisk) {
		l.hit(0, 100, 1)
		resume, hold := d.stall(), make(chan struct{})
		l.gate.hold.Store(&hold)
		time.Sleep(12 * time.Second)
		l.hit(0, 1000, 2)
		l.wantHits(1100)
		l.wantUnprotected(1000)
		l.gate.hold.Store(nil)
		close(hold)
		resume()
		time.Sleep(5 * time.Second)
		l.wantUnprotected(0)
		l.wantHits(1100)
		l.wantDurable(1100)
		m := l.Metrics()
		expect.Equal(t, m.HitsMissing, 0, "hits are missing")
	})
}

// TestAJournalWithoutHitsRests has nobody look for hits or ask the disk while there are none, and the next
// hit counted as soon as any other.
func TestAJournalWithoutHitsRests(t *testing.T) {
	onSickDisk(t, engine.Options{FlushInterval: time.Second}, func(l *life, d *sickDisk) {
		for i := range 3 {
			time.Sleep(10 * time.Second)
			asked := d.asked.Load()
			expect.MustThat(t, l.Rests() && asked != 0, "round %d: it rests: %v; the disk was asked %d times", i, l.Rests(), asked)
			time.Sleep(time.Hour)
			now := d.asked.Load()
			expect.Equal(t, now, asked, "round %d: in an hour without hits the disk was asked %d times", i, now-asked)
			l.hit(0, 1, uint64(i))
			l.wantUnprotected(0)
			expect.That(t, !l.Rests(), "round %d: it rests although a hit came", i)
			time.Sleep(20 * time.Millisecond)
			if m := l.Metrics(); m.Redirects[tally.ClassHit] != uint64(i+1) || m.JournalWaits != 0 {
				t.Errorf("round %d: %d hits were folded, %d waited for room", i, m.Redirects[tally.ClassHit], m.JournalWaits)
			}
			time.Sleep(1100 * time.Millisecond)
			l.wantDurable(uint64(i + 1))
		}
		l.wantLog(0)
	})
}

// TestANewReferrerWakesAJournalThatRests looks a name up before there is a hit, as a redirect does.
func TestANewReferrerWakesAJournalThatRests(t *testing.T) {
	onSickDisk(t, engine.Options{}, func(l *life, d *sickDisk) {
		time.Sleep(10 * time.Second)
		if n := l.Referrer([]byte("new.example")); n == tally.OtherReferrer || l.Rests() {
			t.Errorf("the name has number %d; it rests: %v", n, l.Rests())
		}
		time.Sleep(10 * time.Second)
		defer d.stall()()
		expect.Equal(t, l.Referrer([]byte("newer.example")), tally.OtherReferrer, "while the disk stalls the name has number")
		l.wantStandby(true)
		l.log.take()
	})
}

// TestHitsAfterTheLoopsHaveEndedDoNotWaitForThem has hits come in the last moment of a journal that rests.
func TestHitsAfterTheLoopsHaveEndedDoNotWaitForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t, 1)
		defer l.stop()
		l.open(engine.Options{})
		l.running(func() { time.Sleep(10 * time.Second) })
		l.hit(0, 2, 1)
		l.wantHits(2)
	})
}

func TestNoNewReferrerIsStoredWhileTheDiskStalls(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	known := l.Referrer([]byte("known.example"))
	l.UseStandby(true)
	other := l.Referrer([]byte("new.example"))
	again := l.Referrer([]byte("known.example"))
	expect.That(t, again == known, "a stored name has number %d, had %d", again, known)
	expect.Equal(t, l.Metrics().ReferrersRefused, 1, "names were refused")
	l.UseStandby(false)
	now := l.Referrer([]byte("new.example"))
	expect.That(t, now != other && now != known, "when the disk answers: got %d", now)
	l.close()
}
