package replicate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
)

type deafLearner struct{}

func (deafLearner) Learn(*engine.Learned) error { return nil }
func (deafLearner) AccountsChanged()            {}
func (deafLearner) FoldersChanged()             {}
func (deafLearner) DomainsChanged() error       { return nil }

// clusterLinks is the number of links of newCluster: link n has id n and the owner n%3+1.
const clusterLinks = 12

func clusterOwner(id uint64) uint32 { return uint32(id%3) + 1 }

// newCluster returns the file systems of n nodes of one cluster, with the same links and outboxes of
// their own.
func newCluster(t testing.TB, log *chainLog, n int) (disks []*vfs.MemFS) {
	t.Helper()
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	for id := uint64(1); id <= clusterLinks; id++ {
		apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("code%d", id), id, clusterOwner(id))))
	}
	stop()
	expect.OK(t, s.JoinLog(clusterlog.ID{1}, log.head))
	closeStore(t, s)
	for range n {
		disk := vfs.NewCrashableMem()
		_, err := vfs.Clone(mem, disk, "/data/store", "/data/store", vfs.CloneSync)
		expect.OK(t, err)
		for _, dir := range []string{"/", "/data", "/data/store", "/data/store/db"} { // else a crash loses their names
			d, err := disk.OpenDir(dir)
			if err == nil {
				err = errors.Join(d.Sync(), d.Close())
			}
			expect.OK(t, err)
		}
		s := openMem(t, disk)
		expect.OK(t, s.RenewOutbox())
		closeStore(t, s)
		disks = append(disks, disk)
	}
	return disks
}

// openCluster opens all nodes of a new cluster until the test ends.
func openCluster(t testing.TB, log *chainLog, n int) (nodes []*Store) {
	t.Helper()
	for _, disk := range newCluster(t, log, n) {
		s := openMem(t, disk)
		t.Cleanup(func() { closeStore(t, s) })
		nodes = append(nodes, s)
	}
	return nodes
}

// posted returns the records of an outbox after a position.
func posted(t testing.TB, s *Store, after uint64) Posted {
	t.Helper()
	p, err := s.Outbox(after, 1<<30)
	expect.OK(t, err, "Outbox(%d)", after)
	return p
}

// pull applies everything that from has posted and to does not have yet.
func pull(t testing.TB, to, from *Store) (hits uint64) {
	t.Helper()
	for {
		next, err := to.PulledNext(posted(t, from, 0).ID)
		expect.OK(t, err)
		p := posted(t, from, next-1)
		if len(p.Records) == 0 {
			return hits
		}
		got, err := to.ApplyPulled(p.ID, p.First, p.Records)
		expect.OK(t, err)
		for _, h := range got.Hits {
			hits += h.Hits
		}
	}
}

// everything returns all rows but the sequence of writes.
func everything(t testing.TB, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for table := range 0xff {
		maps.Copy(all, rows(t, s, byte(table)))
	}
	delete(all, string(row.MetaKey(row.MetaSequence)))
	return all
}

func TestAStoreOfNoClusterHasNoOutbox(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer closeStore(t, s)
	defer start(t, s)()
	f := rowtest.NewFlush()
	f.Add(100, 1, 1, rowtest.Hit(1))
	flush(t, s, 1, f)
	expect.Equal(t, len(rows(t, s, row.TableOutbox))+len(rows(t, s, row.TablePulled)), 0, "rows")
	expect.That(t, expect.Err(s.Outbox(0, 1)) != nil, "it has an outbox")
	_, err := s.ApplyPulled([16]byte{1}, 1, nil)
	expect.Error(t, err, ErrOwnOutbox, "ApplyPulled")
	expect.That(t, s.RenewOutbox() != nil, "an outbox was renewed")
	m := s.Rows.Metrics()
	expect.That(t, m.OutboxNext == 0 && m.OutboxBytes == 0 && m.OutboxOldest.IsZero(), "got metrics %+v", m)
}

