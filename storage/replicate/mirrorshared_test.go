package replicate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// absentNode is a node that has read a part of the log, and counted hits then.
type absentNode struct {
	read  int // entries
	links []uint64
}

// nodeAt returns the store of a node that was away since then.
func (a *absentNode) nodeAt(t *testing.T, log *chainLog) *Store {
	t.Helper()
	s := openMember(t, vfs.NewMem())
	learnEach(t, s, log, a.read, &told{})
	f := rowtest.NewFlush()
	for _, id := range a.links {
		f.Add(24*800, id, 1, rowtest.Hit(1))
	}
	flush(t, s, 1, f)
	rollUpAll(t, s, upTo(24*801), nil)
	f = rowtest.NewFlush()
	for _, id := range a.links {
		f.Add(24*801+1, id, 1, rowtest.Hit(2)) // an hour that is not rolled up
	}
	flush(t, s, 2, f)
	return s
}

// wantLike fails unless a store has the rows of another one, but for what distinguishes nodes.
func wantLike(t *testing.T, got, want *Store, name string) {
	t.Helper()
	has, wanted := rows(t, got), rows(t, want)
	for _, all := range []map[string]string{has, wanted} {
		maps.DeleteFunc(all, func(key, _ string) bool {
			return key[0] == row.TableMeta && key[1] != row.MetaIDBound && key[1] != row.MetaLog || key[0] == row.TableOutbox
		})
	}
	for key := range wanted { // the log leaves hours of purged links that are rolled up; nobody reads them
		if key[0] == row.TableLinkHours {
			id, err := row.HourSuffix([]byte(key))
			expect.OK(t, err)
			if _, there := wanted[string(row.AppendColdKey(nil, id))]; !there {
				delete(wanted, key)
			}
		}
	}
	for key, value := range wanted {
		expect.That(t, has[key] == value, "%s: row %x is %x, want %x", name, key, has[key], value)
	}
	for key := range has {
		_, ok := wanted[key]
		expect.That(t, ok, "%s: it has a row %x too many", name, key)
	}
	wantNoFaults(t, got.Inspect())
}

// changesOf makes changes of all kinds at a leader, and returns nodes that were away since some moment of them.
func changesOf(t *testing.T, leader *Store, log *chainLog, seed uint64) (away []absentNode) {
	t.Helper()
	expect.OK(t, expect.Err(leader.AllocateIDs(1000)))
	m := &edgeModel{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), s: leader, next: 1, links: make(map[uint64]engine.Record), dead: make(map[uint64]engine.Record),
	}
	for i := range uint64(60) {
		m.step()
		if i%6 == 2 {
			imported := rowtest.Creation(rowtest.Link(fmt.Sprintf("imported-%d", i), 500+i, 1, "tag"))
			imported.Cold.ImportedHits, imported.Cold.ImportedAtMs = 1000+i, 3_600_000*24*700
			imported.Cold.Daily, imported.Cold.DailyOwner = daily.Pack([]daily.Hits{{Day: 300, Hits: 400}, {Day: 301 + uint32(i), Hits: 500 + i}}), 1
			imported.Cold.Reuse = true
			imported.By = &engine.By{AtMs: 1000, User: 1, Name: "ann", RequestID: "r"}
			apply(t, leader, imported)
		}
		if i%10 == 5 {
			one := absentNode{read: len(log.entries)}
			for id := range m.links {
				one.links = append(one.links, id)
			}
			away = append(away, one)
		}
	}
	return append(away, absentNode{read: 0}, absentNode{read: len(log.entries)})
}

