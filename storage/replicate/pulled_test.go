package replicate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// TestAllNodesGetEqualFigures has three nodes flush, roll up, drop hours and days, and pull from each
// other, in a random order. Answers are lost, repeated, and applied late; each step may end in a crash at
// any write, after which the node does again what it would replay from its journal. At the end all
// nodes must have the rows of a plain map of everything that was flushed.
func TestAllNodesGetEqualFigures(t *testing.T) {
	t.Parallel()
	for seed := range number(t, "SHUNTTEST_HISTORIES", manyHistories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newPulledCluster(t, seed)
			for range 250 {
				c.step()
			}
			c.settle()
			c.compare()
			c.compareHits("after it")
			expect.That(t, c.crashes != 0 && c.repeats != 0, "%d crashes, %d repeated records", c.crashes, c.repeats)
		})
	}
}

// pulledCluster is the nodes of a model, and its ledger.
type pulledCluster struct {
	t      *testing.T
	rng    *rand.Rand
	nodes  []*pulledNode
	ledger *rowtest.Flush

	crashes, repeats int
}

const (
	pulledHour = 24 * 800 // the first hour of the model
	keptHours  = 20
	keptDays   = 3
)

type pulledNode struct {
	c       *pulledCluster
	disk    *vfs.MemFS
	store   *Store
	seq     uint64
	open    uint32         // no flush has rows of an earlier hour
	pending *rowtest.Flush // what the last flush was to commit
	late    []Posted       // answers of other nodes that have not come yet

	mu struct {
		sync.Mutex
		writes int               // after so many more the node crashes; 0: never
		losses vfs.CrashCloneCfg // of that crash
		asked  []Posted          // answers that the next node has got since writes was set
		clone  *vfs.MemFS
	}
}

func newPulledCluster(t *testing.T, seed uint64) *pulledCluster {
	c := &pulledCluster{t: t, rng: rand.New(rand.NewPCG(seed, 4)), ledger: rowtest.NewFlush()}
	for _, disk := range newCluster(t, newLog(), 3) {
		n := &pulledNode{c: c, open: pulledHour}
		n.start(disk)
		c.nodes = append(c.nodes, n)
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			closeStore(t, n.store)
		}
	})
	return c
}

func (n *pulledNode) start(disk *vfs.MemFS) {
	n.disk = disk
	n.store = openMem(n.c.t, errorfs.Wrap(disk, errorfs.InjectorFunc(n.before)))
}