// denseFlush is a flush of many visitors, whose rows of 16 KB fill records quickly.
func denseFlush(hour uint32, links uint64) *rowtest.Flush {
	f := rowtest.NewFlush()
	dense := &rowtest.Model{Hits: 3000, Visitors: map[uint64]bool{}}
	for i := range uint64(3000) {
		dense.Visitors[rowtest.Visitor(i)] = true
	}
	for id := uint64(1); id <= links; id++ {
		m := &rowtest.Model{}
		m.Add(dense)
		m.Count(engine.Referrers, "a.example", 3000)
		f.Links[rowtest.LinkHour{Hour: hour, ID: id}] = m
	}
	f.Owners[rowtest.LinkHour{Hour: hour, ID: 1}] = &rowtest.Model{Hits: 3000 * links}
	return f
}

func TestALargeFlushMakesSeveralRecordsOfBoundedSize(t *testing.T) {
	nodes := openCluster(t, newLog(), 2)
	s := nodes[0]
	for hour := range uint32(20) {
		flush(t, s, uint64(hour+1), denseFlush(hour, clusterLinks))
	}
	f := rowtest.NewFlush() // one flush of 20 hours
	for hour := range uint32(20) {
		one := denseFlush(100+hour, clusterLinks)
		maps.Copy(f.Links, one.Links)
		maps.Copy(f.Owners, one.Owners)
	}
	before := s.Rows.Metrics()
	flush(t, s, 21, f)
	m := s.Rows.Metrics()
	if n := m.OutboxNext - before.OutboxNext; n != 4 { // 240 rows of 16 KB, of which 64 fit
		t.Errorf("got %d records", n)
	}
	p := posted(t, s, before.OutboxNext-1)
	for _, r := range p.Records {
		expect.That(t, len(r) <= row.MaxOutboxRecordBytes, "a record has %d bytes", len(r))
	}
	some, err := s.Outbox(0, 3*len(p.Records[3]))
	expect.That(t, err == nil && len(some.Records) >= 2 && some.More, "got %d records, more: %v, %v", len(some.Records), some.More, err)
	one, err := s.Outbox(before.OutboxNext-1, 1)
	expect.That(t, err == nil && len(one.Records) == 1 && one.More, "got %d records, more: %v, %v", len(one.Records), one.More, err)
	last, err := s.Outbox(m.OutboxNext-2, 1)
	expect.That(t, err == nil && len(last.Records) == 1 && !last.More, "the last one: got %d records, more: %v, %v", len(last.Records), last.More, err)
	got, err := nodes[1].ApplyPulled(p.ID, 1, posted(t, s, 0).Records)
	expect.That(t, err == nil && got.Next >= 2 && got.Next < m.OutboxNext, "everything at once: got %d of %d, %v", got.Next, m.OutboxNext, err)
	pull(t, nodes[1], s)
	expect.That(t, maps.Equal(rows(t, s, row.TableLinkHours), rows(t, nodes[1], row.TableLinkHours)), "the rows differ")
}

func TestADropOfManyBytesTakesSeveralCalls(t *testing.T) {
	s := openCluster(t, newLog(), 1)[0]
	for seq := range uint64(100) {
		flush(t, s, seq+1, denseFlush(100, clusterLinks)) // 200 KB
	}
	calls := 0
	for more := true; more; calls++ {
		var err error
		more, err = s.DropOutbox(99)
		expect.OK(t, err)
		expect.That(t, !s.Rows.Metrics().OutboxOldest.IsZero(), "there is no oldest record")
	}
	p := posted(t, s, 99)
	expect.That(t, calls == 2 && len(p.Records) == 1, "%d calls left %d records", calls, len(p.Records))
	wantSound(t, s)
}

// wantSound checks the whole store.
func wantSound(t *testing.T, s *Store) {
	t.Helper()
	wantNoFaults(t, s.Inspect())
}

