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
	"shunt/engine/expect"
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
				expect.Error(t, tryApply(s, rowtest.Creation(rec)), nil, "Apply")
			}
		})
	}
	wg.Wait()
	m := s.Metrics()
	expect.That(t, m.Mutations == writers*each && m.CommitBatches < m.Mutations, "got %d mutations in %d commits", m.Mutations, m.CommitBatches)
	stop()
	closeStore(t, s)
	s = open(t, dir, Options{})
	defer closeStore(t, s)
	for w := range writers {
		for i := range each {
			expect.OK(t, expect.Err(s.ReadRecord(keyOf(fmt.Sprintf("w%d-%d", w, i)))), "after reopening")
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
	expect.Error(t, tryApply(s, rowtest.Creation(rowtest.Link("over", 1<<20, 1))), engine.ErrOverloaded)
	expect.Equal(t, s.Metrics().CommitQueueLength, queueLimit, "queue")
	start(t, s)()
	expect.Equal(t, answers.Load(), queueLimit, "acknowledgements")
	closeStore(t, s)
}

func TestEveryMutationIsAnsweredWhileRunEnds(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var accepted, refused, submitted atomic.Int64
	var writers, ran sync.WaitGroup
	ran.Go(func() {
		expect.Error(t, s.Run(ctx), nil, "Run")
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
	expect.Equal(t, accepted.Load()+refused.Load(), submitted.Load(), "answers")
	expect.Equal(t, int64(len(rows(t, s, row.TableHot))), accepted.Load(), "links")
	closeStore(t, s)
}

func TestCloseAnswersMutationsThatRunNeverTook(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	var got error
	s.Apply(rowtest.Creation(rowtest.Link("a", 1, 1)), func(err error) { got = err })
	closeStore(t, s)
	expect.Error(t, got, engine.ErrClosed)
}

func TestRunRunsOnceAndHoldsTheStoreOpen(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	stop := start(t, s)
	apply(t, s, rowtest.Creation(rowtest.Link("a", 1, 1))) // now Run is running
	expect.Error(t, s.Run(context.Background()), links.ErrRunning, "a second Run")
	expect.Error(t, s.Close(), links.ErrRunning, "Close")
	stop()
	expect.Error(t, s.Run(context.Background()), engine.ErrClosed, "Run after the end")
	expect.Error(t, tryApply(s, rowtest.Creation(rowtest.Link("b", 2, 1))), engine.ErrClosed, "Apply after the end")
	closeStore(t, s)
}

func TestMutationsLargerThanABatchAreCommittedInSeveral(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	const n = 1900 // of 16 KB with what is searched of each: eight batches
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
	m := s.Metrics()
	expect.That(t, answers.Load() == n && m.CommitBatches == 8, "got %d answers and %d batches, want %d and 8", answers.Load(), m.CommitBatches, n)
	closeStore(t, s)
}