// before implements errorfs.Injector. Pebble's goroutines call it, so it draws nothing. At a sync of the log it first
// asks for the outbox, as another node might, whose answer stays valid whatever becomes of this node.
func (n *pulledNode) before(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite { // before the lock, which is held while n.ask reads
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.writes == 0 {
		return nil
	}
	if n.mu.writes--; n.mu.writes > 0 {
		return nil
	}
	if strings.HasSuffix(op.Path, ".log") {
		n.mu.asked = n.ask(n.mu.asked)
	}
	n.mu.clone = n.disk.CrashClone(n.mu.losses)
	return nil
}

func (n *pulledNode) index() int {
	for i := range n.c.nodes {
		if n.c.nodes[i] == n {
			return i
		}
	}
	panic("a node of no cluster")
}

// ask appends what the node answers to one that asks for all its records.
func (n *pulledNode) ask(answers []Posted) []Posted {
	first := max(n.store.outbox.first.Load(), 1)
	if p, err := n.store.Outbox(first-1, 1<<20); err == nil && len(p.Records) > 0 {
		answers = append(answers, p)
	}
	return answers
}

// crashing does f, which may be cut off at any write, as by a crash.
func (n *pulledNode) crashing(f func()) {
	n.mu.Lock()
	if n.c.rng.IntN(6) == 0 {
		n.mu.writes, n.mu.losses = 1+n.c.rng.IntN(4), loseAll()
		if n.c.rng.IntN(3) == 0 {
			n.mu.losses = loseNothing()
		}
	}
	n.mu.Unlock()
	f()
	n.mu.Lock()
	clone := n.mu.clone
	next := n.c.nodes[(n.index()+1)%len(n.c.nodes)]
	next.late = append(next.late, n.mu.asked...)
	n.mu.writes, n.mu.asked, n.mu.clone = 0, nil, nil
	n.mu.Unlock()
	if clone == nil {
		return
	}
	n.c.crashes++
	closeStore(n.c.t, n.store)
	n.start(clone)
	p, err := n.store.Positions()
	expect.OK(n.c.t, err)
	if p.FlushSeq != n.seq { // as from the journal
		n.commit()
	}
}

func (c *pulledCluster) step() {
	n := c.nodes[c.rng.IntN(len(c.nodes))]
	switch other := c.nodes[c.rng.IntN(len(c.nodes))]; c.rng.IntN(10) {
	case 0, 1, 2:
		n.crashing(n.flush)
	case 3:
		n.crashing(func() { n.drop() })
	case 4:
		n.open += uint32(c.rng.IntN(3))
		n.crashing(func() { n.flush(); n.rollUp(1 + c.rng.IntN(3)) })
	case 5:
		n.crashing(func() { n.rollUp(1) })
	default:
		if n != other {
			n.crashing(func() { n.pull(other) })
		}
	}
}

// flush counts some redirects at the node.
func (n *pulledNode) flush() {
	rng := n.c.rng
	n.pending, n.seq = rowtest.NewFlush(), n.seq+1
	for range rng.IntN(6) {
		id, hour := 1+rng.Uint64N(clusterLinks), n.open+uint32(rng.IntN(3))
		m := rowtest.Hit(rowtest.Visitor(rng.Uint64N(40)))
		switch rng.IntN(4) {
		case 0:
			m = &rowtest.Model{Bots: 1, Heads: 2}
		case 1:
			m = rowtest.HitFrom(rowtest.Visitor(rng.Uint64N(40)), fmt.Sprintf("%d.example", rng.IntN(3)), 5, 2, 1)
		}
		n.pending.Add(hour, id, clusterOwner(id), m)
		n.c.ledger.Add(hour, id, clusterOwner(id), m)
		if target := uint8(rng.IntN(4)); target > 1 && m.Hits > 0 {
			n.pending.AddTarget(hour, id, target, m)
			n.c.ledger.AddTarget(hour, id, target, m)
		}
	}
	n.commit()
}

func (n *pulledNode) commit() {
	expect.OK(n.c.t, n.store.Flush(n.pending.Batch(engine.Positions{Epoch: 1, FlushSeq: n.seq, OpenHour: n.open, Rings: []uint64{n.seq}})))
}

func (n *pulledNode) rollUp(chunks int) {
	p, err := n.store.Positions()
	for ; err == nil && chunks > 0; chunks-- {
		l := engine.RollUpLimits{OpenHour: p.OpenHour, FirstHour: n.open - keptHours, FirstDay: n.open/24 - keptDays}
		_, err = n.store.RollUp(l)
	}
	expect.OK(n.c.t, err)
}

// drop drops what all other nodes have applied.
func (n *pulledNode) drop() {
	id, through := posted(n.c.t, n.store, n.store.outbox.first.Load()-1).ID, uint64(1<<40)
	for _, other := range n.c.nodes {
		if other != n {
			next, err := other.store.PulledNext(id)
			expect.OK(n.c.t, err)
			through = min(through, next-1)
		}
	}
	_, err := n.store.DropOutbox(through)
	expect.OK(n.c.t, err)
}

// pull asks another node for records, and applies some answer: this one, or one that comes late, or one
// of them twice, or none.
func (n *pulledNode) pull(from *pulledNode) {
	rng := n.c.rng
	through, last, err := n.store.PulledThrough(*from.store.outbox.id.Load())
	expect.OK(n.c.t, err)
	has, err := from.store.RecordHash(through)
	expect.That(n.c.t, err == nil && has == last, "record %d is %x, and %x was applied; %v", through, has, last, err)
	p, err := from.store.Outbox(through, rng.IntN(2)<<20)
	expect.OK(n.c.t, err, "Outbox(%d)", through)
	n.late = append(n.late, p)
	for range rng.IntN(3) {
		p := n.late[max(rng.IntN(len(n.late)), len(n.late)-1-rng.IntN(8))]
		before, err := n.store.PulledNext(p.ID)
		expect.OK(n.c.t, err)
		if p.First < before && len(p.Records) > 0 {
			n.c.repeats++
		}
		_, err = n.store.ApplyPulled(p.ID, p.First, p.Records)
		expect.MustThat(n.c.t, err == nil || p.First > before && errors.Is(err, ErrOutboxGap), "ApplyPulled(from %d, the next is %d): %v", p.First, before, err)
	}
}

// compareHits compares the hits that an engine would show of each link with the ledger.
func (c *pulledCluster) compareHits(when string) {
	want := map[uint64]uint64{}
	for key, m := range c.ledger.Links {
		if _, target := engine.SplitID(key.ID); m.Hits > 0 && target == 0 {
			want[key.ID] += m.Hits
		}
	}
	for i, n := range c.nodes {
		got := hitsOf(c.t, n.store)
		expect.That(c.t, maps.Equal(got, want), "%s node %d has hits %v, want %v", when, i, got, want)
	}
}

// settle has all nodes pull everything and roll up the same hours.
func (c *pulledCluster) settle() {
	last := uint32(0)
	for _, n := range c.nodes {
		last = max(last, n.open)
		for _, other := range c.nodes {
			if other != n {
				next, err := n.store.PulledNext(*other.store.outbox.id.Load())
				for p := posted(c.t, other.store, next-1); err == nil && len(p.Records) > 0; p = posted(c.t, other.store, next-1) {
					var pulled Pulled
					pulled, err = n.store.ApplyPulled(p.ID, p.First, p.Records)
					next = pulled.Next
				}
				expect.OK(c.t, err)
			}
		}
	}
	c.compareHits("before the last roll-up")
	for _, n := range c.nodes {
		n.open, n.seq, n.pending = last+24, n.seq+1, rowtest.NewFlush()
		n.commit()
		rollUpAll(c.t, n.store, c.limits(last), nil)
		wantSound(c.t, n.store)
	}
}

// limits are those of the last roll-up: one more day is swept than before.
func (c *pulledCluster) limits(last uint32) engine.RollUpLimits {
	return engine.RollUpLimits{OpenHour: last + 1, FirstHour: last - keptHours, FirstDay: last/24 - keptDays + 1}
}

// compare compares all rows of tallies with the ledger.
func (c *pulledCluster) compare() {
	l := c.limits(c.nodes[0].open - 24)
	days, lives := rowtest.NewFlush(), rowtest.NewFlush()
	hours := rowtest.NewFlush()
	for key, m := range c.ledger.Links {
		addModel(days.Links, rowtest.LinkHour{Hour: key.Hour / 24, ID: key.ID}, m, key.Hour < l.OpenHour && key.Hour/24 >= l.FirstDay)
		addModel(lives.Links, rowtest.LinkHour{Hour: 0, ID: key.ID}, m, key.Hour < l.OpenHour)
		addModel(hours.Links, key, m, key.Hour >= l.FirstHour)
	}
	for key, m := range c.ledger.Owners {
		addModel(days.Owners, rowtest.LinkHour{Hour: key.Hour / 24, ID: key.ID}, m, key.Hour < l.OpenHour && key.Hour/24 >= l.FirstDay)
		addModel(hours.Owners, key, m, key.Hour >= l.FirstHour)
	}
	want := map[string]string{}
	put := func(rows map[rowtest.LinkHour]*rowtest.Model, key func(x rowtest.LinkHour) []byte) {
		for x, m := range rows {
			want[string(key(x))] = string(rowOf(m))
		}
	}
	put(hours.Links, func(x rowtest.LinkHour) []byte { return row.AppendLinkHourKey(nil, x.Hour, x.ID) })
	put(hours.Owners, func(x rowtest.LinkHour) []byte { return row.AppendOwnerHourKey(nil, x.Hour, uint32(x.ID)) })
	put(days.Links, func(x rowtest.LinkHour) []byte { return row.AppendLinkDayKey(nil, x.ID, x.Hour) })
	put(days.Owners, func(x rowtest.LinkHour) []byte { return row.AppendOwnerDayKey(nil, uint32(x.ID), x.Hour) })
	put(lives.Links, func(x rowtest.LinkHour) []byte { return row.AppendLinkLifeKey(nil, x.ID) })
	for i, n := range c.nodes {
		got := map[string]string{}
		for _, table := range []byte{row.TableLinkHours, row.TableOwnerHours, row.TableLinkDays, row.TableLinkLives, row.TableOwnerDays} {
			maps.Copy(got, rows(c.t, n.store, table))
		}
		compareRows(c.t, i, got, want)
	}
}

func addModel(to map[rowtest.LinkHour]*rowtest.Model, key rowtest.LinkHour, m *rowtest.Model, kept bool) {
	if !kept {
		return
	}
	if to[key] == nil {
		to[key] = &rowtest.Model{}
	}
	to[key].Add(m)
}

func compareRows(t *testing.T, node int, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		expect.Equal(t, got[key], value, "node %d, row %x", node, key)
	}
	for key := range got {
		_, ok := want[key]
		expect.That(t, ok, "node %d, row %x: %x, want none", node, key, got[key])
	}
}

