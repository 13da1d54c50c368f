package replicate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
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

func TestAFlushLeavesItsRowsInTheOutbox(t *testing.T) {
	s := openCluster(t, newLog(), 1)[0]
	f := rowtest.NewFlush()
	f.Add(100, 1, 2, rowtest.HitFrom(1, "a.example", 5, 2, 1))
	f.Add(100, 4, 2, &rowtest.Model{Bots: 3})
	f.Add(101, 1, 2, rowtest.Hit(1))
	flush(t, s, 1, f)
	flush(t, s, 2, rowtest.NewFlush()) // nothing to post
	p := posted(t, s, 0)
	expect.MustThat(t, len(p.Records) == 1 && p.First == 1 && !p.More, "got %d records from %d on, more: %v", len(p.Records), p.First, p.More)
	o, h, err := row.ReadOutbox(p.Records[0])
	expect.MustThat(t, err == nil && h.Position == 1 && h.MadeMs != 0, "got %+v, %v", h, err)
	var got []string
	for o.Next() {
		got = append(got, fmt.Sprintf("%+v", o.Row()))
	}
	var want []string
	for _, r := range []row.OutboxRow{
		{Table: row.TableOwnerHours, Hour: 100, ID: 2, Tally: rowOf(f.Owners[rowtest.LinkHour{Hour: 100, ID: 2}])},
		{Table: row.TableOwnerHours, Hour: 101, ID: 2, Tally: rowOf(f.Owners[rowtest.LinkHour{Hour: 101, ID: 2}])},
		{Table: row.TableLinkHours, Hour: 100, ID: 1, Tally: rowOf(f.Links[rowtest.LinkHour{Hour: 100, ID: 1}])},
		{Table: row.TableLinkHours, Hour: 100, ID: 4, Tally: rowOf(f.Links[rowtest.LinkHour{Hour: 100, ID: 4}])},
		{Table: row.TableLinkHours, Hour: 101, ID: 1, Tally: rowOf(f.Links[rowtest.LinkHour{Hour: 101, ID: 1}])},
	} {
		want = append(want, fmt.Sprintf("%+v", r))
	}
	err = o.Err()
	expect.That(t, err == nil && slices.Equal(got, want), "got %v, %v\nwant %v", got, err, want)
	m := s.Rows.Metrics()
	expect.That(t, m.OutboxNext == 2 && m.OutboxBytes == uint64(len(p.Records[0])) && m.OutboxOldest.UnixMilli() == h.MadeMs, "got metrics %+v", m)
	counted := uint64(0)
	for _, m := range f.Owners {
		n, err := row.DecodeTallyHits(rowOf(m))
		expect.OK(t, err)
		counted += n
	}
	waiting, err := s.WaitingHits(0)
	expect.That(t, err == nil && waiting == counted && counted > 1, "%d hits wait, %v; %d were counted", waiting, err, counted)
	for more := true; more; {
		more, err = s.DropOutbox(1)
		expect.OK(t, err)
	}
	waiting, err = s.WaitingHits(0)
	expect.That(t, err == nil && waiting == 0, "%d hits wait in an empty outbox, %v", waiting, err)
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

func TestTheOutboxIsDroppedAndContinuesAfterARestart(t *testing.T) {
	disk := newCluster(t, newLog(), 1)[0]
	s := openMem(t, disk)
	restart := func() {
		t.Helper()
		before := s.Rows.Metrics()
		closeStore(t, s)
		s = openMem(t, disk)
		after := s.Rows.Metrics()
		if after.OutboxBytes != before.OutboxBytes || after.OutboxNext != before.OutboxNext || !after.OutboxOldest.Equal(before.OutboxOldest) {
			t.Errorf("before the restart %d bytes, next %d, oldest %v; after it %d, %d, %v",
				before.OutboxBytes, before.OutboxNext, before.OutboxOldest, after.OutboxBytes, after.OutboxNext, after.OutboxOldest)
		}
	}
	for seq := range uint64(60) {
		f := rowtest.NewFlush()
		f.Add(100, 1+seq%5, 2, rowtest.Hit(seq))
		flush(t, s, seq+1, f)
	}
	restart()
	for _, through := range []uint64{0, 1, 1, 3, 40, 41} {
		all := posted(t, s, 41)
		more, err := s.DropOutbox(through)
		expect.MustThat(t, err == nil && !more, "DropOutbox(%d): %v, %v", through, more, err)
		expect.Equal(t, uint64(len(rows(t, s, row.TableOutbox))), 60-through, "after a drop through %d records", through)
		expect.That(t, slices.EqualFunc(posted(t, s, 41).Records, all.Records, bytes.Equal), "the records after it have changed")
		restart()
	}
	_, err := s.Outbox(40, 1)
	expect.Error(t, err, ErrOutboxDropped, "after 40")
	p, err := s.Outbox(60, 1)
	expect.That(t, err == nil && len(p.Records) == 0 && !p.More, "after 60: got %+v, %v", p, err)
	_, err = s.Outbox(61, 1)
	expect.Error(t, err, ErrOutboxUnknown, "after 61")
	if more, err := s.DropOutbox(1000); err != nil || more {
		t.Fatalf("DropOutbox of all: %v, %v", more, err)
	}
	restart()
	if m := s.Rows.Metrics(); m.OutboxBytes != 0 || m.OutboxNext != 61 || !m.OutboxOldest.IsZero() {
		t.Errorf("empty: got %d bytes, next %d, oldest %v", m.OutboxBytes, m.OutboxNext, m.OutboxOldest)
	}
	flush(t, s, 61, denseFlush(100, 1))
	if p := posted(t, s, 60); p.First != 61 || len(p.Records) != 1 {
		t.Errorf("got %d records from %d on", len(p.Records), p.First)
	}
	restart()
	wantSound(t, s)
	closeStore(t, s)
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
	for name, c := range map[string]struct {
		plant func(b *pebble.Batch)
		want  string
	}{
		"a record with a flipped bit":           {putRow(row.AppendOutboxKey(nil, 3), append(bytes.Clone(record[:len(record)-1]), record[len(record)-1]^1)), "its checksum differs"},
		"a record at another position":          {putRow(row.AppendOutboxKey(nil, 3), record), "the record is that of position 2"},
		"a record that was dropped":             {putRow(row.AppendOutboxKey(nil, 1), record), "the outbox has the positions from 2 to before 4"},
		"a record that was not made":            {putRow(row.AppendOutboxKey(nil, 4), record), "the outbox has the positions from 2 to before 4"},
		"a gap":                                 {delRow(row.AppendOutboxKey(nil, 2)), "1 records of"},
		"other bytes":                           {putRow(meta, row.AppendOutboxState(nil, more)), "2 records of"},
		"a missing last record":                 {putRow(meta, row.AppendOutboxState(nil, later)), "there should be 3 of"},
		"a key of the outbox that is too short": {putRow([]byte{row.TableOutbox, 1}, record), "key 7001 in table 70"},
		"no outbox":                             {delRow(meta), "only a store of a cluster has one"},
		"an outbox without a cluster":           {delRow(row.MetaKey(row.MetaLog)), "only a store of a cluster has one"},
		"a state that is cut off":               {putRow(meta, []byte{1, 2}), "meta, outbox: "},
		"a position that is cut off":            {putRow(row.AppendPulledKey(nil, [16]byte{1}), []byte{1}), "pulled, key 71"},
		"a position of no outbox":               {putRow([]byte{row.TablePulled, 1}, row.AppendPulled(nil, row.Pulled{Next: 1})), "in table 71"},
		"a position in the own outbox":          {putRow(row.AppendPulledKey(nil, state.ID), row.AppendPulled(nil, row.Pulled{Next: 1})), "this store's own outbox"},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := cloneStore(t, disks[0])
			plant(t, damaged, c.plant)
			v := inspect(t, "/data/store", damaged)
			defer closeInspection(t, v)
			faults := new(engine.Faults)
			_, err := v.Check(t.Context(), CheckOptions{Faults: faults})
			expect.OK(t, err)
			if first, total := faults.Found(); total == 0 || !strings.Contains(tell(first), c.want) {
				t.Errorf("got %d faults\n%swant %q", total, tell(first), c.want)
			}
		})
	}
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
