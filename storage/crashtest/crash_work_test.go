package crashtest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine"
	"shunt/engine/extras"
)

const (
	workers      = 4
	aliases      = 40
	races        = 6
	accounts     = 8
	mostDrawn    = 40 // in a history
	patienceLong = 20 * time.Second
)

// work runs workers until sprung is closed. In half of the crashes they stop hitting before it, so
// that the number of answered hits is known exactly.
func (h *history) work(l *life, sprung <-chan struct{}) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range uint32(workers) {
		w := &worker{h: h, s: l.session, number: i, rng: rand.New(rand.NewPCG(h.rng.Uint64(), 2)), stuck: map[string]bool{}}
		wg.Go(func() {
			for !stop.Load() {
				w.step()
			}
		})
	}
	if h.rng.IntN(2) == 0 {
		h.noHits.Store(true)
	}
	select {
	case <-sprung:
	case <-time.After(patienceLong):
		h.t.Errorf("the crash did not come")
	}
	stop.Store(true)
	wg.Wait()
}

// worker writes the rows that belong to it, so that the ledger knows their order, and aliases for
// which other workers race; it hits any link.
type worker struct {
	h      *history
	s      *session
	number uint32
	rng    *rand.Rand
	stuck  map[string]bool // rows whose last outcome is unknown
}

func (w *worker) step() {
	switch n := w.rng.IntN(100); {
	case n < 12:
		w.create(w.alias())
	case n < 18:
		w.draw()
	case n < 38:
		w.edit(w.any())
	case n < 46:
		w.delete(w.any())
	case n < 52:
		w.race()
	case n < 60:
		w.account()
	default:
		w.hit()
	}
}

func (w *worker) own(row string) bool {
	return crc32.ChecksumIEEE([]byte(strings.ToLower(row)))%workers == w.number && !w.stuck[row]
}

// alias draws an alias that belongs to the worker.
func (w *worker) alias() string {
	for {
		if row := fmt.Sprintf("alias-%d", w.rng.IntN(aliases)); w.own(row) {
			return row
		}
	}
}

// any draws a code that belongs to the worker, preferably one in the ledger.
func (w *worker) any() string {
	names := w.h.ledger.names()
	for range 8 {
		if len(names) == 0 {
			break
		}
		if row := names[w.rng.IntN(len(names))]; w.own(row) && !strings.HasPrefix(row, accountRow) {
			return row
		}
	}
	return w.alias()
}

// someSplit gives each link the targets 1 to someTargets: its own address has a number, too.
var someSplit = []extras.Share{{URL: "https://a.example/", Weight: 1}, {URL: "https://b.example/", Weight: 1}}

const someTargets = 3

func (w *worker) draft() engine.Draft {
	d := engine.Draft{
		Owner:          owners[w.rng.IntN(len(owners))],
		Target:         fmt.Sprintf("https://example.com/%d/%s", w.h.targets.Add(1), strings.Repeat("x", w.rng.IntN(60))),
		RedirectStatus: []int{301, 302, 307, 308}[w.rng.IntN(4)],
		Texts:          engine.Texts{Title: strings.Repeat("t", w.rng.IntN(20))},
		MaxHits:        []uint64{0, 0, 3, 1000}[w.rng.IntN(4)],
		Split:          someSplit,
	}
	for _, tag := range []string{"a", "b", "c"} {
		if w.rng.IntN(2) == 0 {
			d.Tags = append(d.Tags, tag)
		}
	}
	if w.rng.IntN(3) == 0 {
		d.ExpiresAt = w.h.now().AddDate(2, 0, w.rng.IntN(100)).Truncate(time.Second)
	}
	if w.rng.IntN(20) == 0 {
		d.Target += strings.Repeat("y", 6000) // so that memtables fill up
	}
	return d
}

// attempt notes that row is about to be created.
func (w *worker) attempt(row string, d *engine.Draft) *attempt {
	return w.h.ledger.begin(attempt{row: row, state: showsDraft(d), hits: &hits{limit: d.MaxHits}})
}

// outcome notes the outcome of a. The errors in refusals are allowed.
func (w *worker) outcome(a *attempt, d engine.Detail, err error, refusals ...error) {
	if err == nil {
		w.h.ledger.acknowledge(a, d.Code, d.Version, d.ID)
		return
	}
	if errors.Is(err, engine.ErrOutcomeUnknown) {
		w.stuck[a.row] = true
		return
	}
	w.h.ledger.refuse(a)
	for _, may := range append(refusals, engine.ErrOverloaded) {
		if errors.Is(err, may) {
			return
		}
	}
	w.h.t.Errorf("%s: %v", a.row, err)
}

func (w *worker) create(row string) {
	if w.h.ledger.last(row).state != "" {
		return
	}
	d := w.draft()
	d.Alias = row
	a := w.attempt(row, &d)
	d.By = w.h.by(a, w.rng)
	detail, _, err := w.s.e.Create(context.Background(), d)
	w.outcome(a, detail, err, engine.ErrTaken) // by a tombstone of the other owner
}

