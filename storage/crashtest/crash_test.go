package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const (
	dataDir         = "/data/store"
	crashesAHistory = 25

	// A crash comes before one of the next file-system operations that write, of which there are up
	// to these numbers: a few milliseconds of work.
	writesToCrash     = 120
	writesToCrashOpen = 60
)

var owners = []uint32{1, 2}

// TestNothingAcknowledgedIsLostByACrash runs histories of operations from several goroutines. Each
// history crashes and is opened again many times. A kill leaves everything that was written, and
// the hit journal. A power cut leaves 0, 10 or 50 % of the data that was not synced, and the
// journal as it was some time before, in part, or not at all.
func TestNothingAcknowledgedIsLostByACrash(t *testing.T) {
	crashes, first := int(number(t, "SHUNTTEST_CRASHES", 60)), seed(t)
	total := new(crashTable)
	for i := uint64(0); total.crashes() < crashes && !t.Failed(); i++ {
		newHistory(t, first+i, total).run(min(crashesAHistory, crashes-total.crashes()))
		if t.Failed() {
			t.Logf("to repeat this history: SHUNTTEST_SEED=%d", first+i)
		}
	}
	t.Logf("\n%s", total)
}

// A judge collects failures: it is a test, or one fault of many.
type judge interface {
	Errorf(format string, args ...any)
	Failed() bool
	TempDir() string
}

// history is the life of a data folder.
type history struct {
	t      judge
	rng    *rand.Rand
	dir    string // for journals, which are real files
	ledger *ledger
	table  *crashTable

	nowMs   atomic.Int64
	goesOn  atomic.Bool // flushes are noted in the ledger
	noHits  atomic.Bool
	targets atomic.Uint64 // a number for each, so that no two attempts are equal
	drawn   atomic.Int64
	folders int
}

func newHistory(t judge, seed uint64, table *crashTable) *history {
	h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), ledger: newLedger(), table: table}
	h.nowMs.Store(time.Date(2026, 1, 2, 3, 59, 0, 0, time.UTC).UnixMilli())
	return h
}

func (h *history) now() time.Time { return time.UnixMilli(h.nowMs.Load()) }

func (h *history) newFolder() string {
	h.folders++
	return filepath.Join(h.dir, fmt.Sprint(h.folders))
}

// run crashes the given number of times.
func (h *history) run(crashes int) {
	defer os.RemoveAll(h.dir)
	last := &crash{fs: vfs.NewCrashableMem(), journal: h.newFolder()}
	for crashes > 0 && !h.t.Failed() {
		l := h.reopen(last)
		if l == nil {
			return
		}
		for range min(crashes, 1+h.rng.IntN(3)) {
			h.crash(l)
			crashes--
		}
		if err := l.close(); err != nil {
			h.t.Errorf("closing: %v", err)
		}
		_ = os.RemoveAll(l.journal)
		for _, c := range l.taken[:len(l.taken)-1] {
			h.examine(c)
		}
		last = l.taken[len(l.taken)-1]
		runtime.GC() // engines hold mapped memory, which only a collection frees
	}
	h.examine(last)
}

// life is the time from an opening to the last crash.
type life struct {
	*session
	trap    *trap
	fs      *vfs.MemFS
	journal string
	taken   []*crash
}

func (h *history) open(fs *vfs.MemFS, journal string, p *trap) (*life, error) {
	s, err := openSession(setting{
		fs: errorfs.Wrap(fs, errorfs.InjectorFunc(p.before)), dir: dataDir, journal: journal, now: h.now, log: quiet,
		flushInterval: time.Duration(1+h.rng.IntN(12)) * time.Millisecond,
		flushed: func(n map[uint64]uint64) {
			if h.goesOn.Load() {
				h.ledger.durable(n)
			}
		},
	})
	return &life{session: s, trap: p, fs: fs, journal: journal}, err
}

// reopen opens the files that c left, checks them, and goes on with them. Sometimes it crashes
// during the opening.
func (h *history) reopen(c *crash) *life {
	h.goesOn.Store(false)
	var again *crash
	p := new(trap)
	if h.rng.IntN(4) == 0 {
		again = h.plan(c.journal)
		p.set(1+h.rng.IntN(writesToCrashOpen), func() { again.take(c.fs, c.journal) })
	}
	l, err := h.open(c.fs, c.journal, p)
	if err != nil {
		h.t.Errorf("opening after a crash, %v: %v", c, err)
		return nil
	}
	crashed := !p.disarm()
	rows := h.check(l.session, c)
	entries := h.checkAudit(l.session, c, rows)
	if again != nil && crashed {
		again.of(c)
		h.examine(again)
	}
	h.ledger.settle(rows)
	h.ledger.settleEntries(entries)
	h.goesOn.Store(true)
	return l
}

// examine opens the files that c left, checks them, and closes them.
func (h *history) examine(c *crash) {
	h.goesOn.Store(false)
	l, err := h.open(c.fs, c.journal, new(trap))
	if err != nil {
		h.t.Errorf("opening after a crash, %v: %v", c, err)
		return
	}
	h.checkAudit(l.session, c, h.check(l.session, c))
	if err := l.close(); err != nil {
		h.t.Errorf("%v", err)
	}
	_ = os.RemoveAll(c.journal)
}

// crash runs l until it crashes.
func (h *history) crash(l *life) {
	h.goesOn.Store(true)
	h.noHits.Store(false)
	if len(l.taken) == 0 {
		l.start()
	}
	if h.rng.IntN(4) == 0 {
		h.nowMs.Add(int64(1+h.rng.IntN(5)) * 3600_000)
	}
	c := h.plan(l.journal)
	sprung := l.trap.set(1+h.rng.IntN(writesToCrash), func() {
		c.from, c.began = h.ledger.figures(), h.ledger.tick()
		c.atRisk = l.e.Metrics().JournalUnprotected
		c.take(l.fs, l.journal)
		c.ended, c.to = h.ledger.tick(), h.ledger.figures()
	})
	h.work(l, sprung)
	l.taken = append(l.taken, c)
}