// TestALateRowIsWhereTheRollUpWouldHavePutIt pulls rows of an hour that is rolled up in part, and of
// hours whose rows or days are deleted.
func TestALateRowIsWhereTheRollUpWouldHavePutIt(t *testing.T) {
	const hour, day = 24 * 1000, 1000
	nodes := openCluster(t, newLog(), 2)
	s := nodes[0]
	f := rowtest.NewFlush()
	f.Add(hour, 4, 2, rowtest.Hit(1))
	f.Add(hour, 9, 1, rowtest.Hit(1))
	f.Add(hour-1000, 4, 2, rowtest.Hit(1)) // of a day that is deleted, and an hour
	f.Add(hour-30, 4, 2, rowtest.Hit(1))   // of a deleted hour
	expect.OK(t, s.Flush(f.Batch(engine.Positions{Epoch: 1, FlushSeq: 1, OpenHour: hour + 1})))
	rollUpAll(t, s, engine.RollUpLimits{OpenHour: hour, FirstHour: hour - 20, FirstDay: day - 10}, nil)
	mark := row.Mark{Hour: hour, Stage: row.StageLinks, Next: 5} // as a chunk that ended after link 4
	merged := s.db.NewBatch()
	kv.Merge(merged, row.AppendLinkDayKey(nil, 4, day), rowOf(rowtest.Hit(1)))
	kv.Merge(merged, row.AppendLinkLifeKey(nil, 4), rowOf(rowtest.Hit(1)))
	kv.Set(merged, row.MetaKey(row.MetaMark), row.AppendMark(nil, &mark))
	expect.OK(t, errors.Join(s.writer.Sync(merged, "the chunk"), s.hits.Start()))

	late := rowtest.NewFlush()
	for id := range uint64(2) {
		late.Add(hour, 4+id*5, clusterOwner(4+id*5), rowtest.Hit(2))
	}
	late.Add(hour-1000, 4, 2, rowtest.Hit(2))
	late.Add(hour-30, 4, 2, rowtest.Hit(2))
	late.Add(hour-10, 4, 2, rowtest.Hit(2))
	late.Add(hour+5, 4, 2, rowtest.Hit(2))
	flush(t, nodes[1], 1, late)
	expect.Equal(t, pull(t, s, nodes[1]), 6, "hits of links")
	two := &rowtest.Model{Hits: 2, Visitors: map[uint64]bool{1: true, 2: true}}
	life := &rowtest.Model{Hits: 7, Visitors: two.Visitors}
	for name, c := range map[string]struct {
		key  []byte
		want *rowtest.Model // nil: none
	}{
		"the hour of a link that is rolled up":         {row.AppendLinkHourKey(nil, hour, 4), two},
		"its day":                                      {row.AppendLinkDayKey(nil, 4, day), two},
		"its life":                                     {row.AppendLinkLifeKey(nil, 4), life},
		"the hour of a link that is not":               {row.AppendLinkHourKey(nil, hour, 9), two},
		"its day, which is not yet":                    {row.AppendLinkDayKey(nil, 9, day), nil},
		"its life, which is not yet":                   {row.AppendLinkLifeKey(nil, 9), nil},
		"an owner's day, which is not yet":             {row.AppendOwnerDayKey(nil, 1, day), nil},
		"a deleted day":                                {row.AppendLinkDayKey(nil, 4, (hour-1000)/24), nil},
		"an hour of it":                                {row.AppendLinkHourKey(nil, hour-1000, 4), nil},
		"a deleted hour":                               {row.AppendLinkHourKey(nil, hour-30, 4), nil},
		"its day, which is kept":                       {row.AppendLinkDayKey(nil, 4, day-2), two},
		"the owner's":                                  {row.AppendOwnerDayKey(nil, 2, day-2), two},
		"a kept hour that had no rows":                 {row.AppendLinkHourKey(nil, hour-10, 4), rowtest.Hit(2)},
		"its day, which had none either":               {row.AppendLinkDayKey(nil, 4, day-1), rowtest.Hit(2)},
		"the owner's hour that had no rows":            {row.AppendOwnerHourKey(nil, hour-10, 2), rowtest.Hit(2)},
		"the owner's day that had none":                {row.AppendOwnerDayKey(nil, 2, day-1), rowtest.Hit(2)},
		"an open hour":                                 {row.AppendLinkHourKey(nil, hour+5, 4), rowtest.Hit(2)},
		"the hour of an owner, which is not rolled up": {row.AppendOwnerHourKey(nil, hour, 1), two},
	} {
		got, err := s.writer.Get(c.key)
		var want []byte
		if c.want != nil {
			want = rowOf(c.want)
		}
		expect.That(t, err == nil && bytes.Equal(got, want), "%s: got %x, %v, want %x", name, got, err, want)
	}
	wantTally(t, s, 4, &rowtest.Model{Hits: 8, Visitors: two.Visitors})
	wantTally(t, s, 9, two)
	rollUpAll(t, s, upTo(hour+1), nil)
	wantTally(t, s, 9, two)
	wantSound(t, s)
}

