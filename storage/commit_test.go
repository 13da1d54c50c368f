package storage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/links"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

func TestConcurrentMutationsAreAllDurableAndShareCommits(t *testing.T) {
	const writers, each = 64, 50
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	stop := start(t, s)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				rec := rowtest.Link(fmt.Sprintf("w%d-%d", w, i), uint64(w*each+i+1), uint32(w))
				if err := tryApply(s, rowtest.Creation(rec)); err != nil {
					t.Errorf("Apply: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if m := s.Metrics(); m.Mutations != writers*each || m.CommitBatches >= m.Mutations {
		t.Errorf("got %d mutations in %d commits", m.Mutations, m.CommitBatches)
	}
	stop()
	closeStore(t, s)
	s = open(t, dir, Options{})
	defer closeStore(t, s)
	for w := range writers {
		for i := range each {
			if _, err := s.ReadRecord(keyOf(fmt.Sprintf("w%d-%d", w, i))); err != nil {
				t.Fatalf("after reopening: %v", err)
			}
		}
	}
}

func TestAFullQueueIsOverloaded(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	var answers atomic.Int64
	count := func(err error) {
		if err == nil {
			answers.Add(1)
		}
	}
	for i := range queueLimit {
		s.Apply(rowtest.Creation(rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1)), count)
	}
	if err := tryApply(s, rowtest.Creation(rowtest.Link("over", 1<<20, 1))); !errors.Is(err, engine.ErrOverloaded) {
		t.Errorf("got %v, want ErrOverloaded", err)
	}
	if got := s.Metrics().CommitQueueLength; got != queueLimit {
		t.Errorf("queue: got %d, want %d", got, queueLimit)
	}
	start(t, s)()
	if got := answers.Load(); got != queueLimit {
		t.Errorf("got %d acknowledgements, want %d", got, queueLimit)
	}
	closeStore(t, s)
}

func TestEveryMutationIsAnsweredWhileRunEnds(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var accepted, refused, submitted atomic.Int64
	var writers, ran sync.WaitGroup
	ran.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				submitted.Add(1)
				err := tryApply(s, rowtest.Creation(rowtest.Link(fmt.Sprintf("w%d-%d", w, i), uint64(w)<<32+uint64(i), 1)))
				if errors.Is(err, engine.ErrClosed) {
					refused.Add(1)
					return
				}
				if accepted.Add(1) == 100 {
					cancel()
				}
			}
		})
	}
	writers.Wait()
	ran.Wait()
	if got, want := accepted.Load()+refused.Load(), submitted.Load(); got != want {
		t.Errorf("got %d answers, want %d", got, want)
	}
	if got := int64(len(rows(t, s, row.TableHot))); got != accepted.Load() {
		t.Errorf("got %d links, want %d", got, accepted.Load())
	}
	closeStore(t, s)
}

func TestCloseAnswersMutationsThatRunNeverTook(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	var got error
	s.Apply(rowtest.Creation(rowtest.Link("a", 1, 1)), func(err error) { got = err })
	closeStore(t, s)
	if !errors.Is(got, engine.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", got)
	}
}

func TestRunRunsOnceAndHoldsTheStoreOpen(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	stop := start(t, s)
	apply(t, s, rowtest.Creation(rowtest.Link("a", 1, 1))) // now Run is running
	if err := s.Run(context.Background()); !errors.Is(err, links.ErrRunning) {
		t.Errorf("a second Run: got %v, want %v", err, links.ErrRunning)
	}
	if err := s.Close(); !errors.Is(err, links.ErrRunning) {
		t.Errorf("Close: got %v, want %v", err, links.ErrRunning)
	}
	stop()
	if err := s.Run(context.Background()); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Run after the end: got %v, want ErrClosed", err)
	}
	if err := tryApply(s, rowtest.Creation(rowtest.Link("b", 2, 1))); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Apply after the end: got %v, want ErrClosed", err)
	}
	closeStore(t, s)
}

func TestMutationsLargerThanABatchAreCommittedInSeveral(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	const n = 1900 // of 8 KB: four batches
	var answers atomic.Int64
	for i := range n {
		rec := rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1)
		rec.Hot.Target = "https://a.b/" + string(make([]byte, 8000))
		s.Apply(rowtest.Creation(rec), func(err error) {
			if err == nil {
				answers.Add(1)
			}
		})
	}
	start(t, s)()
	if m := s.Metrics(); answers.Load() != n || m.CommitBatches != 4 {
		t.Errorf("got %d answers and %d batches, want %d and 4", answers.Load(), m.CommitBatches, n)
	}
	closeStore(t, s)
}
