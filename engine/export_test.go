package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"shunt/engine/internal/mmap"
	"shunt/engine/internal/seams"
)

// Abandon leaves the engine as a killed process would: nothing is folded or flushed, and the
// journal's files have the records.
func (e *Engine) Abandon() error { return e.Release() }

// RefillIDs allocates ids until ctx is done.
func (e *Engine) RefillIDs(ctx context.Context) { e.links.Loops()[0](ctx) }

// CloseHours folds and rolls up every hour that is over.
func (e *Engine) CloseHours(ctx context.Context) error {
	if err := e.FoldNow(ctx); err != nil {
		return err
	}
	for {
		more, err := e.hits.RollUp(ctx)
		if !more || err != nil {
			return err
		}
	}
}

// RollUp does one turn of the roll-up, with the engine's clock.
func (e *Engine) RollUp(ctx context.Context) error {
	_, err := e.hits.RollUp(ctx)
	return err
}

// BreakMapping maps files by f until the test ends.
func BreakMapping(t *testing.T, f func(*os.File, int) ([]byte, error)) {
	seams.Disk.Map = f
	t.Cleanup(func() { seams.Disk.Map = nil })
}

// BreakWrites writes the journal's new files by f, which may call write, until the test ends or
// BreakWrites is called again.
func BreakWrites(t *testing.T, f func(write func() error) error) {
	seams.Disk.Write = func(file *os.File, b []byte) error {
		written = append(written, file)
		return f(func() error { _, err := file.Write(b); return err })
	}
	t.Cleanup(func() { seams.Disk.Write = nil })
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
	before := seams.MaxScannedLinks
	seams.MaxScannedLinks = n
	t.Cleanup(func() { seams.MaxScannedLinks = before })
}

// Fold folds all records.
func (e *Engine) Fold() {
	if err := e.FoldNow(context.Background()); err != nil {
		panic(err) // no deadline can end it
	}
}

// NoMapping returns the error of mapping f that err causes.
func NoMapping(f *os.File, err error) error {
	return fmt.Errorf("%w: %s: %w", mmap.ErrNoMapping, f.Name(), err)
}

// AskFilesBy has the keeper probe journal files by f. Run must not have begun.
func (e *Engine) AskFilesBy(f func(*os.File) error) { e.Keeper().Ask = f }
