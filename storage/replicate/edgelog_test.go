package replicate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// writerEdge is an edge of a writer in a test, and what its engine would have in memory.
type writerEdge struct {
	t      *testing.T
	disk   *vfs.MemFS
	s      *Store
	links  map[string]uint64 // by the key of the hot record: the id; tombstones too
	copies int
}

func newWriterEdge(t *testing.T) *writerEdge {
	e := &writerEdge{t: t, disk: vfs.NewMem()}
	e.open()
	expect.OK(t, e.s.BecomeEdge())
	return e
}

// open opens the store and loads its links.
func (e *writerEdge) open() {
	e.t.Helper()
	e.s = openMem(e.t, e.disk)
	e.links = e.stored()
}

func (e *writerEdge) stored() map[string]uint64 {
	e.t.Helper()
	found := make(map[string]uint64)
	for key, value := range rows(e.t, e.s, row.TableHot) {
		k, err := row.SplitHotKey([]byte(key))
		expect.OK(e.t, err)
		h, err := row.DecodeHot(k, []byte(value))
		expect.OK(e.t, err)
		found[key] = h.ID
	}
	return found
}

// Learn implements Learner as an engine does.
func (e *writerEdge) Learn(l *engine.Learned) error {
	for i := range l.Links {
		e.links[string(row.AppendHotKey(nil, l.Links[i].KeyView.Own()))] = l.Links[i].ID
	}
	for _, f := range l.Freed {
		if key := string(row.AppendHotKey(nil, f.Key)); e.links[key] == f.ID {
			delete(e.links, key)
		}
	}
	return nil
}

// AccountsChanged implements Learner.
func (e *writerEdge) AccountsChanged() { e.t.Error("an edge was told of accounts") }

func (e *writerEdge) FoldersChanged() { e.t.Error("an edge was told of folders") }

// DomainsChanged implements Learner.
func (e *writerEdge) DomainsChanged() error { return nil }

// follow applies some entries of the writer, or takes a copy if it must.
func (e *writerEdge) follow(writer *Store, maxBytes int) (more bool) {
	e.t.Helper()
	id, at := e.s.Log()
	encoded, head, err := writer.EdgeEntries(id, at, maxBytes)
	if errors.Is(err, clusterlog.ErrForeignLog) || errors.Is(err, clusterlog.ErrBelowFloor) {
		e.copy(writer)
		return true
	}
	expect.OK(e.t, err)
	var entries []clusterlog.Entry
	for _, one := range encoded {
		entry, after, err := at.Follow(one)
		expect.OK(e.t, err)
		entries, at = append(entries, entry), after
	}
	if len(entries) > 0 {
		expect.OK(e.t, e.s.Learn(entries, at, e))
	}
	return at.Sequence < head
}

func (e *writerEdge) copy(writer *Store) {
	e.t.Helper()
	var copied bytes.Buffer
	expect.OK(e.t, writer.WriteCopy(e.t.Context(), &copied))
	expect.OK(e.t, e.s.Mirror(e.t.Context(), &copied, e))
	e.copies++
}

// want fails unless the edge has the links of the writer, in its store and in memory, and nothing else.
func (e *writerEdge) want(writer *Store, name string) {
	e.t.Helper()
	for e.follow(writer, 1<<20) {
	}
	got, err := sharedHash(e.s.db, true)
	expect.OK(e.t, err)
	want, err := sharedHash(writer.db, true)
	expect.OK(e.t, err)
	expect.That(e.t, got == want, "%s: the edge has other links than its writer", name)
	stored := e.stored()
	expect.That(e.t, len(stored) == len(e.links), "%s: %d links in memory, %d in the store", name, len(e.links), len(stored))
	for key, id := range stored {
		expect.That(e.t, e.links[key] == id, "%s: the link %x is %d in memory, %d in the store", name, key, e.links[key], id)
	}
	for _, path := range everyFile(e.t, e.disk, storeDir) {
		expect.That(e.t, !bytes.Contains(bytesOf(e.t, e.disk, path), []byte("secret-")), "%s: %s has what an edge may not", name, path)
	}
	wantNoFaults(e.t, e.s.Inspect())
}

func newWriter(t testing.TB, disk vfs.FS) (s *Store, stop func()) {
	t.Helper()
	s = openMem(t, disk)
	return s, start(t, s)
}