// TestARecordThatIsNotDurableIsNotGivenAway holds the sync of a flush back, and looks at the outbox when
// its rows can be read already.
func TestARecordThatIsNotDurableIsNotGivenAway(t *testing.T) {
	disk := newCluster(t, newLog(), 1)[0]
	var hold atomic.Pointer[chan struct{}] // set while nothing else syncs
	s := openMem(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if c := hold.Load(); c != nil && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo) {
			<-*c
		}
		return nil
	})))
	held := make(chan struct{})
	hold.Store(&held)
	f := rowtest.NewFlush()
	f.Add(100, 1, 2, rowtest.Hit(1))
	flushed := make(chan error)
	go func() { flushed <- s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: 1})) }()
	for len(rows(t, s, row.TableOutbox)) == 0 {
		select {
		case err := <-flushed:
			t.Fatalf("the flush did not wait: %v", err)
		default:
		}
	}
	if p := posted(t, s, 0); len(p.Records) != 0 || p.More {
		t.Errorf("got %d records, more: %v", len(p.Records), p.More)
	}
	close(held)
	expect.OK(t, <-flushed)
	hold.Store(nil)
	p := posted(t, s, 0)
	expect.Equal(t, len(p.Records), 1, "records after the sync")
	closeStore(t, s)
}

// TestAFullOutboxLosesDetailsAndNeverCounts fills a small outbox that nobody pulls from.
func TestAFullOutboxLosesDetailsAndNeverCounts(t *testing.T) {
	disks := newCluster(t, newLog(), 2)
	const bound = 400_000
	s := open(t, "/data/store", Options{FS: disks[0]})
	s.outbox.maxBytes = bound
	other := openMem(t, disks[1])
	for seq := range uint64(30) {
		flush(t, s, seq+1, denseFlush(100+uint32(seq), 4)) // some 64 KB
	}
	m := s.Rows.Metrics()
	expect.That(t, m.OutboxBytes >= bound+bound/4 && m.OutboxBytes <= bound+bound/4+80<<10, "the outbox has %d bytes", m.OutboxBytes)
	pull(t, other, s)
	var withoutBreakdowns, withoutVisitors uint64
	here, elsewhere := rows(t, s, row.TableLinkHours), rows(t, other, row.TableLinkHours)
	for hour := range uint32(30) {
		for id := uint64(1); id <= 4; id++ {
			key := row.AppendLinkHourKey(nil, 100+hour, id)
			own, err := row.ParseTally([]byte(here[string(key)]))
			expect.MustThat(t, err == nil && own.Hits == 3000 && own.LeastVisitors() >= 2800, "this node: %+v, %v", own, err)
			pulled := elsewhere[string(key)]
			there, err := row.ParseTally([]byte(pulled))
			expect.MustThat(t, err == nil && there.Hits == 3000, "the other node: %+v, %v", there, err)
			if there.LeastVisitors() == 0 {
				withoutVisitors++
			}
			if !strings.Contains(pulled, "a.example") {
				withoutBreakdowns++
			}
		}
	}
	expect.That(t, withoutVisitors != 0 && withoutBreakdowns > withoutVisitors && withoutBreakdowns != 120,
		"%d rows without breakdowns, %d without visitors", withoutBreakdowns, withoutVisitors)
	expect.That(t, m.OutboxWithoutBreakdowns == withoutBreakdowns && m.OutboxWithoutVisitors == withoutVisitors,
		"counted %d and %d, want %d and %d", m.OutboxWithoutBreakdowns, m.OutboxWithoutVisitors, withoutBreakdowns, withoutVisitors)
	_, err := s.DropOutbox(m.OutboxNext)
	expect.OK(t, err)
	flush(t, s, 31, denseFlush(200, 1))
	expect.Equal(t, s.Rows.Metrics().OutboxWithoutBreakdowns, withoutBreakdowns, "a row was reduced although there was room again")
	closeStore(t, s)
	closeStore(t, other)
}

