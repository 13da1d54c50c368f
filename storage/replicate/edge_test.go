package replicate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// edgeOf returns the file system of a new edge, from what a full node gives it now.
func edgeOf(t testing.TB, full *Store) *vfs.MemFS {
	t.Helper()
	made, err := full.LinksToStream(t.Context())
	expect.OK(t, err)
	disk := vfs.Root(full.folder.FS).(*vfs.MemFS)
	_, err = Restore(t.Context(), made.Dir, otherDir, RestoreOptions{FS: disk, Logger: quiet})
	expect.OK(t, err)
	edge := vfs.NewMem()
	_, err = vfs.Clone(disk, edge, otherDir, storeDir, vfs.CloneSync)
	expect.OK(t, err)
	expect.OK(t, disk.RemoveAll(otherDir))
	expect.OK(t, full.RemoveStream(made.Dir))
	return edge
}

// linksOf returns the hash of what an edge keeps, and fails if a store has a fault.
func linksOf(t testing.TB, s *Store, wantEdge bool) string {
	t.Helper()
	v := s.Inspect()
	defer closeInspection(t, v)
	faults := new(engine.Faults)
	_, err := v.Check(t.Context(), CheckOptions{Faults: faults})
	expect.OK(t, err)
	found, total := faults.Found()
	expect.That(t, total == 0, "edge: %v: %d faults, the first: %v", wantEdge, total, found)
	state, err := State(v)
	expect.MustThat(t, err == nil && state.Edge == wantEdge, "edge: %+v, %v, want %v", state, err, wantEdge)
	return state.Links
}

// edgeModel makes changes of all kinds at a leader.
type edgeModel struct {
	t     *testing.T
	rng   *rand.Rand
	s     *Store
	next  uint64
	links map[uint64]engine.Record
	dead  map[uint64]engine.Record
}

func (m *edgeModel) step() {
	any := func(of map[uint64]engine.Record) (engine.Record, bool) {
		ids := make([]uint64, 0, len(of))
		for id := range of {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			return engine.Record{}, false
		}
		slices.Sort(ids)
		return of[ids[m.rng.IntN(len(ids))]], true
	}
	by := &engine.By{User: 1, Name: "secret-name"}
	switch kind := m.rng.IntN(10); {
	case kind < 3:
		r := rowtest.Link(fmt.Sprintf("code-%d", m.next), m.next, 1, "secret-tag")
		r.Cold.Title, r.Cold.Reuse = "secret-title", m.next%2 == 0
		if m.rng.IntN(2) == 0 {
			r.Cold.ImportedHits = 7
		}
		create := rowtest.Creation(r)
		create.By = by
		create.Receipt = &engine.Receipt{Request: engine.Request{RequestKey: engine.RequestKey{Sender: [32]byte{1}, Key: [32]byte{byte(m.next)}}}}
		apply(m.t, m.s, create)
		m.links[m.next] = r
		m.next++
	case kind < 5:
		before, ok := any(m.links)
		if !ok {
			return
		}
		after := before
		after.Hot.Target += "x"
		after.Cold.Version++
		apply(m.t, m.s, rowtest.Edit(before, after))
		m.links[after.Hot.ID] = after
	case kind < 7:
		if r, ok := any(m.links); ok {
			apply(m.t, m.s, rowtest.Deletion(r))
			delete(m.links, r.Hot.ID)
			m.dead[r.Hot.ID] = r
		}
	case kind < 8:
		if r, ok := any(m.dead); ok {
			delete(m.dead, r.Hot.ID)
			switch m.rng.IntN(3) {
			case 0:
				apply(m.t, m.s, rowtest.Restore(r))
				m.links[r.Hot.ID] = r
			case 1: // its tombstone stays
				apply(m.t, m.s, rowtest.Leaving(r, false))
			default:
				apply(m.t, m.s, rowtest.Leaving(r, true))
			}
		}
	default:
		done := make(chan error, 1)
		m.s.Accounts().Write([][2][]byte{{fmt.Appendf(nil, "user-%d", m.rng.IntN(5)), []byte("secret-account")}}, nil, nil, func(err error) { done <- err })
		expect.OK(m.t, <-done)
	}
}