// TestAnEdgeHasTheLinksOfItsWriterAndNothingElse makes changes of all kinds at a server of its own, whose edges come
// at many moments, some before any change. Writer and edges are restarted, the writer also as a power cut leaves it;
// entries are dropped before edges have read them. At the end each edge has the links of its writer, and no other
// row.
func TestAnEdgeHasTheLinksOfItsWriterAndNothingElse(t *testing.T) {
	t.Parallel()
	copies := 0
	for seed := range uint64(6) {
		disk := vfs.NewCrashableMem()
		writer, stop := newWriter(t, disk)
		_, err := writer.AllocateIDs(1000)
		expect.OK(t, err)
		m := &edgeModel{t: t, rng: rand.New(rand.NewPCG(seed, 7)), s: writer, next: 1, links: make(map[uint64]engine.Record), dead: make(map[uint64]engine.Record)}
		var edges []*writerEdge
		for i := range 120 {
			m.step()
			if i%30 == 5 {
				expect.OK(t, writer.BeginEdgeLog())
				edges = append(edges, newWriterEdge(t))
			}
			for _, e := range edges {
				if m.rng.IntN(3) == 0 {
					e.follow(writer, 1+m.rng.IntN(2000))
				}
				if m.rng.IntN(10) == 0 {
					closeStore(t, e.s)
					e.open()
				}
			}
			switch m.rng.IntN(12) {
			case 0:
				for more := true; more; {
					more, err = writer.TrimEdgeLog(uint64(m.rng.IntN(3000)))
					expect.OK(t, err)
				}
			case 1:
				stop()
				after := disk.CrashClone(vfs.CrashCloneCfg{})
				closeStore(t, writer)
				disk = after
				writer, stop = newWriter(t, disk)
				m.s = writer
			}
		}
		for i, e := range edges {
			e.want(writer, fmt.Sprintf("seed %d, edge %d", seed, i))
			copies += e.copies - 1
			closeStore(t, e.s)
		}
		wantNoFaults(t, writer.Inspect())
		stop()
		closeStore(t, writer)
	}
	expect.That(t, copies > 3, "edges took only %d copies again", copies)
}

// TestAServerWithoutEdgesKeepsNoLog makes links at a server of its own before it has an edge, and after its last one.
func TestAServerWithoutEdgesKeepsNoLog(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	logged := func() int { return len(rows(t, s, row.TableEdgeLog)) + len(rows(t, s, row.TableEdges)) }
	create := func(id uint64) { apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("code-%d", id), id, 1))) }
	create(1)
	_, _, _, exists := s.EdgeLog()
	expect.That(t, !exists && logged() == 0 && len(rows(t, s, row.TableMeta, row.MetaEdgeLog)) == 0, "without an edge there is a log")
	expect.OK(t, s.BeginEdgeLog())
	first, begun, _, exists := s.EdgeLog()
	expect.That(t, exists && logged() == 0, "a log that begins has entries")
	create(2)
	_, at, bytes, _ := s.EdgeLog()
	expect.That(t, at.Sequence == begun.Sequence+1 && logged() == 1 && bytes > 0, "after a link: %v after %v, %d rows, %d bytes", at, begun, logged(), bytes)
	expect.OK(t, writeAccounts(s.Accounts(), [][2][]byte{put("user", "secret")}, nil))
	_, after, _, _ := s.EdgeLog()
	expect.That(t, after == at, "a change of accounts is in the log for edges")
	expect.OK(t, s.EndEdgeLog())
	create(3)
	_, _, _, exists = s.EdgeLog()
	expect.That(t, !exists && logged() == 0, "after the last edge there is a log, of %d rows", logged())
	expect.Error(t, errOfEntries(s.EdgeEntries(first, at, 1)), clusterlog.ErrForeignLog, "entries of a log that ended")
	wantNoFaults(t, s.Inspect())
	expect.OK(t, s.BeginEdgeLog())
	second, again, _, _ := s.EdgeLog()
	expect.That(t, second != first && again.Sequence > at.Sequence, "the next log is %v at %v, after %v at %v", second, again, first, at)
	expect.Error(t, errOfEntries(s.EdgeEntries(first, at, 1)), clusterlog.ErrForeignLog, "entries of another log")
}

