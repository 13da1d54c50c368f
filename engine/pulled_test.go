package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/index"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// TestRedirectsOfAllNodesAreCountedOnceOnEach redirects at three nodes, whose clocks differ, while they
// flush, roll up, pull from each other and crash at any write of any of that. Answers are lost, repeated
// and late. At the end each node shows what a plain map has.
func TestRedirectsOfAllNodesAreCountedOnceOnEach(t *testing.T) {
	t.Parallel()
	crashes, late, seeds := 0, 0, int(histories(t))
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newCountedCluster(t, seed)
			for range 300 {
				c.step()
			}
			c.settle()
			for _, n := range c.nodes {
				n.compare()
			}
			crashes, late = crashes+c.crashes, late+c.late
		})
	}
	if crashes < 20*seeds/6 || late < 20*seeds/6 {
		t.Errorf("%d crashes, %d records of hours that were rolled up", crashes, late)
	}
}

// histories returns SHUNTTEST_HISTORIES, how many random histories of several nodes are to run, or
// manyHistories.
func histories(t *testing.T) uint64 {
	text := os.Getenv("SHUNTTEST_HISTORIES")
	if text == "" {
		return manyHistories
	}
	n, err := strconv.ParseUint(text, 10, 64)
	must(t, err)
	return n
}

const (
	countedLinks  = 8
	countedOwners = 3
)

// counted is what the ledger knows of a link or an owner.
type counted struct {
	hits     map[uint32]uint64 // by hour
	visitors map[uint64]bool
}

func (x *counted) add(hour uint32, visitor uint64) {
	x.hits[hour]++
	x.visitors[visitor] = true
}

func (x *counted) total() (hits uint64) {
	for _, n := range x.hits {
		hits += n
	}
	return hits
}

type countedCluster struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	links  [countedLinks]counted
	owners [countedOwners + 1]counted
	nodes  []*countedNode

	crashes, late int
}

type countedNode struct {
	*engine.Engine
	c       *countedCluster
	store   *storage.Store
	disk    *vfs.MemFS
	dir     string
	skew    time.Duration // of its clock
	answers []replicate.Posted

	mu struct {
		sync.Mutex
		writes int               // after so many more the node crashes; 0: never
		losses vfs.CrashCloneCfg // of that crash
		clone  *vfs.MemFS
	}
}

func countedOwner(i int) uint32 { return uint32(i%countedOwners) + 1 }

func newCountedCluster(t *testing.T, seed uint64) *countedCluster {
	c := &countedCluster{t: t, rng: rand.New(rand.NewPCG(seed, 5)), now: time.Date(2026, 3, 4, 20, 30, 0, 0, time.UTC)}
	for i := range c.links {
		c.links[i] = counted{map[uint32]uint64{}, map[uint64]bool{}}
	}
	for i := range c.owners {
		c.owners[i] = counted{map[uint32]uint64{}, map[uint64]bool{}}
	}
	mem := vfs.NewMem()
	c.makeLinks(mem)
	for i := range 3 {
		disk := vfs.NewCrashableMem()
		_, err := vfs.Clone(mem, disk, "data", "data", vfs.CloneSync)
		must(t, err)
		for _, dir := range []string{"", "data", "data/db"} { // else a crash loses their names
			d, err := disk.OpenDir(dir)
			must(t, err)
			must(t, errors.Join(d.Sync(), d.Close()))
		}
		n := &countedNode{c: c, dir: filepath.Join(t.TempDir(), "journal"), skew: time.Duration(i) * -40 * time.Minute}
		n.open(disk, true)
		c.nodes = append(c.nodes, n)
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			check(t, errors.Join(n.Close(), n.store.Close()))
			_ = os.RemoveAll(n.dir)
		}
	})
	return c
}