// TestAnEdgeHasTheLinksOfAFullNodeAndNothingElse makes changes of all kinds, and edges from copies at many
// points of them. Each edge reads the log from there, is restarted meanwhile, and has the same links as
// the full node at the end, and no other row.
func TestAnEdgeHasTheLinksOfAFullNodeAndNothingElse(t *testing.T) {
	for seed := range uint64(5) {
		log := newLog()
		full := openMember(t, vfs.NewMem())
		stop := start(t, full)
		full.Lead(log)
		_, err := full.AllocateIDs(1000)
		expect.OK(t, err)
		m := &edgeModel{
			t: t, rng: rand.New(rand.NewPCG(seed, 1)), s: full, next: 1, links: make(map[uint64]engine.Record), dead: make(map[uint64]engine.Record),
		}
		disks := make(map[int]*vfs.MemFS)
		for i := range 60 {
			m.step()
			if i%12 == 3 {
				f := rowtest.NewFlush() // figures of the full node, which no edge has
				for id := range m.links {
					f.Add(24*800, id, 1, rowtest.Hit(1))
				}
				flush(t, full, uint64(i+1), f)
				disks[i] = edgeOf(t, full)
			}
		}
		want := linksOf(t, full, false)
		for at, disk := range disks {
			wantEdgeOf(t, m, log, disk, want, fmt.Sprintf("seed %d, a copy after %d changes", seed, at+1))
		}
		stop()
		closeStore(t, full)
	}
}

// wantEdgeOf has an edge read the log to its end, and checks what it has then.
func wantEdgeOf(t *testing.T, m *edgeModel, log *chainLog, disk *vfs.MemFS, want, name string) {
	t.Helper()
	s, seen := openMem(t, disk), &told{}
	defer func() { closeStore(t, s) }()
	expect.MustThat(t, s.Edge(), "%s: the store is not that of an edge", name)
	for until := int(s.AppliedSequence()); until < len(log.entries); {
		until = min(until+1+m.rng.IntN(9), len(log.entries))
		learnEach(t, s, log, until, seen)
		expect.MustEqual(t, s.AppliedSequence(), uint64(until), "%s: it has applied, want %d", name, until)
		if m.rng.IntN(3) == 0 {
			closeStore(t, s)
			s = openMem(t, disk)
		}
	}
	expect.Equal(t, linksOf(t, s, true), want, "%s: other links than the full node has", name)
	at, _ := s.LogPosition()
	expect.That(t, at == log.head, "%s: it is at %v, the log at %v", name, at, log.head)
	expect.That(t, seen.accounts <= 0 && seen.receipts == 0, "%s: it was told of %d accounts and %d receipts", name, seen.accounts, seen.receipts)
	v := s.Inspect()
	defer closeInspection(t, v)
	for key, value := range allRows(t, v) {
		expect.That(t, key[0] == row.TableHot || key[0] == row.TableCold || key[0] == row.TableMeta || key[0] == row.TablePulled, "%s: it has the row %x", name, key)
		expect.That(t, !strings.Contains(value, "secret"), "%s: the row %x has %q", name, key, value)
	}
	for _, path := range everyFile(t, disk, storeDir) {
		expect.That(t, !bytes.Contains(bytesOf(t, disk, path), []byte("secret-")), "%s: %s has what an edge may not", name, path)
	}
}

func everyFile(t *testing.T, disk vfs.FS, dir string) (all []string) {
	t.Helper()
	names, err := disk.List(dir)
	expect.OK(t, err)
	for _, name := range names {
		path := disk.PathJoin(dir, name)
		info, err := disk.Stat(path)
		switch {
		case err != nil:
			t.Fatal(err)
		case info.Mode()&fs.ModeDir != 0:
			all = append(all, everyFile(t, disk, path)...)
		default:
			all = append(all, path)
		}
	}
	return all
}

func bytesOf(t *testing.T, disk vfs.FS, path string) []byte {
	t.Helper()
	f, err := disk.Open(path)
	expect.OK(t, err)
	defer f.Close()
	info, err := f.Stat()
	expect.OK(t, err)
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	expect.MustThat(t, n == len(b), "%v", err)
	return b
}

