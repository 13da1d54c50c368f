package replicate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/texts"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
)

// applyTogether puts mutations into the queue before it is run, so that they share a commit.
func applyTogether(t *testing.T, s *Store, all ...engine.Mutation) {
	t.Helper()
	writes := make([]anyWrite, len(all))
	for i, m := range all {
		writes[i].Mutation = m
	}
	writeTogether(t, s, writes)
	expect.MustEqual(t, s.Store.Metrics().CommitBatches, 1, "commits")
}

// An anyWrite is a mutation or a bulk.
type anyWrite struct {
	engine.Mutation
	bulk *engine.Bulk // instead
}

func (w *anyWrite) to(s *Store, done func(error)) {
	if w.bulk != nil {
		s.ApplyAll(*w.bulk, done)
	} else {
		s.Apply(w.Mutation, done)
	}
}

// writeTogether puts writes into the queue, and then runs it until they are answered.
func writeTogether(t *testing.T, s *Store, all []anyWrite) {
	t.Helper()
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = errors.New("not answered")
		all[i].to(s, func(err error) { errs[i] = err })
	}
	start(t, s)()
	expect.OK(t, errors.Join(errs...))
}

func TestMutationsOfACodeInACommitTakeEffectInTheirOrder(t *testing.T) {
	first, second := rowtest.Link("code", 1, 1, "old"), rowtest.Link("code", 2, 1, "new")
	for name, c := range map[string]struct {
		mutations []engine.Mutation
		want      uint64 // id of the live link; 0: none
		indexed   int    // links that the owner's lists show
	}{
		"deleted and made again": {[]engine.Mutation{rowtest.Creation(first), rowtest.Deletion(first), rowtest.Again(second, first)}, 2, 1},
		"made and deleted":       {[]engine.Mutation{rowtest.Creation(rowtest.Link("other", 9, 1)), rowtest.Creation(first), rowtest.Deletion(first)}, 0, 1},
		"made and edited":        {[]engine.Mutation{rowtest.Creation(first), rowtest.Edit(first, rowtest.Link("code", 1, 1, "newer"))}, 1, 1},
		"made twice":             {[]engine.Mutation{rowtest.Creation(first), rowtest.Creation(second)}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := openMem(t, vfs.NewMem())
			applyTogether(t, s, c.mutations...)
			got, err := s.ReadRecord(keyOf("code"))
			live := err == nil && got.Hot.Flags&engine.FlagTombstone == 0
			expect.That(t, live == (c.want != 0) && (!live || got.Hot.ID == c.want), "got %+v, %v, want link %d", got.Hot, err, c.want)
			expect.Equal(t, len(rows(t, s, row.TableByOwner)), c.indexed, "rows by owner")
			closeStore(t, s)
		})
	}
}

func TestAllCreationsOfACommitAreWrittenHoweverMany(t *testing.T) {
	for _, n := range []int{1, 2, 64, 1000} {
		s := openMem(t, vfs.NewMem())
		var all []engine.Mutation
		for i := range n {
			all = append(all, rowtest.Creation(rowtest.Link(fmt.Sprintf("c%d", n-i), uint64(i+1), 1, "tag")))
		}
		applyTogether(t, s, all...)
		for _, m := range all {
			got, err := s.ReadRecord(keyOf(m.Hot.Code))
			expect.MustThat(t, err == nil && got.Hot.ID == m.Hot.ID && got.Cold.Title == m.Cold.Title, "%d together, link %q: got %+v, %v", n, m.Hot.Code, got, err)
		}
		for _, table := range []byte{row.TableHot, row.TableCold, row.TableByOwner, row.TableByTag} {
			got := len(rows(t, s, table))
			expect.That(t, got == n, "%d together: got %d rows of table %q", n, got, table)
		}
		closeStore(t, s)
	}
}