// makeLinks makes the store that all nodes begin with.
func (c *countedCluster) makeLinks(mem vfs.FS) {
	store, err := storage.Open("data", storage.Options{Create: true, FS: mem, Replicate: replicate.New})
	must(c.t, err)
	l := &life{t: c.t, gate: &gate{Store: store}, dir: filepath.Join(c.t.TempDir(), "journal")}
	l.open(engine.Options{Now: func() time.Time { return c.now }})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	l.running(func() {
		for i := range countedLinks {
			d := engine.Draft{Alias: fmt.Sprintf("link%d", i), Owner: countedOwner(i), Target: "https://example.com/"}
			_, _, err := l.Create(ctx, d)
			check(c.t, err)
		}
	})
	l.close()
	stop()
	running.Wait()
	must(c.t, errors.Join(replicate.Of(store).JoinLog(clusterlog.ID{1}, clusterlog.Origin(clusterlog.ID{1})), store.Close()))
}

func (n *countedNode) open(disk *vfs.MemFS, aCopy bool) {
	var err error
	quiet := slog.New(slog.DiscardHandler)
	n.disk = disk
	n.store, err = storage.Open("data", storage.Options{FS: errorfs.Wrap(disk, errorfs.InjectorFunc(n.before)), Logger: quiet, Replicate: replicate.New})
	must(n.c.t, err)
	if aCopy {
		must(n.c.t, replicate.Of(n.store).RenewOutbox())
	}
	n.Engine, err = engine.Open(n.store, engine.Options{
		JournalDir: n.dir, Rings: 1, RingRecords: 256, FlushInterval: time.Hour, KeptHours: 30,
		Cluster: true, ClockSettles: -1, Logger: quiet, Now: func() time.Time { return n.c.now.Add(n.skew) },
	})
	must(n.c.t, err)
	must(n.c.t, n.Load(context.Background(), nil))
}

// before implements errorfs.Injector: it takes a clone, as a crash would leave it. Pebble's goroutines call
// it, so it draws nothing.
func (n *countedNode) before(op errorfs.Op) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.writes == 0 || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if n.mu.writes--; n.mu.writes == 0 {
		n.mu.clone = n.disk.CrashClone(n.mu.losses)
	}
	return nil
}

// crashing does f, which may be cut off at any write. The journal's files have what was not flushed.
func (n *countedNode) crashing(f func() error) {
	n.mu.Lock()
	if n.c.rng.IntN(5) == 0 {
		n.mu.writes, n.mu.losses = 1+n.c.rng.IntN(4), vfs.CrashCloneCfg{}
		if n.c.rng.IntN(3) == 0 {
			n.mu.losses = vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))}
		}
	}
	n.mu.Unlock()
	must(n.c.t, f())
	n.mu.Lock()
	clone := n.mu.clone
	n.mu.writes, n.mu.clone = 0, nil
	n.mu.Unlock()
	if clone == nil {
		return
	}
	n.c.crashes++
	must(n.c.t, errors.Join(n.Abandon(), n.store.Close()))
	n.open(clone, false)
}

func (c *countedCluster) step() {
	n, other := c.nodes[c.rng.IntN(3)], c.nodes[c.rng.IntN(3)]
	switch c.rng.IntN(10) {
	case 0, 1, 2, 3:
		n.hit(1 + c.rng.IntN(9))
	case 4, 5:
		n.crashing(n.flush)
	case 6:
		c.now = c.now.Add(time.Duration(c.rng.IntN(50)) * time.Minute)
		n.crashing(func() error { return n.CloseHours(context.Background()) })
	default:
		if n != other {
			n.crashing(func() error { return n.pull(other) })
		}
	}
}

// hit counts redirects at the node, and in the ledger.
func (n *countedNode) hit(times int) {
	c := n.c
	now := c.now.Add(n.skew)
	for range times {
		i, visitor := c.rng.IntN(countedLinks), c.rng.Uint64N(200)
		l, ok := n.Resolve(viewOf(fmt.Appendf(nil, "link%d", i)))
		if !ok {
			c.t.Fatalf("link%d does not resolve", i)
		}
		n.Hit(l, engine.Visit{Visitor: visitor, NowMs: now.UnixMilli()})
		l.Release()
		hour := uint32(now.Unix() / 3600)
		c.links[i].add(hour, visitor)
		c.owners[countedOwner(i)].add(hour, visitor)
	}
}

func (n *countedNode) flush() error {
	n.Fold()
	return n.Flush()
}