// TestRefusedRecordsChangeNothing gives records that cannot be applied, each with a good one before it.
func TestRefusedRecordsChangeNothing(t *testing.T) {
	log := newLog()
	nodes := openCluster(t, log, 2)
	s := nodes[0]
	for seq := range uint64(3) {
		f := rowtest.NewFlush()
		f.Add(100, 1+seq, clusterOwner(1+seq), rowtest.Hit(seq))
		flush(t, nodes[1], seq+1, f)
		if seq == 0 {
			pull(t, s, nodes[1])
		}
	}
	p := posted(t, nodes[1], 1)
	good := p.Records[0]
	record := func(h row.OutboxHead, rows ...row.OutboxRow) []byte {
		var o row.OutboxRecord
		o.Begin(h)
		for _, r := range rows {
			o.Add(r)
		}
		return bytes.Clone(o.End())
	}
	one := row.OutboxRow{Table: row.TableLinkHours, Hour: 100, ID: 1, Tally: rowOf(rowtest.Hit(1))}
	never, neverTarget, ofNothing, ofNoNumber := one, one, one, one
	never.ID, neverTarget.ID, ofNothing.ID, ofNoNumber.ID = 500, engine.TargetID(500, 2), 1<<56|1, engine.TargetID(1, 4)
	flipped := bytes.Clone(p.Records[1])
	flipped[len(flipped)/2] ^= 4
	for name, c := range map[string]struct {
		first   uint64
		records [][]byte
		want    error
	}{
		"a gap":                             {3, p.Records[1:], ErrOutboxGap},
		"a gap in between":                  {2, [][]byte{good, good}, ErrCorrupt},
		"records at the wrong positions":    {1, p.Records, ErrCorrupt},
		"a flipped bit":                     {2, [][]byte{good, flipped}, ErrCorrupt},
		"a record that is cut off":          {2, [][]byte{good, p.Records[1][:20]}, ErrCorrupt},
		"an empty record":                   {2, [][]byte{good, {}}, ErrCorrupt},
		"a link that was never made":        {2, [][]byte{good, record(row.OutboxHead{Position: 3}, one, never)}, ErrCorrupt},
		"a target of a link never made":     {2, [][]byte{good, record(row.OutboxHead{Position: 3}, one, neverTarget)}, ErrCorrupt},
		"a target of a number never given":  {2, [][]byte{good, record(row.OutboxHead{Position: 3}, one, ofNoNumber)}, ErrCorrupt},
		"an id with bits of nothing":        {2, [][]byte{good, record(row.OutboxHead{Position: 3}, one, ofNothing)}, ErrCorrupt},
		"one from beyond the log":           {2, [][]byte{record(row.OutboxHead{Position: 2, Sequence: log.head.Sequence + 1}, one)}, ErrOutboxEarly},
		"a tally that is none":              {2, [][]byte{good, record(row.OutboxHead{Position: 3}, row.OutboxRow{Table: row.TableLinkHours, ID: 1, Tally: []byte{1, 1}})}, ErrCorrupt},
		"no records, and others missing":    {9, nil, ErrOutboxGap},
		"records that are applied already":  {1, posted(t, nodes[1], 0).Records[:1], nil},
		"no records at the right position":  {2, nil, nil},
		"no records at an earlier position": {1, nil, nil},
	} {
		before := everything(t, s)
		pulled, err := s.ApplyPulled(p.ID, c.first, c.records)
		expect.That(t, errors.Is(err, c.want) && (c.want != nil || err == nil && pulled.Next == 2) && len(pulled.Hits) == 0,
			"%s: got %+v, %v, want %v", name, pulled, err, c.want)
		expect.That(t, maps.Equal(everything(t, s), before), "%s: something has changed", name)
	}
	before := everything(t, s)
	_, err := s.ApplyPulled(*s.outbox.id.Load(), 1, [][]byte{record(row.OutboxHead{Position: 1}, one)})
	expect.That(t, errors.Is(err, ErrOwnOutbox) && maps.Equal(everything(t, s), before), "its own outbox: got %v, want ErrOwnOutbox", err)
	expect.Equal(t, pull(t, s, nodes[1]), 2, "the good records were not applied afterwards")
	wantSound(t, s)
}