// TestAPlaceThatIsNotInTheLogIsRefused asks for entries after places that a writer's log does not have.
func TestAPlaceThatIsNotInTheLogIsRefused(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	expect.OK(t, s.BeginEdgeLog())
	id, begun, _, _ := s.EdgeLog()
	for n := range uint64(5) {
		apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("code-%d", n), n+1, 1)))
	}
	_, at, bytes, _ := s.EdgeLog()
	other := begun
	other.Hash[0]++
	end := at
	end.Hash[0]++
	ahead := at
	ahead.Sequence++
	_, err = s.TrimEdgeLog(bytes - 1)
	expect.OK(t, err)
	second, _, err := s.EdgeEntries(id, begun, 1)
	expect.Error(t, err, clusterlog.ErrBelowFloor, "after its first entry was dropped: %d entries", len(second))
	for name, c := range map[string]struct {
		id   clusterlog.ID
		from clusterlog.Position
		want error
	}{
		"another log":            {clusterlog.ID{1}, at, clusterlog.ErrForeignLog},
		"no log":                 {clusterlog.ID{}, at, clusterlog.ErrForeignLog},
		"beyond the end":         {id, ahead, clusterlog.ErrAhead},
		"another entry":          {id, end, clusterlog.ErrDiverged},
		"the origin":             {id, clusterlog.Position{}, clusterlog.ErrBelowFloor},
		"the end of all numbers": {id, clusterlog.Position{Sequence: 1<<64 - 1}, clusterlog.ErrAhead},
	} {
		entries, _, err := s.EdgeEntries(c.id, c.from, 1<<20)
		expect.That(t, errors.Is(err, c.want) && len(entries) == 0, "%s: got %d entries, %v", name, len(entries), err)
	}
	forged := clusterlog.Position{Sequence: at.Sequence - 1, Epoch: 1}
	_, _, err = s.EdgeEntries(id, forged, 1<<20)
	expect.Error(t, err, clusterlog.ErrDiverged, "a place with another hash")
	entries, head, err := s.EdgeEntries(id, at, 1<<20)
	expect.That(t, err == nil && len(entries) == 0 && head == at.Sequence, "at the end: %d entries, %d, %v", len(entries), head, err)
}

// TestAWriterWakesWhoeverWaitsForEntries waits at the end of a log, and behind it.
func TestAWriterWakesWhoeverWaitsForEntries(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	expect.OK(t, s.BeginEdgeLog())
	_, at, _, _ := s.EdgeLog()
	waits := s.AwaitEdgeLog(at.Sequence)
	select {
	case <-waits:
		t.Error("at the end of the log there is something to read")
	default:
	}
	apply(t, s, rowtest.Creation(rowtest.Link("code", 1, 1)))
	<-waits
	<-s.AwaitEdgeLog(at.Sequence)
}

// TestACopyThatIsCutOffOrDamagedIsTakenAgain has an edge read parts of a copy, and copies with a wrong byte.
func TestACopyThatIsCutOffOrDamagedIsTakenAgain(t *testing.T) {
	t.Parallel()
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	for n := range uint64(20) {
		r := rowtest.Link(fmt.Sprintf("code-%d", n), n+1, 1)
		r.Hot.Target += strings.Repeat("x", 100)
		apply(t, s, rowtest.Creation(r))
	}
	var whole bytes.Buffer
	expect.That(t, s.WriteCopy(t.Context(), &whole) != nil, "a copy without a log")
	expect.OK(t, s.BeginEdgeLog())
	whole.Reset()
	expect.OK(t, s.WriteCopy(t.Context(), &whole))
	expect.OK(t, s.EndEdgeLog())
	expect.Error(t, s.WriteCopy(t.Context(), new(bytes.Buffer)), errNoEdgeLog, "a copy after the log's end")
	expect.OK(t, s.BeginEdgeLog())
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	for n := 0; n < whole.Len(); n += 1 + n/8 {
		err := e.s.Mirror(t.Context(), iotest.DataErrReader(bytes.NewReader(whole.Bytes()[:n])), e)
		id, _ := e.s.Log()
		expect.That(t, err != nil && id == clusterlog.ID{}, "the first %d of %d bytes: %v, it follows %v", n, whole.Len(), err, id)
	}
	for n := 0; n < whole.Len(); n += 7 {
		damaged := bytes.Clone(whole.Bytes())
		damaged[n] ^= 0x10
		id, _ := e.s.Log()
		err := e.s.Mirror(t.Context(), bytes.NewReader(damaged), e)
		expect.That(t, err != nil && id == clusterlog.ID{}, "byte %d is wrong: %v, it follows %v", n, err, id)
	}
	expect.That(t, e.s.Mirror(t.Context(), io.MultiReader(), e) != nil, "nothing is a copy")
	e.want(s, "afterwards")
	expect.That(t, s.Mirror(t.Context(), bytes.NewReader(whole.Bytes()), e) != nil, "a writer took a copy for an edge")
}

