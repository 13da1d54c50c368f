package storage

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/texts"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// bulkOf returns the creation of links with these ids, with a receipt.
func bulkOf(k engine.RequestKey, ids ...uint64) engine.Bulk {
	b := engine.Bulk{Receipt: &engine.Receipt{Request: engine.Request{RequestKey: k}, CreatedAtMs: 1000}}
	for _, id := range ids {
		rec := rowtest.Link(fmt.Sprintf("c%d", id), id, 1, "tag")
		b.Creations = append(b.Creations, rowtest.Creation(rec))
		b.Receipt.Items = append(b.Receipt.Items, engine.ReceiptItem{ID: id, Key: keyOf(rec.Hot.Code)})
	}
	return b
}

func tryApplyAll(s *Store, b engine.Bulk) error {
	done := make(chan error, 1)
	s.ApplyAll(b, func(err error) { done <- err })
	return <-done
}

func TestABulkAndItsReceiptAreStoredBothOrNeither(t *testing.T) {
	const bulks, size = 6, 5
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseSome(7), loseSome(8)} {
		c, fs := newCrasher(cfg)
		s := open(t, "/data/store", Options{FS: fs})
		stop := start(t, s)
		c.arm(true)
		for i := range uint64(bulks) {
			expect.OK(t, tryApplyAll(s, bulkOf(requestKey(1, int(i)), i*size+1, i*size+2, i*size+3, i*size+4, i*size+5)))
		}
		c.arm(false)
		stop()
		closeStore(t, s)
		seen := map[int]bool{}
		for _, clone := range c.taken() {
			after := openMem(t, clone)
			found := 0
			for i := range bulks {
				receipt, err := after.ReadReceipt(requestKey(1, i))
				for id := i*size + 1; id <= (i+1)*size; id++ {
					_, linkErr := after.ReadRecord(keyOf(fmt.Sprintf("c%d", id)))
					expect.MustEqual(t, linkErr == nil, err == nil, "bulk %d: link %d: %v, receipt %+v: %v", i, id, linkErr, receipt, err)
				}
				if err == nil {
					found++
				}
			}
			seen[found] = true
			closeStore(t, after)
		}
		expect.That(t, len(seen) >= bulks && seen[bulks], "crashes left only %d different states", len(seen))
	}
}

// TestABulkIsNeverCutIntoTwoBatches fills a batch almost, so that a cut would come in the middle of
// the bulk.
func TestABulkIsNeverCutIntoTwoBatches(t *testing.T) {
	s := openTempStopped(t)
	large := rowtest.Link("large", 1, 1)
	large.Cold.Title = string(make([]byte, texts.Named("title").Max))
	var bulk engine.Bulk
	for i := range engine.MaxBulk {
		rec := large
		rec.Hot.Target = "https://x.example/" + string(make([]byte, 8000))
		rec.Hot.ID, rec.Hot.Code = uint64(i+1), fmt.Sprintf("large%d", i)
		rec.Cold.Code = rec.Hot.Code
		bulk.Creations = append(bulk.Creations, rowtest.Creation(rec))
	}
	done := make(chan error, 2)
	s.ApplyAll(bulk, func(err error) { done <- err })
	s.Apply(rowtest.Creation(rowtest.Link("small", 5000, 1)), func(err error) { done <- err })
	before := s.Commits().Batches
	stop := start(t, s)
	defer stop()
	expect.OK(t, errors.Join(<-done, <-done))
	expect.Equal(t, s.Commits().Batches-before, 2, "batches, want 2: the bulk, and the mutation after it")
	expect.Equal(t, s.Commits().Mutations, engine.MaxBulk+1, "mutations are counted")
}