// TestRecordsBeyondTheLogAreAppliedUpToThere has two good records before one that must wait.
func TestRecordsBeyondTheLogAreAppliedUpToThere(t *testing.T) {
	log := newLog()
	nodes := openCluster(t, log, 2)
	maker, s := nodes[0], nodes[1]
	stop := start(t, maker)
	maker.Lead(log)
	defer stop()
	count := func(seq, id uint64) {
		f := rowtest.NewFlush()
		f.Add(100, id, 2, rowtest.Hit(seq))
		flush(t, maker, seq, f)
	}
	count(1, 1)
	count(2, 1)
	apply(t, maker, rowtest.Creation(rowtest.Link("new", 50, 2)))
	count(3, 50)
	p := posted(t, maker, 0)
	got, err := s.ApplyPulled(p.ID, 1, p.Records)
	expect.MustThat(t, err == nil && got.Next == 3 && len(got.Hits) == 2, "before the log: got %+v, %v", got, err)
	_, err = s.ApplyPulled(p.ID, 3, p.Records[2:])
	expect.Error(t, err, ErrOutboxEarly, "a link that is not there yet")
	wantSound(t, s)
	learnEach(t, s, log, len(log.entries), deafLearner{})
	expect.Equal(t, pull(t, s, maker), 1, "hits")
	wantTally(t, s, 50, rowtest.Hit(3))
	wantSound(t, s)
}