// TestOnlyAnEmptyStoreBecomesAnEdge tries it with one that has a link, one that is of a cluster, and one that is an
// edge.
func TestOnlyAnEmptyStoreBecomesAnEdge(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(rowtest.Link("code", 1, 1)))
	expect.Error(t, s.BecomeEdge(), ErrNotEmpty)
	expect.That(t, !s.Edge(), "it is an edge")
	stop()
	closeStore(t, s)
	member := openMember(t, vfs.NewMem())
	defer closeStore(t, member)
	expect.That(t, member.BecomeEdge() != nil && !member.Edge(), "a node of a cluster became an edge of a writer")
	expect.That(t, member.BeginEdgeLog() != nil, "a node of a cluster began a log for edges")
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	expect.That(t, e.s.BecomeEdge() != nil, "an edge became one again")
	expect.That(t, expect.Err(e.s.AllocateIDs(1)) != nil, "an edge gives ids")
}

// TestARestoredWriterGivesNoLostIDAgain restores a writer from a backup after it has made more links, which edges know.
// If the backup has a log, they find that it is gone. No new link has the id of a lost one, also if the first edge came
// after the backup.
func TestARestoredWriterGivesNoLostIDAgain(t *testing.T) {
	for name, edgesBefore := range map[string]bool{"a backup of a writer": true, "a backup from before the first edge": false} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			s, stop := newWriter(t, disk)
			if edgesBefore {
				expect.OK(t, s.BeginEdgeLog())
			}
			_, err := s.AllocateIDs(100)
			expect.OK(t, err)
			_, err = s.Backup(t.Context(), "/backup")
			expect.OK(t, err)
			expect.OK(t, s.BeginEdgeLog())
			id, _, _, _ := s.EdgeLog()
			lost, err := s.AllocateIDs(100)
			expect.OK(t, err)
			apply(t, s, rowtest.Creation(rowtest.Link("lost", lost, 1)))
			_, at, _, _ := s.EdgeLog()
			stop()
			closeStore(t, s)
			_, err = Restore(t.Context(), "/backup", otherDir, RestoreOptions{FS: disk, Logger: quiet})
			expect.OK(t, err)
			restored := open(t, otherDir, Options{FS: disk})
			defer closeStore(t, restored)
			_, _, _, exists := restored.EdgeLog()
			expect.That(t, !exists && len(rows(t, restored, row.TableEdgeLog)) == 0, "a restored writer has the log of its backup")
			next, err := restored.AllocateIDs(1)
			expect.That(t, err == nil && (next >= lost+100 || next < lost), "it gave %d, and %d was given before, %v", next, lost, err)
			expect.OK(t, restored.BeginEdgeLog())
			_, _, err = restored.EdgeEntries(id, at, 1)
			expect.Error(t, err, clusterlog.ErrForeignLog)
			_, again, _, _ := restored.EdgeLog()
			expect.That(t, again.Sequence > at.Sequence, "its log goes on at %d, and edges have read up to %d", again.Sequence, at.Sequence)
			wantNoFaults(t, restored.Inspect())
		})
	}
}

// TestAWriterThatWasRolledBackGivesNoLostIDAgain has the disk of a writer be as it was at an earlier time, before or
// after its first edge, and again after it was restarted. An edge has hits of a link that is lost: they count for its
// owner, and for no other link, also after the writer has gone on.
func TestAWriterThatWasRolledBackGivesNoLostIDAgain(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s, stop := newWriter(t, disk)
	first, err := s.AllocateIDs(10)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(rowtest.Link("before", first, 1)))
	young := cloneStore(t, disk)
	expect.OK(t, s.BeginEdgeLog())
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	e.want(s, "edge")
	old := cloneStore(t, disk)
	given := make(map[uint64]string)
	allocate := func(s *Store, name string) (id uint64) {
		t.Helper()
		id, err := s.AllocateIDs(10)
		expect.OK(t, err)
		for n := range uint64(10) {
			expect.That(t, given[id+n] == "", "%s: it gave the id %d, and so did %s", name, id+n, given[id+n])
			given[id+n] = name
		}
		return id
	}
	lost := allocate(s, "the writer")
	apply(t, s, rowtest.Creation(rowtest.Link("lost", lost, 1)))
	e.want(s, "edge")
	p := edgeRecords(t, e, lost, first)
	id, at := e.s.Log()
	stop()
	closeStore(t, s)
	for range 3 { // each time from the same snapshot
		back, stopBack := newWriter(t, cloneStore(t, old))
		apply(t, back, rowtest.Creation(rowtest.Link("new", allocate(back, "the same after a rollback"), 1)))
		_, _, err := back.EdgeEntries(id, at, 1)
		expect.Error(t, err, clusterlog.ErrDiverged)
		kept, err := back.MeetEdge("edge", p.ID)
		expect.OK(t, err)
		done, _, err := back.ApplyEdge(kept, 1, RecordHash{}, p.Records, true)
		expect.That(t, err == nil && len(done.Hits) == 1 && done.Hits[0].ID == first, "the hits counted: %+v, %v", done, err)
		stopBack()
		wantNoFaults(t, back.Inspect())
		closeStore(t, back)
	}
	back, stopBack := newWriter(t, young)
	expect.OK(t, back.BeginEdgeLog()) // the edge comes
	allocate(back, "the same as before its first edge")
	stopBack()
	closeStore(t, back)
}

