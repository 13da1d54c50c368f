package storage

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// requestKey returns the key of request i of a sender.
func requestKey(sender byte, i int) engine.RequestKey {
	return engine.RequestKey{Sender: [32]byte{sender}, Key: [32]byte{byte(i >> 8), byte(i)}}
}

// once returns a creation with a receipt.
func once(k engine.RequestKey, rec engine.Record, createdAtMs int64) engine.Mutation {
	m := rowtest.Creation(rec)
	m.Receipt = &engine.Receipt{Request: engine.Request{RequestKey: k, Body: [16]byte{7}}, CreatedAtMs: createdAtMs}
	return m
}

func TestALinkAndItsReceiptAreStoredBothOrNeither(t *testing.T) {
	const links = 12
	for _, cfg := range []func() vfs.CrashCloneCfg{loseAll, loseSome(5), loseSome(6)} {
		c, fs := newCrasher(cfg)
		s := open(t, "/data/store", Options{FS: fs})
		stop := start(t, s)
		c.arm(true)
		for i := range links {
			apply(t, s, once(requestKey(1, i), rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1, "tag"), 1000))
		}
		c.arm(false)
		stop()
		closeStore(t, s)
		seen := map[int]bool{}
		for _, clone := range c.taken() {
			after := openMem(t, clone)
			found := 0
			for i := range links {
				rec, linkErr := after.ReadRecord(keyOf(fmt.Sprintf("c%d", i)))
				receipt, err := after.ReadReceipt(requestKey(1, i))
				expect.MustThat(t, (err == nil) == (linkErr == nil) && (err != nil || receipt.Link.Hot == rec.Hot && receipt.CreatedAtMs == 1000),
					"link %d: got %+v, %v, and its receipt %+v, %v", i, rec, linkErr, receipt, err)
				if err == nil {
					found++
				}
			}
			seen[found] = true
			closeStore(t, after)
		}
		expect.That(t, len(seen) >= links && seen[links], "crashes left only %d different states", len(seen))
	}
}

// sweepAll sweeps to the end, and returns the keys of the deleted receipts and the number of
// chunks.
func sweepAll(t *testing.T, s *Store, beforeMs int64, lock func(engine.RequestKey) bool) (gone []engine.RequestKey, chunks int) {
	t.Helper()
	for more := true; more; chunks++ {
		var err error
		more, err = s.SweepReceipts(engine.ReceiptSweep{
			Old: func(atMs int64) bool { return atMs < beforeMs }, Lock: lock, Gone: func(k engine.RequestKey) { gone = append(gone, k) },
		})
		expect.OK(t, err)
	}
	return gone, chunks
}

func always(engine.RequestKey) bool { return true }

func TestASweepDeletesOldReceiptsAndNoOthers(t *testing.T) {
	s := openTemp(t)
	for i := range 6 {
		apply(t, s, once(requestKey(byte(i%2), i), rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1), int64(i)*1000))
	}
	busy := requestKey(1, 1)
	gone, chunks := sweepAll(t, s, 4000, func(k engine.RequestKey) bool { return k != busy })
	want := []engine.RequestKey{requestKey(0, 0), requestKey(0, 2), requestKey(1, 3)}
	expect.That(t, slices.Equal(gone, want) && chunks == 1, "deleted %v in %d chunks, want %v in 1", gone, chunks, want)
	var left sync.Map
	expect.OK(t, s.LoadReceipts(t.Context(), func(k engine.RequestKey) { left.Store(k, true) }))
	for i := range 6 {
		k := requestKey(byte(i%2), i)
		_, found := left.Load(k)
		expect.Equal(t, found, !slices.Contains(want, k), "receipt %d is left", i)
	}
	expect.Equal(t, len(rows(t, s, row.TableHot)), 6, "links are left, want all 6")
	again, _ := sweepAll(t, s, 4000, always)
	expect.Slices(t, again, []engine.RequestKey{busy}, "the next sweep deleted")
}

// TestAReceiptRewrittenDuringASweepStays writes the receipt again after the sweep has taken its
// snapshot.
func TestAReceiptRewrittenDuringASweepStays(t *testing.T) {
	s := openTemp(t)
	k := requestKey(1, 1)
	apply(t, s, once(k, rowtest.Link("old", 1, 1), 1000))
	gone, _ := sweepAll(t, s, 2000, func(engine.RequestKey) bool {
		apply(t, s, once(k, rowtest.Link("new", 2, 1), 3000))
		return true
	})
	r, err := s.ReadReceipt(k)
	expect.That(t, len(gone) == 0 && err == nil && r.Link.Hot.Code == "new", "deleted %v, and the receipt is %+v, %v", gone, r, err)
}

func TestALargeSweepRunsInChunks(t *testing.T) {
	const receipts = 2*receiptChunk + 1
	s := openTemp(t)
	b := s.db.NewBatch()
	var old engine.Receipt
	for i := range receipts {
		k := requestKey(1, i)
		kv.Set(b, row.AppendReceiptKey(nil, &k), row.AppendReceipt(nil, &old, &engine.Hot{}, &engine.Cold{}))
	}
	expect.OK(t, s.writer.Sync(b, "test"))
	gone, chunks := sweepAll(t, s, 1, always)
	expect.That(t, len(gone) == receipts && chunks == 3, "deleted %d receipts in %d chunks, want %d in 3", len(gone), chunks, receipts)
	expect.Equal(t, len(rows(t, s, row.TableReceipts)), 0, "are left")
}

func TestATombstoneWithAReceiptIsRefused(t *testing.T) {
	s := openTemp(t)
	rec := rowtest.Link("x", 1, 1)
	apply(t, s, rowtest.Creation(rec))
	m := rowtest.Deletion(rec)
	m.Receipt = &engine.Receipt{}
	expect.That(t, tryApply(s, m) != nil, "no error")
	_, err := s.ReadReceipt(engine.RequestKey{})
	expect.Error(t, err, engine.ErrNotFound, "the error")
}

func TestADamagedReceiptIsAnErrorNotAGuess(t *testing.T) {
	s := openTemp(t)
	k := requestKey(1, 1)
	b := s.db.NewBatch()
	kv.Set(b, row.AppendReceiptKey(nil, &k), []byte{9})
	expect.OK(t, s.writer.Sync(b, "test"))
	_, readErr := s.ReadReceipt(k)
	_, sweepErr := s.SweepReceipts(engine.ReceiptSweep{Old: func(atMs int64) bool { return atMs < 1 }, Lock: always})
	expect.That(t, errors.Is(readErr, ErrCorrupt) && errors.Is(sweepErr, ErrCorrupt), "got %v and %v, want ErrCorrupt", readErr, sweepErr)
}