// TestAPurgedLinkGetsNoRowsAgain pulls hits of a link that was purged meanwhile.
// TestAPurgedLinkGetsNoRowsAgain purges a link whole, and one whose tombstone stays.
func TestAPurgedLinkGetsNoRowsAgain(t *testing.T) {
	t.Run("with its code", func(t *testing.T) { testAPurgedLinkGetsNoRowsAgain(t, true) })
	t.Run("without its code", func(t *testing.T) { testAPurgedLinkGetsNoRowsAgain(t, false) })
}

func testAPurgedLinkGetsNoRowsAgain(t *testing.T, free bool) {
	log := newLog()
	disks := newCluster(t, log, 3)
	leader, maker, s := openMem(t, disks[0]), openMem(t, disks[1]), openMem(t, disks[2])
	stop := start(t, leader)
	leader.Lead(log)
	f := rowtest.NewFlush()
	f.Add(100, 1, 2, rowtest.Hit(1))
	f.AddTarget(100, 1, 3, rowtest.Hit(1))
	f.Add(100, 2, 3, rowtest.Hit(1))
	flush(t, maker, 1, f)
	flush(t, s, 1, f)
	apply(t, leader, rowtest.Deletion(rowtest.Link("code1", 1, 2)))
	learnEach(t, s, log, len(log.entries), deafLearner{})
	expect.Equal(t, pull(t, leader, maker), 2, "a deleted link that is not purged: hits of both")
	apply(t, leader, rowtest.Leaving(rowtest.Link("code1", 1, 2), free))
	learnEach(t, s, log, len(log.entries), deafLearner{})
	check := func(when string, s *Store) {
		t.Helper()
		tally, _, err := readLife(t, s, 1)
		expect.That(t, err == nil && tally.Hits == 0, "%s: the purged link has %d hits, %v", when, tally.Hits, err)
		tally, _, err = readLife(t, s, engine.TargetID(1, 3))
		expect.That(t, err == nil && tally.Hits == 0, "%s: its target has %d hits, %v", when, tally.Hits, err)
		if tally, _, err := readLife(t, s, 2); err != nil || tally.Hits != 2 && s != leader {
			t.Errorf("%s: the other one has %d hits, %v", when, tally.Hits, err)
		}
		wantSound(t, s)
	}
	crashed := openMem(t, disks[2].CrashClone(loseAll()))
	for when, s := range map[string]*Store{"at once": s, "after a restart": crashed} {
		expect.Equal(t, pull(t, s, maker), 1, "%s hits", when)
		m := s.Rows.Metrics()
		expect.That(t, m.PulledRowsDropped == 2 && m.PulledRows == 3, "%s: %d rows applied, %d dropped", when, m.PulledRows, m.PulledRowsDropped)
		owner := &rowtest.Model{Hits: 2, Visitors: map[uint64]bool{1: true}}
		got, err := s.writer.Get(row.AppendOwnerHourKey(nil, 100, 2))
		expect.That(t, err == nil && bytes.Equal(got, rowOf(owner)), "%s: the owner has %x, %v", when, got, err)
		check(when, s)
	}
	check("at the leader", leader)
	stop()
	for _, s := range []*Store{leader, maker, s, crashed} {
		closeStore(t, s)
	}
}