// TestAFlushThatIsTooLargePostsNothing has a flush fail after some of its records were made.
func TestAFlushThatIsTooLargePostsNothing(t *testing.T) {
	nodes := openCluster(t, newLog(), 2)
	s := nodes[0]
	before := s.MaxFlushBytes
	s.MaxFlushBytes = 1 << 20
	f := rowtest.NewFlush()
	for hour := range uint32(20) {
		one := denseFlush(100+hour, clusterLinks)
		maps.Copy(f.Links, one.Links)
		maps.Copy(f.Owners, one.Owners)
	}
	err := s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: 1}))
	s.MaxFlushBytes = before
	expect.MustError(t, err, engine.ErrFlushTooLarge)
	expect.Equal(t, len(rows(t, s, row.TableOutbox)), 0, "records were posted")
	flush(t, s, 1, f)
	pull(t, nodes[1], s)
	expect.That(t, maps.Equal(rows(t, s, row.TableLinkHours), rows(t, nodes[1], row.TableLinkHours)), "the rows differ")
	wantSound(t, s)
}

func TestACopyOfAStoreHasAnOutboxOfItsOwn(t *testing.T) {
	s := openCluster(t, newLog(), 1)[0]
	f := rowtest.NewFlush()
	f.Add(100, 1, 2, rowtest.Hit(1))
	flush(t, s, 1, f)
	original := posted(t, s, 0)
	dir := t.TempDir()
	backup, restored := filepath.Join(dir, "backup"), filepath.Join(dir, "restored")
	disk := vfs.NewMem()
	expect.OK(t, disk.MkdirAll(dir, 0o700))
	_, err := s.Backup(t.Context(), "/backup")
	expect.OK(t, err)
	_, err = vfs.Clone(vfs.Root(s.folder.FS), disk, "/backup", backup)
	expect.OK(t, err)
	_, err = Restore(t.Context(), backup, restored, RestoreOptions{FS: disk, Logger: quiet})
	expect.OK(t, err)
	other := open(t, restored, Options{FS: disk})
	defer closeStore(t, other)
	p := posted(t, other, 0)
	expect.That(t, p.ID != original.ID && len(p.Records) == 0, "it has the outbox %x with %d records, the original %x", p.ID, len(p.Records), original.ID)
	next, err := other.PulledNext(original.ID)
	expect.That(t, err == nil && next == 2, "the original's outbox is applied up to %d, %v; want 2, what the copy contains", next, err)
	f.Add(100, 1, 2, rowtest.Hit(2))
	flush(t, s, 2, f)
	pull(t, other, s)
	expect.That(t, maps.Equal(rows(t, s, row.TableLinkHours), rows(t, other, row.TableLinkHours)), "the copy has not got the same figures")
	wantSound(t, other)
}

func TestAStoreThatLeavesItsClusterHasNoOutbox(t *testing.T) {
	nodes := openCluster(t, newLog(), 2)
	for i, s := range nodes {
		f := rowtest.NewFlush()
		f.Add(100, 1, 2, rowtest.Hit(uint64(i)))
		flush(t, s, 1, f)
	}
	pull(t, nodes[0], nodes[1])
	id := posted(t, nodes[0], 0).ID
	expect.OK(t, nodes[0].LeaveLog())
	expect.Equal(t, len(rows(t, nodes[0], row.TableOutbox))+len(rows(t, nodes[0], row.TablePulled)), 0, "rows are left")
	wantSound(t, nodes[0])
	expect.OK(t, nodes[0].JoinLog(clusterlog.ID{1}, newLog().head))
	p := posted(t, nodes[0], 0)
	expect.That(t, p.ID != id && len(p.Records) == 0, "it has its old outbox again")
	wantSound(t, nodes[0])
}

