package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage"
)

var quiet = slog.New(slog.DiscardHandler)

// setting is where and how a session is opened.
type setting struct {
	fs            vfs.FS
	dir, journal  string
	now           func() time.Time
	flushInterval time.Duration
	log           *slog.Logger
	flushed       func(hits map[uint64]uint64) // called after each flush, if set
	floor         storage.Floor
}

// session is engine and store opened as a server opens them.
type session struct {
	store *storage.Store
	e     *engine.Engine
	stop  func() // ends and joins the goroutines of start
}

// watched is a store that reports the hits that each flush has committed.
type watched struct {
	*storage.Store
	flushed func(hits map[uint64]uint64)
}

func (w watched) Flush(b engine.FlushBatch) error {
	sum := map[uint64]uint64{}
	_ = b.Links(func(_ uint32, id uint64, t *engine.Tally) error {
		sum[id] += t.Hits
		return nil
	})
	err := w.Store.Flush(b)
	if err == nil && w.flushed != nil {
		w.flushed(sum)
	}
	return err
}

// openSession opens both and loads the links. No goroutine runs before start.
func openSession(o setting) (*session, error) {
	store, err := storage.Open(o.dir, storage.Options{Create: true, FS: o.fs, Logger: o.log, MinFree: o.floor, VisitorKey: new([16]byte)})
	if err != nil {
		return nil, err
	}
	e, err := engine.Open(watched{store, o.flushed}, engine.Options{
		JournalDir: o.journal, Rings: 2, RingRecords: 256, FlushInterval: o.flushInterval,
		Logger: o.log, Now: o.now, ClockSettles: -1,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s := &session{store: store, e: e, stop: func() {}}
	if err := e.Load(context.Background(), nil); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) start() {
	var engineDone, storeDone sync.WaitGroup
	engineCtx, stopEngine := context.WithCancel(context.Background())
	storeCtx, stopStore := context.WithCancel(context.Background())
	engineDone.Go(func() { _ = s.e.Run(engineCtx) })
	storeDone.Go(func() { _ = s.store.Run(storeCtx) })
	s.stop = func() {
		stopEngine()
		engineDone.Wait()
		stopStore()
		storeDone.Wait()
	}
}

func (s *session) close() error {
	s.stop()
	return errors.Join(s.e.Close(), s.store.Close())
}

// writeAccounts writes rows of accounts and an entry of the audit log, if any, and waits for them as long as writers of
// links wait.
func (s *session) writeAccounts(sets [][2][]byte, deletes [][]byte, entry *engine.AuditEntry) error {
	done := make(chan error, 1)
	s.store.Accounts().Write(sets, deletes, entry, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-time.After(engine.CommitTimeout):
		return engine.ErrOutcomeUnknown
	}
}

// shows returns what a link shows of itself, except its version and its hits.
func shows(target, title string, tags []string, owner uint32, limit uint64, expiresAtMs int64, status int) string {
	return fmt.Sprintf("%q %q %q owner %d cap %d expires %d status %d", target, title, tags, owner, limit, expiresAtMs, status)
}

func showsDraft(d *engine.Draft) string {
	return shows(d.Target, d.Title, d.Tags, d.Owner, d.MaxHits, expiryMs(d.ExpiresAt), d.RedirectStatus)
}

func expiryMs(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// read returns the state of a code, which must be the same by Resolve and by Read, and the figures
// of its link.
func (s *session) read(code string) (f found, err error) {
	l, ok := s.e.Resolve(keyOf(code).View())
	detail, err := s.e.Read(keyOf(code))
	if !ok && errors.Is(err, engine.ErrNotFound) {
		return found{}, nil
	}
	if err != nil {
		return found{}, fmt.Errorf("reading %s, which resolves (%v): %w", code, ok, err)
	}
	if !ok {
		return found{}, fmt.Errorf("%s does not resolve, and reads as %+v", code, detail)
	}
	d := &detail
	f = found{
		state:   shows(d.Target, d.Title, d.Tags, d.Owner, d.MaxHits, expiryMs(d.ExpiresAt), d.RedirectStatus),
		version: d.Version, id: d.ID,
	}
	redirects := shows(string(l.AppendTarget(nil)), d.Title, d.Tags, l.Owner(), l.MaxHits(), l.ExpiresAtMs(), l.Flags().RedirectStatus())
	l.Release()
	if redirects != f.state || l.ID() != d.ID {
		return found{}, fmt.Errorf("%s resolves to %s, and reads as %s", code, redirects, f.state)
	}
	stats, err := s.e.Stats(context.Background(), keyOf(code))
	if err == nil && stats.Hits != detail.Hits {
		err = fmt.Errorf("%s has %d hits and %d", code, stats.Hits, detail.Hits)
	}
	f.counted, f.unique = stats.Hits, stats.Unique
	return f, errors.Join(err, s.checkTargets(code, stats.Hits))
}

// checkTargets checks that the targets of a link have its hits.
func (s *session) checkTargets(code string, hits uint64) error {
	r, err := s.e.LinkReport(context.Background(), keyOf(code), engine.Query{AllTime: true, Targets: true})
	sum := uint64(0)
	for _, t := range r.Targets {
		sum += t.Hits
	}
	if err == nil && sum != hits {
		err = fmt.Errorf("%s has %d hits, and its targets %v", code, hits, r.Targets)
	}
	return err
}

// codes returns every live code in the hot rows, with its owner.
func (s *session) codes() (codes map[string]uint32, err error) {
	var mu sync.Mutex
	codes = map[string]uint32{}
	err = s.store.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		mu.Lock()
		defer mu.Unlock()
		if h.Flags&engine.FlagTombstone == 0 {
			codes[string(h.Code)] = h.Owner
		}
		return nil
	}))
	return codes, err
}

// checkTogether checks the invariants across rows: the lists of owners are the live links, and the
// figures of owners are the sums of the figures of all links that they had.
func (s *session) checkTogether(owners ...uint32) error {
	codes, err := s.codes()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var ofLinks, ofOwners uint64
	view, err := s.store.View()
	if err != nil {
		return err
	}
	err = errors.Join(view.LoadHits(context.Background(), func(_, n uint64) {
		mu.Lock()
		defer mu.Unlock()
		ofLinks += n
	}), view.Close())
	if err != nil {
		return err
	}
	listed := 0
	for _, owner := range owners {
		err := s.store.ListLinks(owner, "", func(_ uint64, k engine.KeyView) bool {
			if codes[string(k.Code)] == owner {
				listed++
			}
			return true
		})
		if err != nil {
			return err
		}
		r, err := s.e.OwnerReport(context.Background(), []uint32{owner}, engine.Subset{}, engine.Query{Interval: engine.Daily, From: time.Unix(0, 0)})
		if err != nil {
			return err
		}
		ofOwners += r.Hits
	}
	if listed != len(codes) || ofLinks != ofOwners {
		return fmt.Errorf("%d links of %d are listed, %d hits of links and %d of owners", listed, len(codes), ofLinks, ofOwners)
	}
	return nil
}