// openTempStopped is like openTemp, but the store does not run yet.
func openTempStopped(t *testing.T) *Store {
	s := openMem(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func TestABulkCountsAsItsLinksInTheQueue(t *testing.T) {
	s := openTempStopped(t)
	bulk := engine.Bulk{Creations: make([]engine.Mutation, engine.MaxBulk)}
	for i := range bulk.Creations {
		bulk.Creations[i] = rowtest.Creation(rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1))
	}
	answers := make(chan error, 10)
	answer := func(err error) { answers <- err }
	refused := func(what string) {
		t.Helper()
		select {
		case err := <-answers: // the store does not run yet: only refused mutations are answered
			expect.Error(t, err, engine.ErrOverloaded, "%s", what)
		default:
			t.Errorf("%s was accepted", what)
		}
	}
	for range 5 {
		s.ApplyAll(bulk, answer)
	}
	refused("the fifth")
	for range queueLimit - 4*engine.MaxBulk {
		s.Apply(rowtest.Creation(rowtest.Link("x", 9999, 1)), func(error) {})
	}
	s.Apply(rowtest.Creation(rowtest.Link("x", 9999, 1)), answer)
	refused("one more than the queue takes")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil { // commits the waiting mutations
		t.Error(err)
	}
	for range 4 {
		expect.NoError(t, <-answers)
	}
}

func TestAMalformedBulkIsRefused(t *testing.T) {
	s := openTemp(t)
	for name, b := range map[string]engine.Bulk{
		"too many":              {Creations: make([]engine.Mutation, engine.MaxBulk+1)},
		"with a deletion":       {Creations: []engine.Mutation{rowtest.Deletion(rowtest.Link("a", 1, 1))}},
		"with an edit":          {Creations: []engine.Mutation{rowtest.Edit(rowtest.Link("a", 1, 1), rowtest.Link("a", 1, 1))}},
		"with a receipt inside": {Creations: []engine.Mutation{once(requestKey(1, 1), rowtest.Link("a", 1, 1), 1)}},
		"of a link without code": {Creations: []engine.Mutation{
			rowtest.Creation(rowtest.Link("", 1, 1)),
		}},
		"with an empty receipt":      {Receipt: &engine.Receipt{}},
		"with an unknown outcome":    {Receipt: &engine.Receipt{Items: []engine.ReceiptItem{{Outcome: engine.NumOutcomes}}}},
		"with a receipt of no codes": {Receipt: &engine.Receipt{Items: []engine.ReceiptItem{{}}}},
	} {
		expect.That(t, tryApplyAll(s, b) != nil, "%s: no error", name)
	}
	expect.Equal(t, len(rows(t, s, row.TableHot))+len(rows(t, s, row.TableReceipts)), 0, "rows were written")
}

func TestABulkReceiptIsReadAsWrittenAndSwept(t *testing.T) {
	s := openTemp(t)
	b := bulkOf(requestKey(1, 1), 1, 2)
	b.Receipt.Items = append(b.Receipt.Items, engine.ReceiptItem{Outcome: engine.OutcomeTaken}, engine.ReceiptItem{Outcome: engine.OutcomeRefused})
	expect.OK(t, tryApplyAll(s, b))
	if got, err := s.ReadReceipt(requestKey(1, 1)); err != nil || !reflect.DeepEqual(got, *b.Receipt) {
		t.Errorf("got %+v, %v, want %+v", got, err, *b.Receipt)
	}
	gone, _ := sweepAll(t, s, 2000, always)
	expect.Equal(t, len(gone), 1, "are gone")
}

// TestAnImportDoesNotFillMemTables commits 25 MB of imported links, and as much of others, which one memtable takes.
func TestAnImportDoesNotFillMemTables(t *testing.T) {
	for _, imported := range []bool{false, true} {
		s := openMem(t, vfs.NewMem())
		stop := start(t, s)
		before := s.Metrics().MemTableFlushes
		for id := uint64(0); id < 100_000; {
			var ids []uint64
			for range 1000 {
				id++
				ids = append(ids, id)
			}
			b := bulkOf(requestKey(1, int(id)), ids...)
			b.Imported = imported
			expect.OK(t, tryApplyAll(s, b))
		}
		stop()
		<-s.settle() // the last flush, after all others
		flushes := s.Metrics().MemTableFlushes - before
		expect.That(t, (flushes > 1) == imported, "%d flushes; imported: %v", flushes, imported)
		closeStore(t, s)
	}
}