func TestEachFaultOfAnOutboxIsFound(t *testing.T) {
	t.Parallel()
	disks := newCluster(t, newLog(), 2)
	s, other := openMem(t, disks[0]), openMem(t, disks[1])
	for seq := range uint64(3) {
		f := rowtest.NewFlush()
		f.Add(100, 1, 2, rowtest.Hit(seq))
		flush(t, s, seq+1, f)
		flush(t, other, seq+1, f)
	}
	pull(t, s, other)
	_, err := s.DropOutbox(1)
	expect.OK(t, err)
	wantSound(t, s)
	record, state := posted(t, s, 1).Records[0], s.outbox.state
	closeStore(t, s)
	closeStore(t, other)
	meta := row.MetaKey(row.MetaOutbox)
	more := state
	more.Bytes++
	later := state
	later.Next++
	plants := map[string]func(*pebble.Batch){
		"a record with a flipped bit":           putRow(row.AppendOutboxKey(nil, 3), append(bytes.Clone(record[:len(record)-1]), record[len(record)-1]^1)),
		"a record at another position":          putRow(row.AppendOutboxKey(nil, 3), record),
		"a record that was dropped":             putRow(row.AppendOutboxKey(nil, 1), record),
		"a record that was not made":            putRow(row.AppendOutboxKey(nil, 4), record),
		"a gap":                                 delRow(row.AppendOutboxKey(nil, 2)),
		"other bytes":                           putRow(meta, row.AppendOutboxState(nil, more)),
		"a missing last record":                 putRow(meta, row.AppendOutboxState(nil, later)),
		"a key of the outbox that is too short": putRow([]byte{row.TableOutbox, 1}, record),
		"no outbox":                             delRow(meta),
		"an outbox without a cluster":           delRow(row.MetaKey(row.MetaLog)),
		"a state that is cut off":               putRow(meta, []byte{1, 2}),
		"a position that is cut off":            putRow(row.AppendPulledKey(nil, [16]byte{1}), []byte{1}),
		"a position of no outbox":               putRow([]byte{row.TablePulled, 1}, row.AppendPulled(nil, row.Pulled{Next: 1})),
		"a position in the own outbox":          putRow(row.AppendPulledKey(nil, state.ID), row.AppendPulled(nil, row.Pulled{Next: 1})),
	}
	id := regexp.MustCompile("71[0-9a-f]{32}") // which is drawn, in a key
	storetest.FindsFaults(t, "testdata/outboxfaults.txt", plants, func(t testing.TB, fault func(*pebble.Batch)) []engine.Fault {
		damaged := cloneStore(t, disks[0])
		plant(t, damaged, fault)
		v := inspect(t, "/data/store", damaged)
		defer closeInspection(t, v)
		faults := new(engine.Faults)
		_, err := v.Check(t.Context(), CheckOptions{Faults: faults})
		expect.OK(t, err)
		first, _ := faults.Found()
		for i := range first {
			first[i].Where = id.ReplaceAllLiteralString(first[i].Where, "71(id)")
		}
		return first
	})
}

// TestRecordsFromAPositionMoveToARenewedOutbox renews outboxes of six records from every position on. What moves has
// the same rows at new positions, and another store applies it.
func TestRecordsFromAPositionMoveToARenewedOutbox(t *testing.T) {
	for first := range uint64(9) {
		stores := openCluster(t, newLog(), 2)
		s, other := stores[0], stores[1]
		for i := range uint64(6) {
			f := rowtest.NewFlush()
			f.Add(100, 1, 2, rowtest.Hit(i))
			flush(t, s, i+1, f)
		}
		before, _ := s.OutboxID()
		was := posted(t, s, 0).Records
		expect.OK(t, s.RenewOutboxFrom(first))
		after, _ := s.OutboxID()
		moved := was[max(min(first, 7), 1)-1:]
		p := posted(t, s, 0)
		expect.That(t, after != before && p.ID == after && len(p.Records) == len(moved), "from %d: %d records moved, want %d", first, len(p.Records), len(moved))
		for i := range moved {
			had, _, err := row.ReadOutbox(moved[i])
			expect.OK(t, err)
			has, head, err := row.ReadOutbox(p.Records[i])
			expect.That(t, err == nil && head.Position == uint64(i+1), "from %d: record %d says %d, %v", first, i+1, head.Position, err)
			for had.Next() {
				expect.That(t, has.Next() && fmt.Sprint(has.Row()) == fmt.Sprint(had.Row()), "from %d: record %d has other rows", first, i+1)
			}
			expect.That(t, !has.Next(), "from %d: record %d has more rows", first, i+1)
		}
		if len(p.Records) > 0 {
			got, err := other.ApplyPulled(p.ID, p.First, p.Records)
			expect.That(t, err == nil && got.Next == uint64(len(moved)+1), "from %d: applied up to %d, %v", first, got.Next, err)
		}
		wantNoFaults(t, s.Inspect())
	}
}