// pull asks for records and applies some answer: this one, or a late one, or one twice, or none.
func (n *countedNode) pull(from *countedNode) error {
	id, _ := replicate.Of(from.store).OutboxID()
	next, err := replicate.Of(n.store).PulledNext(id)
	if err != nil {
		return err
	}
	p, err := replicate.Of(from.store).Outbox(next-1, n.c.rng.IntN(2)<<20)
	if err != nil {
		return err
	}
	n.answers = append(n.answers, p)
	for range n.c.rng.IntN(3) {
		p := n.answers[max(n.c.rng.IntN(len(n.answers)), len(n.answers)-1-n.c.rng.IntN(4))]
		if err := n.apply(p); err != nil && !errors.Is(err, replicate.ErrOutboxGap) {
			return err
		}
	}
	return nil
}

// apply applies an answer, and checks that its hits are shown at once.
func (n *countedNode) apply(p replicate.Posted) error {
	before := n.hits()
	var applied replicate.Pulled
	err := n.Pulled(func() (_ []engine.PulledHits, err error) {
		applied, err = replicate.Of(n.store).ApplyPulled(p.ID, p.First, p.Records)
		return applied.Hits, err
	})
	for _, h := range applied.Hits {
		before[h.ID] += h.Hits
	}
	for id, hits := range n.hits() {
		if hits != before[id] {
			n.c.t.Errorf("after a pull link %d shows %d hits, want %d", id, hits, before[id])
		}
	}
	if m, rows := n.store.Metrics(), replicate.Of(n.store).Metrics(); rows.PulledRows > 0 && err == nil && !m.RollUpWaits.IsZero() && m.RollUpWaits.Before(n.c.now.Add(n.skew-2*time.Hour)) {
		n.c.late++
	}
	return err
}

// hits returns what the node shows of each link.
func (n *countedNode) hits() map[uint64]uint64 {
	all := map[uint64]uint64{}
	for i := range countedLinks {
		code := fmt.Sprintf("link%d", i)
		l, _ := n.Resolve(keyOf(code).View())
		s, err := n.Stats(context.Background(), keyOf(code))
		must(n.c.t, err)
		all[l.ID()] = s.Hits
		l.Release()
	}
	return all
}

// settle has all nodes flush, and pull everything.
func (c *countedCluster) settle() {
	for _, n := range c.nodes {
		must(c.t, n.flush())
		n.skew = 0 // else those behind show the last hours as one
	}
	for _, n := range c.nodes {
		for _, other := range c.nodes {
			if n == other {
				continue
			}
			id, _ := replicate.Of(other.store).OutboxID()
			for {
				next, err := replicate.Of(n.store).PulledNext(id)
				must(c.t, err)
				p, err := replicate.Of(other.store).Outbox(next-1, 1<<20)
				if err == nil && len(p.Records) > 0 {
					err = n.apply(p)
				}
				must(c.t, err)
				if len(p.Records) == 0 {
					break
				}
			}
		}
	}
}

// compare compares all figures of the node with the ledger, before and after the roll-up of all hours,
// and after a restart.
func (n *countedNode) compare() {
	t := n.c.t
	t.Helper()
	n.compareFigures("at the end")
	n.skew += 2 * time.Hour
	must(t, n.CloseHours(context.Background()))
	n.compareFigures("after the roll-up")
	must(t, errors.Join(n.Close(), n.store.Close()))
	n.open(n.disk, false)
	n.compareFigures("after a restart")
}