// writesOfAllKinds are creations with everything between them that is not one, some of it of their codes.
func writesOfAllKinds() []anyWrite {
	gone, again, edited := rowtest.Link("gone", 2, 1, "tag"), rowtest.Link("gone", 4, 2, "other"), rowtest.Link("edited", 3, 1, "tag")
	bulk := engine.Bulk{Creations: []engine.Mutation{rowtest.Creation(rowtest.Link("z", 10, 1, "tag")), rowtest.Creation(rowtest.Link("b", 11, 1))}}
	gone.Cold.Reuse, edited.Cold.Reuse, bulk.Creations[1].Cold.Reuse = true, true, true
	change := &engine.CapChange{ID: 1, Cap: engine.Cap{Generation: 1, Used: 7, Open: true}}
	purge := rowtest.Leaving(gone, true)
	back, retaken := rowtest.Link("back", 8, 1, "tag"), rowtest.Link("back", 9, 1)
	left := rowtest.Link("left", 12, 1)
	return []anyWrite{
		{Mutation: capped(1, engine.Cap{Generation: 1, Open: true})}, {Mutation: rowtest.Creation(gone)},
		{Mutation: rowtest.Deletion(gone)}, {Mutation: rowtest.Creation(edited)},
		{Mutation: purge}, {Mutation: rowtest.Creation(again)},
		{Mutation: engine.Mutation{Cap: change}}, {Mutation: capped(5, engine.Cap{Generation: 1, Used: 3, Open: true})},
		{bulk: &bulk}, {Mutation: rowtest.Creation(rowtest.Link("a", 6, 1, "tag"))},
		{Mutation: rowtest.Edit(edited, rowtest.Link("edited", 3, 1, "new"))}, {Mutation: engine.Mutation{Cap: &engine.CapChange{ID: 5, Cap: engine.Cap{Generation: 2}}}},
		{Mutation: rowtest.Creation(back)}, {Mutation: rowtest.Deletion(back)}, {Mutation: rowtest.Restore(back)},
		{Mutation: rowtest.Deletion(back)}, {Mutation: rowtest.Again(retaken, back)},
		{Mutation: rowtest.Creation(left)}, {Mutation: rowtest.Deletion(left)}, {Mutation: rowtest.Leaving(left, false)},
		{Mutation: rowtest.Creation(rowtest.Link("last", 7, 1))},
	}
}

// newLeader returns a store that leads, without running, and its log.
func newLeader(t *testing.T) (*Store, *chainLog) {
	t.Helper()
	log, s := newLog(), newFollower(t)
	s.Lead(log)
	return s, log
}

func hashOf(t *testing.T, s *Store) [sha256.Size]byte {
	t.Helper()
	sum, err := s.SharedHash()
	expect.OK(t, err)
	return sum
}