// TestHitsThatAreFlushedAfterACopyMayBeOfLostLinks has an edge flush hits of a link that its writer has lost, after it
// has taken the writer's links again.
func TestHitsThatAreFlushedAfterACopyMayBeOfLostLinks(t *testing.T) {
	disk := vfs.NewMem()
	s, stop := newWriter(t, disk)
	expect.OK(t, s.BeginEdgeLog())
	_, err := s.Backup(t.Context(), "/backup")
	expect.OK(t, err)
	lost, err := s.AllocateIDs(1)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(rowtest.Link("lost", lost, 1)))
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	e.want(s, "edge")
	stop()
	closeStore(t, s)
	_, err = Restore(t.Context(), "/backup", otherDir, RestoreOptions{FS: disk, Logger: quiet})
	expect.OK(t, err)
	restored := open(t, otherDir, Options{FS: disk})
	defer closeStore(t, restored)
	expect.OK(t, restored.BeginEdgeLog())
	id, err := restored.AllocateIDs(1)
	expect.OK(t, err)
	e.want(restored, "edge of the restored writer")
	p := edgeRecords(t, e, lost, lost)
	kept, err := restored.MeetEdge("edge", p.ID)
	expect.OK(t, err)
	done, _, err := restored.ApplyEdge(kept, 1, RecordHash{}, p.Records, false)
	expect.That(t, err == nil && id > lost && done.Next == 3 && len(done.Hits) == 0, "the hits counted: %+v, %v", done, err)
	stopRestored := start(t, restored)
	apply(t, restored, rowtest.Creation(rowtest.Link("new", id, 1)))
	e.want(restored, "edge that went on")
	p = edgeRecords(t, e, id)
	done, _, err = restored.ApplyEdge(kept, 1, RecordHash{}, p.Records, false)
	head, headErr := row.CheckOutbox(p.Records[2])
	expect.That(t, err == nil && headErr == nil && len(done.Hits) == 1 && head.Sequence > 0, "later ones: %+v, at %d, %v", done, head.Sequence, err)
	stopRestored()
	wantNoFaults(t, restored.Inspect())
}

// edgeRecords returns records of an outbox in which hits of links are counted, one hit a record.
func edgeRecords(t testing.TB, e *writerEdge, hits ...uint64) Posted {
	t.Helper()
	before := e.s.Rows.Metrics().OutboxNext
	for i, id := range hits {
		f := rowtest.NewFlush()
		f.Add(24*800, id, 1, rowtest.Hit(before+uint64(i)))
		flush(t, e.s, before+uint64(i), f)
	}
	return posted(t, e.s, 0)
}

// lifeHits returns the hits of a link in a store, after all is rolled up.
func lifeHits(t testing.TB, s *Store, id uint64) uint64 {
	t.Helper()
	rollUpAll(t, s, upTo(24*801), nil)
	tally, _, err := readLife(t, s, id)
	expect.OK(t, err)
	return tally.Hits
}

