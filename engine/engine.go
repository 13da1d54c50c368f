package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"shunt/engine/caps"
	"shunt/engine/hit"
	"shunt/engine/index"
	"shunt/engine/internal/clock"
	"shunt/engine/internal/errs"
	"shunt/engine/internal/settings"
	"shunt/engine/link"
)

// Engine is the redirect engine: the links of a store and their hits. Its methods may be called from any
// number of goroutines at once, from Open to Close; until Load is done, those that need all links fail with
// ErrLoading. See the package comment for the design.
type Engine struct {
	links
	hits
	clock clock.Clock

	store      Store
	options    settings.Options
	closeBy    atomic.Pointer[time.Time] // see CloseBy; nil: CloseTimeout counts
	loopsEnded chan struct{}             // closed when all of Run's goroutines except the keeper have returned; nil before Run
}

type (
	links = link.Links
	hits  = hit.Hits
)

// Open returns an engine over store. It replays and commits the records of the journal in
// o.JournalDir that the store does not have, and starts a new epoch of the journal. It starts no
// goroutine. Call Run and Load then, in any order: until Load is done, Fetch finds the links that
// Resolve does not.
func Open(store Store, o settings.Options) (*Engine, error) {
	if err := o.SetDefaults(); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e := &Engine{store: store, options: o}
	shared := &caps.Shared{Exists: o.Cluster, Writer: o.EdgeOfWriter}
	id := store.Identity()
	of := hit.Links{Index: e.links.Open(store, id, &o, &e.clock, &e.hits, shared), Ready: e.Ready, Origin: e.origin}
	if !o.Cluster {
		of.CleanUp = e.CleanUp
	}
	if err := e.hits.Open(store, id, &o, &e.clock, of, shared); err != nil {
		return nil, err
	}
	return e, nil
}

// origin is hit.Links.Origin. It takes no lock: what it reads of a link never changes.
func (e *Engine) origin(k index.Key, id uint64) (hit.Origin, error) {
	rec, err := e.store.ReadRecord(k)
	switch {
	case errors.Is(err, errs.ErrNotFound), err == nil && rec.Hot.ID != id:
		return hit.Origin{}, nil
	case err != nil:
		return hit.Origin{}, err
	}
	o := hit.Origin{CreatedAt: e.firstHits(&rec.Cold), UndatedHits: rec.Cold.UndatedHits()}
	if at := rec.Cold.ImportedAtMs; at != 0 {
		o.ImportedAt = time.UnixMilli(at)
	}
	return o, nil
}

// firstHits returns the time from which on a link may have hits: its creation, or the begin of the first day of which
// its import brought some along, which may be earlier.
func (e *Engine) firstHits(c *Cold) time.Time {
	created := time.UnixMilli(c.CreatedAtMs)
	for d := range c.Daily.All() {
		if day := clock.HourTime(e.store.Zone().Begin(d.Day)); day.Before(created) {
			return day
		}
		break
	}
	return created
}

// RecordAsked answers an edge that asks this engine, which is of no cluster, about redirects of links with a cap: it
// records the hits that it grants. Nothing is granted of a link that this engine does not have. Hits of targets with
// numbers that the link never gave count for the link alone. Error: ErrLoading.
func (e *Engine) RecordAsked(asks []CapAsk) ([]CapAnswer, error) {
	if !e.Ready() {
		return nil, errs.ErrLoading
	}
	answers := make([]CapAnswer, len(asks))
	for i := range asks {
		a := &asks[i]
		if !a.Key().View().Valid() || a.Hits != uint64(len(a.Visits)) {
			continue
		}
		e.forgetStrangeTargets(a)
		l, ok := e.Resolve(a.Key().View())
		if !ok {
			continue
		}
		if l.ID() == a.ID {
			n := e.RecordTold(l, a.Visits)
			answers[i] = CapAnswer{Granted: n, Spent: n < a.Hits}
		}
		l.Release()
	}
	return answers, nil
}

// forgetStrangeTargets makes hits of a that are of targets to which the link never gave such a number hits of the link
// alone. An edge that counts such hits is at fault, and a later target of that number would have them. The record is
// read once for all hits, and only if some have targets; if it cannot be read, the link has given no number.
func (e *Engine) forgetStrangeTargets(a *CapAsk) {
	if !slices.ContainsFunc(a.Visits, func(v CapVisit) bool { return v.Target != 0 }) {
		return
	}
	last := uint8(0)
	if rec, err := e.store.ReadRecord(a.Key()); err == nil && rec.Hot.ID == a.ID {
		last = rec.Cold.LastTarget
	}
	for i := range a.Visits {
		if v := &a.Visits[i]; v.Target > last {
			v.Target = 0
		}
	}
}

// Now returns the time in use: that of the computer's clock, unless that shows a day before all days of which
// figures are kept. Then it is certainly wrong, and the time runs on from where it was.
func (e *Engine) Now() time.Time { return e.clock.InUse() }

// VisitorKey returns the store's secret key for SipHash-2-4, as two little-endian words.
func (e *Engine) VisitorKey() (k0, k1 uint64) {
	k := e.store.Identity().VisitorKey
	return binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])
}

// CheckJournal verifies the files that the engine has mapped. It is the function CheckJournal with
// live set.
func (e *Engine) CheckJournal(faults *Faults) (JournalReport, error) {
	return e.hits.CheckJournal(faults)
}