func TestWritesOfAllKindsHaveTheSameEffectTogetherAsOneByOneAndOnAFollower(t *testing.T) {
	all := writesOfAllKinds()
	single, _ := newLeader(t)
	stop := start(t, single)
	for i := range all {
		done := make(chan error, 1)
		all[i].to(single, func(err error) { done <- err })
		expect.OK(t, <-done, "write %d", i)
	}
	stop()
	want := hashOf(t, single)

	leader, log := newLeader(t)
	writeTogether(t, leader, all)
	expect.Equal(t, len(log.entries), 1, "entries")
	expect.Equal(t, hashOf(t, leader), want, "together they leave\n%q, one by one\n%q", rows(t, leader), rows(t, single))
	follower := newFollower(t)
	learnEach(t, follower, log, len(log.entries), &told{})
	expect.Equal(t, hashOf(t, follower), want, "a follower has\n%q, the leader\n%q", rows(t, follower), rows(t, leader))
	expect.Slices(t, slices.Sorted(maps.Keys(storetest.RowsOfLinks(t, follower.db, follower.Mark().Hour))), []uint64{1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	for code, id := range map[string]uint64{"gone": 4, "edited": 3, "z": 10, "last": 7, "back": 9, "left": 12} {
		got, err := follower.ReadRecord(keyOf(code))
		expect.That(t, err == nil && got.Hot.ID == id, "%q: got link %d, %v, want link %d", code, got.Hot.ID, err, id)
	}
}

// largest returns the creation of a link with the largest rows, an entry of the audit log and a receipt.
func largest(id uint64) engine.Mutation {
	m := rowtest.Creation(rowtest.Link(fmt.Sprintf("%0*d", engine.MaxCodeBytes, id), id, math.MaxUint32))
	host := strings.Repeat("h", 253)
	m.Hot.Target = "https://" + host + "/" + strings.Repeat("x", engine.MaxTargetBytes-len("https:///")-len(host))
	for _, name := range []string{"title", "note"} {
		*m.Cold.Text(name) = strings.Repeat("t", texts.Named(name).Max)
	}
	for i := range engine.MaxTags {
		m.Cold.Tags = append(m.Cold.Tags, fmt.Sprintf("%0*d", engine.MaxTagBytes, i))
	}
	m.By = &engine.By{AtMs: 1000, User: 1, Name: "ann", RequestID: "r"}
	m.Receipt = &engine.Receipt{Request: engine.Request{RequestKey: engine.RequestKey{Sender: [32]byte{1}, Key: [32]byte{byte(id)}}}, CreatedAtMs: 1000}
	return m
}

func TestTheLargestCreationsOfACommitAreEachWholeInAnEntry(t *testing.T) {
	leader, log := newLeader(t)
	var all []anyWrite
	for id := range uint64(63) {
		all = append(all, anyWrite{Mutation: largest(id + 1)})
	}
	writeTogether(t, leader, all)
	for i := range log.entries {
		p, err := row.DecodePayload(log.entries[i].Payload)
		expect.MustThat(t, err == nil && p.First && p.Last,
			"entry %d of %d: %d bytes, first %v, last %v, %v: a batch takes several", i, len(log.entries), len(p.Part), p.First, p.Last, err)
		expect.That(t, i+1 >= len(log.entries) || len(p.Part)+len(log.entries[i].Private) >= clusterlog.MaxPayloadBytes/2,
			"entry %d has %d bytes and %d private ones only", i, len(p.Part), len(log.entries[i].Private))
	}
	expect.Equal(t, len(rows(t, leader, row.TableHot)), len(all), "links")
}

func TestTheBytesThatWaitAreThoseOfTheRowsOrALittleMore(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer closeStore(t, s)
	imported, withCap := rowtest.Creation(rowtest.Link("imported", 1, 1)), capped(1<<60, engine.Cap{Generation: math.MaxUint64, Used: math.MaxUint64, Open: true})
	imported.Cold.ImportedHits = math.MaxUint64
	noted, numbers := madeLink(1, 0), rowtest.Creation(rowtest.Link("c", math.MaxUint64, math.MaxUint32))
	noted.Cold.Note = strings.Repeat("n", texts.Named("note").Max)
	numbers.Hot.Domain, numbers.Cold.Domain = math.MaxUint16, math.MaxUint16
	numbers.Hot.Flags, numbers.Hot.ExpiresAtMs, numbers.Hot.MaxHits = engine.FlagExpires|engine.FlagCapped, math.MinInt64, math.MaxUint64
	numbers.Cold.CreatedAtMs, numbers.Cold.UpdatedAtMs, numbers.Cold.ImportedAtMs = math.MinInt64, math.MinInt64, math.MinInt64
	numbers.Cold.Title, numbers.Cold.Note = "", strings.Repeat("n", 2000)
	for name, m := range map[string]engine.Mutation{
		"the smallest": madeLink(1, 0), "with tags": rowtest.Creation(rowtest.Link("code", 1, 1, "a", "b", "c")),
		"the largest": largest(math.MaxUint64), "with hits": imported, "with a cap": withCap,
		"with a note": noted, "with large numbers": numbers,
	} {
		pending := s.db.NewBatch()
		b, before := newBatch(pending), pending.Len()
		m.By = nil // its entry would count, too
		b.Add(&m)
		waiting := b.Size() - before
		b.Finish()
		if got := pending.Len() - before; got > waiting || waiting > 3*got || b.Size() != pending.Len() {
			t.Errorf("%s: the rows have %d bytes, %d waited, and %d are left", name, got, waiting, b.Size()-pending.Len())
		}
		expect.NoError(t, pending.Close())
	}
}