// TestHitsOfEdgesCountOnceUnderTheirOwnNames has two edges give their hits to a writer, which forgets answers, gets
// them repeated and overlapping, and is restarted. One edge says that its outbox is that of the other.
func TestHitsOfEdgesCountOnceUnderTheirOwnNames(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s, stop := newWriter(t, disk)
	_, err := s.AllocateIDs(10)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(rowtest.Link("code", 1, 1)))
	expect.OK(t, s.BeginEdgeLog())
	honest, thief := newWriterEdge(t), newWriterEdge(t)
	defer func() { closeStore(t, honest.s); closeStore(t, thief.s) }()
	honest.want(s, "honest")
	thief.want(s, "thief")
	p := edgeRecords(t, honest, 1, 1, 1, 1, 1, 1, 1)
	forged := edgeRecords(t, thief, 1, 1)
	rng := rand.New(rand.NewPCG(3, 3))
	for round := range 40 {
		if round%10 == 9 {
			stop()
			closeStore(t, s)
			s, stop = newWriter(t, disk)
		}
		if round%7 == 3 { // it comes back after all
			expect.OK(t, s.ForgetEdge("honest"))
		}
		kept, err := s.MeetEdge("honest", p.ID)
		expect.OK(t, err)
		next, err := s.PulledNext(kept)
		expect.OK(t, err)
		first := 1 + rng.Uint64N(min(next, uint64(len(p.Records))))
		until := first + rng.Uint64N(uint64(len(p.Records))+2-first)
		done, lost, err := s.ApplyEdge(kept, first, hashBefore(p.Records, first), p.Records[first-1:until-1], false)
		expect.That(t, err == nil && lost == 0 && done.Next == max(next, until), "records %d to before %d, at %d: got %+v, %d lost, %v", first, until, next, done, lost, err)
		stolen, err := s.MeetEdge("thief", p.ID)
		expect.OK(t, err)
		expect.That(t, stolen != kept, "an edge has the outbox of another one")
		_, _, err = s.ApplyEdge(stolen, 1, RecordHash{}, forged.Records, false)
		expect.OK(t, err)
	}
	kept, err := s.MeetEdge("honest", p.ID)
	expect.OK(t, err)
	done, lost, err := s.ApplyEdge(kept, 1, RecordHash{}, p.Records, false)
	expect.That(t, err == nil && lost == 0 && done.Next == 8, "at the end: %+v, %d lost, %v", done, lost, err)
	expect.Equal(t, lifeHits(t, s, 1), 7+2, "hits of the honest edge, and those of the other under its own name")
	wantNoFaults(t, s.Inspect())
	stop()
	closeStore(t, s)
}

// TestRecordsOfAnEdgeThatAreNoneAreRefused gives a writer damaged records, foreign positions and none.
func TestRecordsOfAnEdgeThatAreNoneAreRefused(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(10)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(rowtest.Link("code", 1, 1)))
	expect.OK(t, s.BeginEdgeLog())
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	e.want(s, "edge")
	p := edgeRecords(t, e, 1, 1, 1)
	kept, err := s.MeetEdge("edge", p.ID)
	expect.OK(t, err)
	damaged := bytes.Clone(p.Records[0])
	damaged[len(damaged)/2] ^= 1
	for name, c := range map[string]struct {
		first   uint64
		records [][]byte
	}{
		"a damaged record": {1, [][]byte{damaged}}, "a record in another place": {2, p.Records[:1]}, "the position 0": {0, p.Records[:1]},
		"no record": {1, [][]byte{{}}}, "records in another order": {1, [][]byte{p.Records[1], p.Records[0]}},
	} {
		_, _, err := s.ApplyEdge(kept, c.first, RecordHash{}, c.records, false)
		expect.That(t, err != nil, "%s was taken", name)
	}
	next, err := s.PulledNext(kept)
	expect.That(t, err == nil && next == 1 && lifeHits(t, s, 1) == 0, "refused records changed something: position %d, %v", next, err)
	for n := range MaxEdges - 1 {
		expect.OK(t, expect.Err(s.MeetEdge(fmt.Sprintf("edge-%d", n), p.ID)))
	}
	expect.Error(t, expect.Err(s.MeetEdge("one-more", p.ID)), ErrTooManyEdges)
	expect.OK(t, s.ForgetEdge("edge-7"))
	expect.OK(t, s.ForgetEdge("edge-7"))
	expect.OK(t, expect.Err(s.MeetEdge("one-more", p.ID)))
	expect.Error(t, expect.Err(s.MeetEdge("edge-7", p.ID)), ErrTooManyEdges)
	for n := range byte(20) { // an edge that names other outboxes gets no more room
		_, err := s.MeetEdge("edge", [16]byte{n, 1})
		expect.OK(t, err)
	}
	all, err := s.readEdges()
	expect.That(t, err == nil && len(all) == MaxEdges && len(all["edge"]) == row.MaxEdgeOutboxes, "%d edges, %d outboxes, %v", len(all), len(all["edge"]), err)
	for _, n := range []byte{12, 30} { // the oldest one of those that are kept, which is used again, and another one
		_, err := s.MeetEdge("edge", [16]byte{n, 1})
		expect.OK(t, err)
	}
	all, err = s.readEdges()
	last := all["edge"]
	expect.That(t, err == nil && slices.Contains(last, edgeOutbox("edge", [16]byte{12, 1})) && !slices.Contains(last, edgeOutbox("edge", [16]byte{13, 1})) &&
		slices.Contains(last, edgeOutbox("edge", [16]byte{30, 1})), "not the last used outboxes are kept: %v", err)
	wantNoFaults(t, s.Inspect())
}

