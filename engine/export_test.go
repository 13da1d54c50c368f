package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"shunt/engine/internal/mmap"
)

// DrawFrom makes the engine draw codes from r.
func (e *Engine) DrawFrom(r io.Reader) { e.random = r }

// Abandon leaves the engine as a killed process would: nothing is folded or flushed, and the
// journal's files have the records.
func (e *Engine) Abandon() error { return errors.Join(e.loading.drop(), e.journal.Close()) }

// RefillIDs allocates ids until ctx is done.
func (e *Engine) RefillIDs(ctx context.Context) { e.refillIDs(ctx) }

// CloseHours folds and rolls up every hour that is over.
func (e *Engine) CloseHours(ctx context.Context) error {
	e.pending.fold()
	for e.flusher.rollUp = true; e.flusher.rollUp; {
		if err := e.rollUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// RollUp does one turn of the roll-up, with the engine's clock.
func (e *Engine) RollUp(ctx context.Context) error { return e.rollUp(ctx) }

// TombstoneHolds reports whether a code that was deleted at that time is still taken.
func (e *Engine) TombstoneHolds(deletedAtMs int64) bool { return e.tombstoneHolds(deletedAtMs) }

// BreakMapping maps files by f until the test ends.
func BreakMapping(t *testing.T, f func(*os.File, int) ([]byte, error)) {
	disk.Map = f
	t.Cleanup(func() { disk.Map = nil })
}

// BreakWrites writes the journal's new files by f, which may call write, until the test ends or
// BreakWrites is called again.
func BreakWrites(t *testing.T, f func(write func() error) error) {
	disk.Write = func(file *os.File, b []byte) error {
		written = append(written, file)
		return f(func() error { _, err := file.Write(b); return err })
	}
	t.Cleanup(func() { disk.Write = nil })
}

var written []*os.File // by BreakWrites

// EndProcess releases the locks of the written files, as the end of a process does.
func EndProcess() {
	for _, f := range written {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	}
	written = nil
}

// RingPath returns the path of ring number i of the store's epoch.
func RingPath(dir string, s Store, i int) (string, error) {
	p, err := s.Positions()
	id := s.Identity().StoreID
	name := fmt.Sprintf("ring-%x-%d-%02d", id[:8], p.Epoch, i)
	return filepath.Join(dir, name), err
}

// LimitScans makes n the largest number of links that a query scans, until the test ends.
func LimitScans(t *testing.T, n int) {
	before := maxScannedLinks
	maxScannedLinks = n
	t.Cleanup(func() { maxScannedLinks = before })
}

// Fold folds all records.
func (e *Engine) Fold() { e.pending.fold() }

// AtRisk returns the number of records that are in the journal alone, and of those that are only in
// memory.
func (e *Engine) AtRisk() (inJournal, lost uint64) { return e.journal.AtRisk() }

// NoMapping returns the error of mapping f that err causes.
func NoMapping(f *os.File, err error) error {
	return fmt.Errorf("%w: %s: %w", mmap.ErrNoMapping, f.Name(), err)
}

// AskFilesBy has the keeper probe journal files by f. Run must not have begun.
func (e *Engine) AskFilesBy(f func(*os.File) error) { e.keeper.Ask = f }

// Rests reports whether the journal rests and nothing looks for hits.
func (e *Engine) Rests() bool { return e.flusher.idle.Load() && e.journal.Resting() }

// UseStandby sends hits to the standby rings, or to the files, as if the disk had stalled or
// answered again.
func (e *Engine) UseStandby(standby bool) { e.journal.UseStandby(standby) }

// RankingsMade returns how often all links in memory were ranked.
func (e *Engine) RankingsMade() uint64 { return e.rankings.made.Load() }

// RefreshRankings makes the rankings that are in use again, as a loop does every minute.
func (e *Engine) RefreshRankings() {
	for _, owners := range e.rankings.used(e.now()) {
		e.refreshRanking(context.Background(), owners)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