func TestFlushesRollUpsPullsAndDropsMayRunAtOnce(t *testing.T) {
	nodes := openCluster(t, newLog(), 2)
	const flushes = 150
	var running sync.WaitGroup
	for i, s := range nodes {
		other := nodes[1-i]
		running.Go(func() {
			for seq := range uint64(flushes) {
				f := rowtest.NewFlush()
				f.Add(100+uint32(seq/10), 1+seq%clusterLinks, clusterOwner(1+seq%clusterLinks), rowtest.Hit(seq))
				p := engine.Positions{Epoch: 1, FlushSeq: seq + 1, OpenHour: 100 + uint32(seq/10), Rings: []uint64{seq}}
				expect.NoError(t, s.Flush(f.Batch(p)))
				expect.NoError(t, expect.Err(s.RollUp(upTo(100+uint32(seq/10)))))
			}
		})
		running.Go(func() {
			id := *other.outbox.id.Load()
			for next := uint64(1); next <= flushes; {
				p, err := other.Outbox(next-1, 1<<16)
				if err != nil {
					t.Error(err)
					return
				}
				pulled, err := s.ApplyPulled(id, next, p.Records)
				if err != nil {
					t.Error(err)
					return
				}
				next = pulled.Next
				expect.NoError(t, expect.Err(other.DropOutbox(next-1)))
			}
		})
	}
	running.Wait()
	for _, s := range nodes {
		rollUpAll(t, s, upTo(200), nil)
	}
	for _, table := range []byte{row.TableLinkHours, row.TableOwnerHours, row.TableLinkDays, row.TableLinkLives, row.TableOwnerDays} {
		expect.That(t, maps.Equal(rows(t, nodes[0], table), rows(t, nodes[1], table)), "table %x differs", table)
	}
	var total uint64
	for _, hits := range hitsOf(t, nodes[0]) {
		total += hits
	}
	expect.Equal(t, total, 2*flushes, "hits")
}