func (n *countedNode) compareFigures(when string) {
	t, ctx := n.c.t, context.Background()
	t.Helper()
	kept, _ := n.KeptSince()
	for i := range n.c.links {
		code, want := fmt.Sprintf("link%d", i), &n.c.links[i]
		s, err := n.Stats(ctx, keyOf(code))
		if err != nil || s.Hits != want.total() || s.Unique != uint64(len(want.visitors)) {
			t.Errorf("%s: %s: %d hits of %d visitors, %v; want %d of %d", when, code, s.Hits, s.Unique, err, want.total(), len(want.visitors))
		}
		report := func(q engine.Query) engine.Report {
			q.Parts = engine.Visitors
			r, err := n.LinkReport(ctx, keyOf(code), q)
			must(t, err)
			return r
		}
		if r := report(engine.Query{Interval: engine.Hourly, From: kept}); !sameSeries(r, want, 1, kept) {
			t.Errorf("%s: %s by the hour: got %+v, want %v", when, code, r.Series, want.hits)
		}
		if r := report(engine.Query{Interval: engine.Daily}); !sameSeries(r, want, 24, time.Time{}) || r.Unique != s.Unique {
			t.Errorf("%s: %s by the day: got %+v, want %v", when, code, r.Series, want.hits)
		}
	}
	for owner := uint32(1); owner <= countedOwners; owner++ {
		want := &n.c.owners[owner]
		r, err := n.OwnerReport(ctx, []uint32{owner}, "", engine.Query{Interval: engine.Daily, Parts: engine.Visitors})
		if err != nil || r.Hits != want.total() || r.Unique != uint64(len(want.visitors)) || !sameSeries(r, want, 24, time.Time{}) {
			t.Errorf("%s: owner %d: %d hits of %d visitors, %v; want %d of %d", when, owner, r.Hits, r.Unique, err, want.total(), len(want.visitors))
		}
	}
}

// sameSeries compares a series with buckets of some hours, from a time on.
func sameSeries(r engine.Report, want *counted, hours uint32, from time.Time) bool {
	left := map[uint32]uint64{}
	for hour, hits := range want.hits {
		if hour >= uint32(max(from.Unix(), 0)/3600) {
			left[hour/hours] += hits
		}
	}
	for _, b := range r.Series {
		bucket := uint32(b.From.Unix()/3600) / hours
		if b.Hits != left[bucket] {
			return false
		}
		delete(left, bucket)
	}
	return len(left) == 0
}

// TestHitsMayComeBeforeTheirLink pulls hits of links that the engine learns later, one of which brings
// hits along.
func TestHitsMayComeBeforeTheirLink(t *testing.T) {
	e := newTestEngine(t, engine.Options{FlushInterval: time.Hour, Cluster: true})
	err := e.Pulled(func() ([]engine.PulledHits, error) {
		return []engine.PulledHits{{ID: 7, Hits: 4}, {ID: 1 << 20, Hits: 2}, {ID: 7, Hits: 1}}, nil
	})
	must(t, err)
	err = e.Learn(&engine.Learned{
		Links: []index.HotView{
			{KeyView: keyOf("seven").View(), Target: []byte("https://example.com/"), ID: 7, Owner: 1},
			{KeyView: keyOf("million").View(), Target: []byte("https://example.com/"), ID: 1 << 20, Owner: 1},
			{KeyView: keyOf("imported").View(), Target: []byte("https://example.com/"), ID: 8, Owner: 1},
		},
		Hits: []engine.ImportedHits{{ID: 7, Hits: 100}, {ID: 8, Hits: 30}},
	})
	must(t, err)
	for code, want := range map[string]uint64{"seven": 105, "million": 2, "imported": 30} {
		if s := e.stats(t, code); s.Hits != want {
			t.Errorf("%s: got %d hits, want %d", code, s.Hits, want)
		}
	}
}

// TestNothingIsPulledBeforeLinksAreLoaded has an engine whose Load has not run.
func TestNothingIsPulledBeforeLinksAreLoaded(t *testing.T) {
	store, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem()})
	must(t, err)
	e, err := engine.Open(store, engine.Options{JournalDir: filepath.Join(t.TempDir(), "journal"), Rings: 1, RingRecords: 256})
	must(t, err)
	called := false
	apply := func() ([]engine.PulledHits, error) {
		called = true
		return nil, errors.New("no")
	}
	if err := e.Pulled(apply); !errors.Is(err, engine.ErrLoading) || called {
		t.Errorf("got %v, apply called: %v; want ErrLoading", err, called)
	}
	must(t, e.Load(context.Background(), nil))
	if err := e.Pulled(apply); err == nil || !called {
		t.Errorf("after Load: got %v, apply called: %v", err, called)
	}
	check(t, errors.Join(e.Close(), store.Close()))
}