func (w *worker) draw() {
	if w.h.drawn.Add(1) > mostDrawn {
		return
	}
	d := w.draft()
	a := w.attempt("", &d)
	d.By = w.h.by(a, w.rng)
	detail, _, err := w.s.e.Create(context.Background(), d)
	w.outcome(a, detail, err)
}

// race creates an alias that other workers create too, in lower or upper case. The worker to which
// the row belongs deletes it.
func (w *worker) race() {
	d := w.draft()
	d.Alias, d.Owner = fmt.Sprintf("race-%d", w.rng.IntN(races)), 1
	if w.rng.IntN(2) == 0 {
		d.Alias = strings.ToUpper(d.Alias)
	}
	a := w.attempt(d.Alias, &d)
	d.By = w.h.by(a, w.rng)
	detail, _, err := w.s.e.Create(context.Background(), d)
	w.outcome(a, detail, err, engine.ErrTaken)
}

func (w *worker) edit(row string) {
	old := w.h.ledger.last(row)
	if old.state == "" {
		return
	}
	d := w.draft()
	l, ok := w.s.e.Resolve(keyOf(row).View())
	if !ok {
		w.h.t.Errorf("%s does not resolve", row)
		return
	}
	d.Owner, d.MaxHits = l.Owner(), old.hits.limit
	l.Release()
	a := w.h.ledger.begin(attempt{row: row, state: showsDraft(&d), version: old.version + 1, hits: old.hits})
	detail, err := w.s.e.Update(context.Background(), keyOf(row), engine.Guard{AnyOwner: true, Version: old.version, By: w.h.by(a, w.rng)}, func(r *engine.Record) error {
		flags, _ := engine.StatusFlags(d.RedirectStatus)
		r.Hot.Target, r.Hot.Flags, r.Hot.ExpiresAtMs = d.Target, flags, expiryMs(d.ExpiresAt)
		r.Cold.Title, r.Cold.Tags = d.Title, d.Tags
		return nil
	})
	w.outcome(a, detail, err)
}

// delete deletes a link, and in half of the cases restores it at once.
func (w *worker) delete(row string) {
	old := w.h.ledger.last(row)
	if old.state == "" {
		return
	}
	a := w.h.ledger.begin(attempt{row: row})
	remove := w.s.e.Delete
	if w.rng.IntN(4) == 0 {
		remove = w.s.e.Purge
	}
	err := remove(context.Background(), keyOf(row), engine.Guard{AnyOwner: true, By: w.h.by(a, w.rng)})
	w.outcome(a, engine.Detail{}, err)
	if err == nil && w.rng.IntN(2) == 0 {
		w.restore(row, old)
	}
}

// restore brings a link back as it was before its deletion, with its hits, unless it was purged or its code was taken.
func (w *worker) restore(row string, was *attempt) {
	a := w.h.ledger.begin(attempt{row: row, state: was.state, version: was.version + 2, hits: was.hits})
	detail, err := w.s.e.Restore(context.Background(), keyOf(row), engine.Guard{AnyOwner: true, By: w.h.by(a, w.rng)})
	w.outcome(a, detail, err, engine.ErrTaken, engine.ErrNotFound)
}

func (w *worker) account() {
	key := fmt.Sprintf("%d", w.rng.IntN(accounts))
	row := accountRow + key
	if !w.own(row) {
		return
	}
	var sets [][2][]byte
	var deletes [][]byte
	a := attempt{row: row}
	if w.rng.IntN(3) == 0 {
		deletes = [][]byte{[]byte(key)}
	} else {
		a.state = fmt.Sprintf("value %d", w.h.targets.Add(1))
		sets = [][2][]byte{{[]byte(key), []byte(a.state)}}
	}
	noted := w.h.ledger.begin(a)
	w.outcome(noted, engine.Detail{}, w.s.writeAccounts(sets, deletes, w.h.auditOfAccount(key, noted, w.rng)))
}

// hit redirects some of the known visitors.
func (w *worker) hit() {
	names := w.h.ledger.names()
	if len(names) == 0 {
		return
	}
	row := names[w.rng.IntN(len(names))]
	last := w.h.ledger.last(row)
	if last.hits == nil {
		return
	}
	for range 1 + w.rng.IntN(8) {
		l, ok := w.s.e.Resolve(keyOf(row).View())
		if !ok || w.h.noHits.Load() || l.ID() != last.hits.id.Load() { // it was deleted, and perhaps created again
			return
		}
		visitor := w.rng.IntN(6)
		last.hits.hit(visitor, func() bool {
			return w.s.e.Hit(l, engine.Visit{
				Visitor: spread(uint64(visitor)), NowMs: w.h.nowMs.Load(), Kind: engine.KindOf(engine.ClassHit, uint8(visitor%(someTargets+1))),
			})
		})
		l.Release()
	}
}

// spread hashes the number of a visitor: a sketch expects uniform bits (SplitMix64's finalizer).
func spread(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