// TestANodeThatWasAwayBecomesByACopyWhatTheLogWouldHaveMadeOfIt has nodes miss a part of the log, in which links were
// made, imported, edited, deleted and purged, and accounts written, after they had counted hits of their links. Some
// copies are cut off before their end. Each ends with the very rows of a node that has read every entry, figures
// too, and follows the log from there.
func TestANodeThatWasAwayBecomesByACopyWhatTheLogWouldHaveMadeOfIt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		leader, log := newRunningLeader(t)
		away := changesOf(t, leader, log, seed)
		var copied bytes.Buffer
		expect.OK(t, leader.WriteShared(t.Context(), &copied, false))
		at := log.head
		apply(t, leader, rowtest.Creation(rowtest.Link("after-the-copy", 999, 1)))
		for _, one := range away {
			name := fmt.Sprintf("seed %d, away since entry %d of %d", seed, one.read, len(log.entries))
			s, want := one.nodeAt(t, log), one.nodeAt(t, log)
			settled, seen := 0, &told{}
			settle := func(context.Context) error { settled++; return nil }
			whole := copied.Bytes()
			for _, cut := range []int{0, 20, len(whole) / 2, len(whole) - 1} {
				before, _ := s.LogPosition()
				err := s.MirrorShared(t.Context(), bytes.NewReader(whole[:cut]), seen, settle)
				expect.Error(t, err, errCopy, "%s: a copy that was cut off after %d bytes", name, cut)
				after, _ := s.LogPosition()
				expect.That(t, after == before, "%s: a copy that was cut off moved the position", name)
			}
			expect.OK(t, s.MirrorShared(t.Context(), bytes.NewReader(whole), seen, settle), name)
			got, _ := s.LogPosition()
			expect.That(t, got == at, "%s: it is at %v, the copy was made at %v", name, got, at)
			learnEach(t, s, log, len(log.entries), seen)
			learnEach(t, want, log, len(log.entries), &told{})
			wantLike(t, s, want, name)
			expect.That(t, one.read > 0 || seen.accounts > 0, "%s: it was not told of accounts", name)
			closeStore(t, s)
			closeStore(t, want)
		}
	}
}

// TestACopyThatIsNotForANodeChangesNothing gives nodes copies of other kinds, and of another cluster.
func TestACopyThatIsNotForANodeChangesNothing(t *testing.T) {
	t.Parallel()
	leader, _ := newRunningLeader(t)
	expect.OK(t, writeBulk(t, leader, madeLinks(1, 5, 10)))
	made := func(s *Store, links bool) *bytes.Buffer {
		var copied bytes.Buffer
		expect.OK(t, s.WriteShared(t.Context(), &copied, links))
		return &copied
	}
	other := openMem(t, vfs.NewMem())
	defer closeStore(t, other)
	expect.OK(t, other.JoinLog(clusterlog.ID{2}, clusterlog.Origin(clusterlog.ID{2})))
	alone := openMem(t, vfs.NewMem())
	defer closeStore(t, alone)
	s := newFollower(t)
	before := rows(t, s)
	failed := errors.New("no flush")
	for name, mirror := range map[string]func() error{
		"a copy for an edge":             func() error { return s.MirrorShared(t.Context(), made(leader, true), &told{}, nil) },
		"a copy of another cluster":      func() error { return s.MirrorShared(t.Context(), made(other, false), &told{}, nil) },
		"a store of no cluster":          func() error { return alone.MirrorShared(t.Context(), made(leader, false), &told{}, nil) },
		"a node that leads":              func() error { return leader.MirrorShared(t.Context(), made(leader, false), &told{}, nil) },
		"a store of no cluster gives it": func() error { return alone.WriteShared(t.Context(), new(bytes.Buffer), false) },
	} {
		expect.That(t, mirror() != nil, "%s: no error", name)
	}
	expect.That(t, maps.Equal(rows(t, s), before), "a copy that was refused changed rows")

	gone := rowtest.Creation(rowtest.Link("gone", 700, 1))
	b := s.db.NewBatch()
	kv.Set(b, row.AppendColdKey(nil, 700), row.AppendCold(nil, &gone.Cold))
	expect.OK(t, s.writer.Commit(b))
	expect.OK(t, b.Close())
	err := s.MirrorShared(t.Context(), made(leader, false), &told{}, func(context.Context) error { return failed })
	expect.Error(t, err, failed, "hits that could not be settled")
	_, kept := rows(t, s, row.TableCold)[string(row.AppendColdKey(nil, 700))]
	at, _ := s.LogPosition()
	expect.That(t, kept && at.Sequence == 0, "it was purged before its hits were settled: kept %t, at %d", kept, at.Sequence)
}