// TestHitsOfAnEdgeAreInItsOutboxOnly flushes at an edge, restarts it, and has a full node pull.
func TestHitsOfAnEdgeAreInItsOutboxOnly(t *testing.T) {
	full := openMem(t, newCluster(t, newLog(), 1)[0])
	defer closeStore(t, full)
	disk := edgeOf(t, full)
	edge := openMem(t, disk)
	rng := rand.New(rand.NewPCG(1, 2))
	total := make(map[uint64]*rowtest.Model)
	for seq := uint64(1); seq <= 6; seq++ {
		f := rowtest.NewFlush()
		for range 5 {
			id, m := uint64(1+rng.IntN(clusterLinks)), rowtest.Hit(rng.Uint64N(20))
			f.Add(24*800+uint32(seq), id, clusterOwner(id), m)
			if total[id] == nil {
				total[id] = &rowtest.Model{}
			}
			total[id].Add(m)
		}
		flush(t, edge, seq, f)
		more, err := edge.RollUp(engine.RollUpLimits{OpenHour: 24*800 + uint32(seq)})
		expect.That(t, !more && err == nil, "an edge has hours to roll up: %v, %v", more, err)
		if seq == 3 {
			closeStore(t, edge)
			edge = openMem(t, disk)
		}
	}
	defer closeStore(t, edge)
	v := edge.Inspect()
	for key := range allRows(t, v) {
		if row.TableLinkHours <= key[0] && key[0] <= row.TableOwnerDays {
			t.Errorf("an edge has the row %s", hex.EncodeToString([]byte(key)))
		}
	}
	closeInspection(t, v)
	linksOf(t, edge, true)
	p := posted(t, edge, 0)
	for next := p.First; next < p.First+uint64(len(p.Records)); {
		done, err := full.ApplyPulled(p.ID, p.First, p.Records)
		expect.OK(t, err)
		next = done.Next
	}
	for more := true; more; {
		var err error
		more, err = full.RollUp(engine.RollUpLimits{OpenHour: 24 * 900})
		expect.OK(t, err)
	}
	for id, want := range total {
		wantTally(t, full, id, want)
	}
}

func TestAnEdgeIsNeverAnythingElse(t *testing.T) {
	full := openMem(t, newCluster(t, newLog(), 1)[0])
	defer closeStore(t, full)
	edge := openMem(t, edgeOf(t, full))
	defer closeStore(t, edge)
	expect.That(t, !full.Edge(), "a full node is an edge")
	err := edge.LeaveLog()
	expect.That(t, err != nil && edge.Edge(), "it left its cluster: %v", err)
	expect.That(t, expect.Err(edge.LinksToStream(t.Context())) != nil, "an edge gives a copy for another one")
	expect.That(t, expect.Err(edge.AllocateIDs(1)) != nil, "an edge gives ids")
	expect.That(t, edge.JoinLog(clusterlog.ID{2}, clusterlog.Origin(clusterlog.ID{2})) != nil, "it joined another cluster")
	a, b := edge.Identity(), full.Identity()
	expect.That(t, a.VisitorKey == b.VisitorKey && a.StoreID == b.StoreID, "it has another visitor key than the full node, or is of another store")
	x, _ := edge.OutboxID()
	y, _ := full.OutboxID()
	expect.That(t, x != y, "it has the outbox of the full node")
	alone := openMem(t, vfs.NewMem())
	defer closeStore(t, alone)
	expect.That(t, expect.Err(alone.LinksToStream(t.Context())) != nil, "a store of no cluster gives a copy for an edge")
}

// BenchmarkFlushOfAnEdge commits flushes of 50,000 rows, whose records are pulled and dropped after each, and
// in a full node are rolled up, too.
func BenchmarkFlushOfAnEdge(b *testing.B) {
	for _, edge := range []bool{false, true} {
		b.Run(fmt.Sprintf("edge=%v", edge), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "store"), Options{})
			defer closeStore(b, s)
			defer start(b, s)()
			expect.OK(b, s.JoinLog(clusterlog.ID{1}, clusterlog.Origin(clusterlog.ID{1})))
			s.shared.edge = edge
			for seq := uint64(1); b.Loop(); seq++ {
				b.StopTimer()
				f, hour := rowtest.NewFlush(), 1000+uint32(seq)
				for range 50_000 {
					f.Add(hour, 1+rand.Uint64N(1_000_000), 1, rowtest.HitFrom(rand.Uint64(), fmt.Sprintf("www.site%d.example", rand.IntN(100)), 1+byte(rand.IntN(30)), 1, 2))
				}
				b.StartTimer()
				flush(b, s, seq, f)
				for more := true; more; {
					var err error
					more, err = s.DropOutbox(s.outbox.next.Load() - 1)
					expect.OK(b, err)
				}
				for more := true; more; {
					var err error
					if more, err = s.RollUp(engine.RollUpLimits{OpenHour: hour + 1, FirstHour: hour}); err != nil && !errors.Is(err, engine.ErrBehind) {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(s.Store.Metrics().DiskBytes)/1e6, "disk-MB")
		})
	}
}