// TestAnEdgeWithOtherRecordsThanWereAppliedIsRefused has an edge whose folder was rolled back ask after it has counted:
// fewer hits than the writer has taken, as many, and more, from the first record that it has or a later one.
func TestAnEdgeWithOtherRecordsThanWereAppliedIsRefused(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(10)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(rowtest.Link("code", 1, 1)))
	expect.OK(t, s.BeginEdgeLog())
	e, rolledBack := newWriterEdge(t), newWriterEdge(t)
	defer func() { closeStore(t, e.s); closeStore(t, rolledBack.s) }()
	e.want(s, "edge")
	rolledBack.want(s, "edge")
	p := edgeRecords(t, e, 1, 1, 1, 1)
	others := edgeRecords(t, rolledBack, 1, 1, 1, 2, 1, 1)
	kept, err := s.MeetEdge("edge", p.ID)
	expect.OK(t, err)
	_, _, err = s.ApplyEdge(kept, 1, RecordHash{}, p.Records, false)
	expect.OK(t, err)
	for first := uint64(1); first <= 5; first++ {
		for until := first; until <= 7; until++ {
			done, _, err := s.ApplyEdge(kept, first, hashBefore(others.Records, first), others.Records[first-1:until-1], false)
			if sees := first == 5 || until >= 5; sees {
				expect.Error(t, err, ErrOutboxDiffers, "records %d to before %d", first, until)
			} else {
				expect.That(t, err == nil && done.Next == 5, "records %d to before %d, all of which were skipped: %+v, %v", first, until, done, err)
			}
		}
	}
	through, last, err := s.PulledThrough(kept)
	expect.That(t, err == nil && through == 4 && last == row.HashRecord(p.Records[3]), "through %d, %x, %v", through, last, err)
	expect.Equal(t, lifeHits(t, s, 1), 4, "hits")
}

// TestHitsOfUnknownLinksCountForTheirOwner purges a link while an edge has hits of it, and restores a writer that
// lacks a link, and records that its edge has dropped.
func TestHitsOfUnknownLinksCountForTheirOwner(t *testing.T) {
	disk := vfs.NewMem()
	s, stop := newWriter(t, disk)
	_, err := s.AllocateIDs(10)
	expect.OK(t, err)
	dead, live := rowtest.Link("dead", 1, 1), rowtest.Link("live", 2, 1)
	apply(t, s, rowtest.Creation(dead))
	apply(t, s, rowtest.Creation(live))
	expect.OK(t, s.BeginEdgeLog())
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	e.want(s, "edge")
	_, err = s.Backup(t.Context(), "/backup")
	expect.OK(t, err)
	p := edgeRecords(t, e, 1, 2, 9999)
	apply(t, s, rowtest.Deletion(dead))
	apply(t, s, rowtest.Leaving(dead, true))
	kept, err := s.MeetEdge("edge", p.ID)
	expect.OK(t, err)
	done, _, err := s.ApplyEdge(kept, 1, RecordHash{}, p.Records, false)
	expect.That(t, err == nil && done.Next == 4 && len(done.Hits) == 1, "got %+v, %v", done, err)
	for key := range rows(t, s, row.TableLinkHours) {
		id, err := row.HourSuffix([]byte(key))
		expect.That(t, err == nil && id == 2, "there is a row of the link %d, %v", id, err)
	}
	owner, err := kv.Read(s.db, row.AppendOwnerHourKey(nil, 24*800, 1))
	expect.OK(t, err)
	hits, err := row.DecodeTallyHits(owner)
	expect.That(t, err == nil && hits == 3, "their owner has %d hits, %v", hits, err)
	stop()
	closeStore(t, s)
	_, err = e.s.DropOutbox(2)
	expect.OK(t, err)
	_, err = Restore(t.Context(), "/backup", otherDir, RestoreOptions{FS: disk, Logger: quiet})
	expect.OK(t, err)
	restored := open(t, otherDir, Options{FS: disk})
	defer closeStore(t, restored)
	expect.OK(t, restored.BeginEdgeLog())
	kept, err = restored.MeetEdge("edge", p.ID)
	expect.OK(t, err)
	left := posted(t, e.s, 2)
	done, lost, err := restored.ApplyEdge(kept, left.First, hashBefore(p.Records, left.First), left.Records, false)
	expect.That(t, err == nil && lost == 2 && done.Next == 4, "a restored writer: %+v, %d lost, %v", done, lost, err)
	wantNoFaults(t, restored.Inspect())
}

// TestHitsOfATargetThatWasNeverGivenCountForTheLink has an edge that says so: the writer keeps no row of such a target.
func TestHitsOfATargetThatWasNeverGivenCountForTheLink(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(10)
	expect.OK(t, err)
	for id := range uint64(2) {
		apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprint("code", id+1), id+1, 1))) // which gave the numbers 1 to 3
	}
	expect.OK(t, s.BeginEdgeLog())
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	e.want(s, "edge")
	f := rowtest.NewFlush()
	for id := range uint64(2) {
		for n, target := range []uint8{3, 4, 255} {
			m := rowtest.Hit(uint64(n))
			f.Add(24*800, id+1, 1, m)
			f.AddTarget(24*800, id+1, target, m)
		}
	}
	flush(t, e.s, 1, f)
	p := posted(t, e.s, 0)
	kept, err := s.MeetEdge("edge", p.ID)
	expect.OK(t, err)
	done, _, err := s.ApplyEdge(kept, 1, RecordHash{}, p.Records, false)
	expect.That(t, err == nil && len(done.Hits) == 2 && done.Hits[0].Hits == 3, "got %+v, %v", done, err)
	m := s.Rows.Metrics()
	expect.That(t, m.PulledRowsDropped == 4 && m.PulledRows == 5, "%d rows applied, %d dropped", m.PulledRows, m.PulledRowsDropped)
	for id, want := range map[uint64]uint64{1: 3, engine.TargetID(1, 3): 1, engine.TargetID(1, 4): 0, engine.TargetID(1, 255): 0, 2: 3, engine.TargetID(2, 3): 1} {
		expect.Equal(t, lifeHits(t, s, id), want, "hits of %x", id)
	}
	wantNoFaults(t, s.Inspect())
}

// hashBefore returns the hash of the record before a position, of those of a whole outbox.
func hashBefore(records [][]byte, position uint64) (h RecordHash) {
	if position > 1 {
		h = row.HashRecord(records[position-2])
	}
	return h
}

func errOfEntries(_ [][]byte, _ uint64, err error) error { return err }

// TestACopyTakesAwayWhatIsGone deletes and purges links while an edge is away, of which it knows one as live and one as
// deleted, and gives a code to another link. Its log ends meanwhile, so it takes a copy.
func TestACopyTakesAwayWhatIsGone(t *testing.T) {
	s, stop := newWriter(t, vfs.NewMem())
	defer func() { stop(); closeStore(t, s) }()
	_, err := s.AllocateIDs(10)
	expect.OK(t, err)
	live, dead, other := rowtest.Link("live", 1, 1), rowtest.Link("dead", 2, 1), rowtest.Link("other", 3, 1)
	for _, r := range []engine.Record{live, dead, other} {
		apply(t, s, rowtest.Creation(r))
	}
	apply(t, s, rowtest.Deletion(dead))
	expect.OK(t, s.BeginEdgeLog())
	e := newWriterEdge(t)
	defer func() { closeStore(t, e.s) }()
	e.want(s, "before")
	expect.Equal(t, len(e.links), 3, "links before")
	for _, r := range []engine.Record{live, other} {
		apply(t, s, rowtest.Deletion(r))
	}
	for _, r := range []engine.Record{live, dead, other} {
		apply(t, s, rowtest.Leaving(r, true))
	}
	apply(t, s, rowtest.Creation(rowtest.Link("other", 4, 1)))
	expect.OK(t, s.EndEdgeLog())
	expect.OK(t, s.BeginEdgeLog())
	e.want(s, "after")
	expect.That(t, len(e.links) == 1 && e.copies == 2, "%d links, %d copies", len(e.links), e.copies)
}
