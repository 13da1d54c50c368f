package storage

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// history is a store, with plain maps that hold the results of all operations on it.
type history struct {
	t      *testing.T
	mem    *vfs.MemFS
	s      *Store
	links  map[rowtest.LinkHour]*rowtest.Model
	owners map[rowtest.LinkHour]*rowtest.Model
	seq    uint64
	hour   uint32              // rows before it may be rolled up
	limits engine.RollUpLimits // the highest that were requested
}

const historyLinks, historyOwners = 4, 2

func newHistory(t *testing.T) *history {
	mem := vfs.NewCrashableMem()
	return &history{
		t: t, mem: mem, s: openMem(t, mem), hour: 1000, links: map[rowtest.LinkHour]*rowtest.Model{}, owners: map[rowtest.LinkHour]*rowtest.Model{},
	}
}

// step does one random operation on the store.
func (h *history) step(rt *rapid.T) {
	switch rapid.IntRange(0, 8).Draw(rt, "step") {
	case 0, 1, 2, 3:
		h.flush(rt)
	case 4:
		h.hour += rapid.SampledFrom([]uint32{1, 2, 23, 60}).Draw(rt, "hours")
		_, err := h.s.RollUp(upTo(h.hour))
		expect.OK(h.t, err)
	case 5:
		h.limits.OpenHour = h.hour
		rollUpAll(h.t, h.s, h.limits, nil)
	case 6:
		expect.OK(h.t, h.s.db.Compact(h.t.Context(), []byte{0}, []byte{0xff}, false))
	case 7:
		h.mem = h.mem.CrashClone(loseAll())
		closeStore(h.t, h.s)
		h.s = openMem(h.t, h.mem)
	case 8:
		h.limits.FirstHour = max(h.limits.FirstHour, h.hour-rapid.Uint32Max(100).Draw(rt, "kept hours"))
		h.limits.FirstDay = max(h.limits.FirstDay, h.hour/24-rapid.Uint32Max(10).Draw(rt, "kept days"))
		h.limits.OpenHour = h.hour
		rollUpAll(h.t, h.s, h.limits, nil)
	}
}

func (h *history) flush(rt *rapid.T) {
	f := rowtest.NewFlush()
	for range rapid.IntRange(1, 4).Draw(rt, "rows") {
		id, hour := rapid.Uint64Max(historyLinks-1).Draw(rt, "id"), h.hour+rapid.Uint32Max(50).Draw(rt, "hour")
		f.Add(hour, id, uint32(id%historyOwners), rowtest.Models().Draw(rt, "tally"))
	}
	h.seq++
	flush(h.t, h.s, h.seq, f)
	for all, rows := range map[*map[rowtest.LinkHour]*rowtest.Model]map[rowtest.LinkHour]*rowtest.Model{&h.links: f.Links, &h.owners: f.Owners} {
		for key, m := range rows {
			if (*all)[key] == nil {
				(*all)[key] = &rowtest.Model{}
			}
			(*all)[key].Add(m)
		}
	}
}

// genSpan draws a span whose rows the store still has: whole days, or hours that are kept.
func (h *history) genSpan() *rapid.Generator[engine.Span] {
	return rapid.Custom(func(rt *rapid.T) engine.Span {
		from := max(h.limits.FirstHour, 980) + rapid.Uint32Max(200).Draw(rt, "from")
		to := from + rapid.Uint32Max(100).Draw(rt, "length")
		if rapid.Bool().Draw(rt, "days") {
			from = 24 * (max(h.limits.FirstDay, 40) + rapid.Uint32Max(8).Draw(rt, "first day"))
			to = from + 24*rapid.Uint32Max(8).Draw(rt, "days")
		}
		if rapid.IntRange(0, 4).Draw(rt, "endless") == 0 {
			to = engine.Endless
		}
		return engine.Span{FromHour: from, ToHour: to}
	})
}

// want returns the wanted parts of the sum of an id's rows over a span, or nil if there are none.
func want(rows map[rowtest.LinkHour]*rowtest.Model, id uint64, span engine.Span, wanted engine.Parts) []byte {
	sum := together(rows, []uint64{id}, span)
	if wanted&engine.Breakdowns == 0 {
		sum.Values = rowtest.Model{}.Values
	}
	return wantRow(sum, wanted)
}

// together returns the sum of the rows of ids over a span.
func together(rows map[rowtest.LinkHour]*rowtest.Model, ids []uint64, span engine.Span) *rowtest.Model {
	sum := new(rowtest.Model)
	for key, m := range rows {
		if slices.Contains(ids, key.ID) && span.FromHour <= key.Hour && key.Hour < span.ToHour {
			sum.Add(m)
		}
	}
	return sum
}

// wantRow returns the row of a sum, with visitors only if they are wanted, or nil if it is empty.
func wantRow(sum *rowtest.Model, wanted engine.Parts) []byte {
	if wanted&engine.Visitors == 0 {
		sum.Visitors = nil
	}
	t := sum.Tally()
	if sum.Hits|sum.Bots|sum.Prefetches|sum.Heads == 0 && len(sum.Visitors) == 0 && t.Dimensions.Empty() {
		return nil
	}
	return row.AppendTally(nil, t)
}

// seen collects the tallies that a view yields, as encoded rows by i and j, and checks their order.
type seen struct {
	rows map[[2]int][]byte
	last [2]int
}

func (s *seen) add(i, j int, t *engine.Tally) error {
	if at := [2]int{i, j}; len(s.rows) > 0 && slices.Compare(at[:], s.last[:]) <= 0 {
		return fmt.Errorf("%v came after %v", at, s.last)
	}
	s.last = [2]int{i, j}
	s.rows[s.last] = row.AppendTally(nil, t)
	return nil
}

// check compares random windows of a view with the maps.
func (h *history) check(rt *rapid.T) {
	v := openView(h.t, h.s)
	defer closeView(h.t, v)
	wanted := engine.Parts(rapid.Uint8Max(uint8(row.AllParts)).Draw(rt, "wanted"))
	ids := rapid.Permutation([]uint64{0, 1, 2, 3, 4}).Draw(rt, "ids")
	spans := rapid.SliceOfN(h.genSpan(), 1, 6).Draw(rt, "spans")
	if rapid.Bool().Draw(rt, "sorted") {
		slices.SortFunc(spans, func(a, b engine.Span) int { return int(a.FromHour) - int(b.FromHour) })
	}
	got, wantRows := seen{rows: map[[2]int][]byte{}}, map[[2]int][]byte{}
	expect.OK(h.t, v.ReadSpans(ids, spans, wanted, got.add))
	for i, id := range ids {
		for j, span := range spans {
			if value := want(h.links, id, span, wanted); value != nil {
				wantRows[[2]int{i, j}] = value
			}
		}
	}
	h.compare("links", spans, got.rows, wantRows)
	spans = disjoint(spans)
	parts := rapid.SliceOfN(rapid.SampledFrom(sumParts), len(spans), len(spans)).Draw(rt, "parts")
	ids = slices.Sorted(slices.Values(ids[:rapid.IntRange(0, len(ids)).Draw(rt, "added up")]))
	checkSums(h, v.SumSpans, h.links, ids, spans, parts)
	owners := [historyOwners]uint32{0, 1}
	checkSums(h, v.SumOwnerSpans, h.owners, owners[rapid.IntRange(0, 1).Draw(rt, "first owner"):], spans, parts)
	for id := range uint64(5) {
		tally, err := v.ReadLife(id, wanted)
		want := want(h.links, id, engine.Span{ToHour: engine.Endless}, wanted)
		if value := row.AppendTally(nil, &tally); err != nil || want != nil && !bytes.Equal(value, want) || want == nil && len(value) != 2 {
			h.t.Fatalf("ReadLife(%d): got %d bytes, %v, want %d", id, len(value), err, len(want))
		}
	}
}

// sumParts are the parts that a sum of several ids may be asked for.
var sumParts = []engine.Parts{0, engine.Breakdowns, engine.Visitors, row.AllParts, row.AllParts | engine.WithNext}

// A summing is a method of a view that adds up rows of several ids.
type summing[ID uint32 | uint64] func([]ID, []engine.Span, []engine.Parts, func(j int, t *engine.Tally)) error

// checkSums compares the tallies of all ids together. Breakdowns of a span that is put together with the next one are
// among those of the next one.
func checkSums[ID uint32 | uint64](
	h *history, sum summing[ID], rows map[rowtest.LinkHour]*rowtest.Model, ids []ID, spans []engine.Span, parts []engine.Parts,
) {
	all := make([]uint64, len(ids))
	for i := range ids {
		all[i] = uint64(ids[i])
	}
	moved := rowtest.Model{}.Values
	got, wantRows := seen{rows: map[[2]int][]byte{}}, map[[2]int][]byte{}
	for j, span := range spans {
		m := together(rows, all, span)
		if parts[j]&engine.Breakdowns == 0 {
			m.Values = rowtest.Model{}.Values
		}
		m.Add(&rowtest.Model{Values: moved})
		moved = rowtest.Model{}.Values
		if parts[j]&engine.WithNext != 0 && j < len(spans)-1 {
			m.Values, moved = moved, m.Values
		}
		if value := wantRow(m, parts[j]); value != nil {
			wantRows[[2]int{0, j}] = value
		}
	}
	expect.OK(h.t, sum(ids, spans, parts, func(j int, t *engine.Tally) { expect.OK(h.t, got.add(0, j, t)) }))
	h.compare(fmt.Sprint("sums of ", ids), spans, got.rows, wantRows)
}

// disjoint returns spans in order, without those that overlap with another.
func disjoint(spans []engine.Span) (all []engine.Span) {
	end := uint32(0)
	for _, s := range slices.SortedFunc(slices.Values(spans), func(a, b engine.Span) int { return int(a.FromHour) - int(b.FromHour) }) {
		if s.FromHour >= end && s.FromHour < s.ToHour {
			all, end = append(all, s), s.ToHour
		}
	}
	return all
}

func (h *history) compare(what string, spans []engine.Span, got, want map[[2]int][]byte) {
	h.t.Helper()
	if maps.EqualFunc(got, want, bytes.Equal) {
		return
	}
	for at, value := range want {
		if !bytes.Equal(value, got[at]) {
			h.t.Errorf("%s, %v, span %+v: got %.60x, want %.60x", what, at, spans[at[1]], got[at], value)
		}
	}
	h.t.Fatalf("%s over %+v: got %d tallies, want %d", what, spans, len(got), len(want))
}

// TestWindowsMatchPlainMapsThroughAnyHistory is a model test: random flushes, roll-ups,
// compactions, crashes, and deletions of hours and days that are not kept. Only a flush changes a
// window.
func TestWindowsMatchPlainMapsThroughAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(t)
		defer func() { closeStore(t, h.s) }()
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			h.step(rt)
			h.check(rt)
		}
	})
}

// TestManyLinksAreReadLikeFew reads more ids than a block has, in any order, some twice or without
// rows.
func TestManyLinksAreReadLikeFew(t *testing.T) {
	s := openTemp(t)
	rng := rand.New(rand.NewPCG(1, 1))
	all := map[rowtest.LinkHour]*rowtest.Model{}
	for seq, hours := range [][]uint32{{95, 96, 97}, {98, 99}} {
		f := rowtest.NewFlush()
		for _, hour := range hours {
			for range 1000 {
				id := rng.Uint64N(3000)
				f.Add(hour, id, 7, rowtest.HitFrom(rng.Uint64N(100), rowtest.Referrer(int(id%100)), byte(id), 2, 1))
			}
		}
		flush(t, s, uint64(seq+1), f)
		maps.Copy(all, f.Links)
		if seq == 0 {
			rollUpAll(t, s, upTo(97), nil)
		}
	}
	if _, err := s.RollUp(upTo(98)); err != nil { // the links of hour 97, but not the owners
		t.Fatal(err)
	}
	ids := []uint64{5, 5, math.MaxUint64}
	for id := uint64(3100); id > 0; id-- {
		ids = append(ids, id-1)
	}
	rng.Shuffle(len(ids)/2, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	spans := []engine.Span{{FromHour: 97, ToHour: 99}, {FromHour: 72, ToHour: 96}, {FromHour: 96, ToHour: engine.Endless}}
	v := openView(t, s)
	defer closeView(t, v)
	for _, wanted := range []engine.Parts{0, engine.Breakdowns, engine.Visitors, row.AllParts} {
		got, wantRows := seen{rows: map[[2]int][]byte{}}, map[[2]int][]byte{}
		expect.OK(t, v.ReadSpans(ids, spans, wanted, got.add))
		byID := map[uint64]map[rowtest.LinkHour]*rowtest.Model{}
		for key, m := range all {
			if byID[key.ID] == nil {
				byID[key.ID] = map[rowtest.LinkHour]*rowtest.Model{}
			}
			byID[key.ID][key] = m
		}
		for i, id := range ids {
			for j, span := range spans {
				if value := want(byID[id], id, span, wanted); value != nil {
					wantRows[[2]int{i, j}] = value
				}
			}
		}
		(&history{t: t}).compare("links", spans, got.rows, wantRows)
		apart, h := disjoint(spans), &history{t: t, links: all}
		checkSums(h, v.SumSpans, all, slices.Compact(slices.Sorted(slices.Values(ids))), apart, slices.Repeat([]engine.Parts{wanted}, len(apart)))
	}
}

func TestAViewStaysAsItWas(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	f.Add(100, 1, 7, rowtest.HitFrom(1, "a.b", 5, 2, 1))
	flush(t, s, 1, f)
	v := openView(t, s)
	defer closeView(t, v)
	flush(t, s, 2, f)
	rollUpAll(t, s, engine.RollUpLimits{OpenHour: 200, FirstHour: 200, FirstDay: 100}, nil)
	want := rowOf(f.Links[rowtest.LinkHour{Hour: 100, ID: 1}])
	tally, err := v.ReadLife(1, row.AllParts)
	if got := row.AppendTally(nil, &tally); err != nil || !bytes.Equal(got, want) || v.FlushSeq() != 1 {
		t.Errorf("life: got %x of flush %d, %v, want %x", got, v.FlushSeq(), err, want)
	}
	for _, span := range []engine.Span{{FromHour: 96, ToHour: 120}, {FromHour: 100, ToHour: 101}, {ToHour: engine.Endless}} {
		got := seen{rows: map[[2]int][]byte{}}
		err := v.ReadSpans([]uint64{1}, []engine.Span{span}, row.AllParts, got.add)
		expect.That(t, err == nil && bytes.Equal(got.rows[[2]int{}], want), "%+v: got %x, %v, want %x", span, got.rows, err, want)
	}
}

func TestSpansReachTheEndOfTime(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	const last = math.MaxUint32 - 1 // a span ends before its ToHour, and the last hour is Endless
	f.Add(last, 1, 7, rowtest.Hit(1))
	f.Add(last-24, math.MaxUint64, math.MaxUint32, rowtest.Hit(2))
	flush(t, s, 1, f)
	for _, rolled := range []bool{false, true} {
		if rolled {
			rollUpAll(t, s, upTo(math.MaxUint32), nil)
		}
		for _, from := range []uint32{0, 48, 49} {
			got, v := seen{rows: map[[2]int][]byte{}}, openView(t, s)
			err := v.ReadSpans([]uint64{1, math.MaxUint64}, []engine.Span{{FromHour: from, ToHour: engine.Endless}}, row.AllParts, got.add)
			want := map[[2]int][]byte{{0, 0}: rowOf(rowtest.Hit(1)), {1, 0}: rowOf(rowtest.Hit(2))}
			expect.That(t, err == nil && maps.EqualFunc(got.rows, want, bytes.Equal), "from hour %d: got %x, %v, want %x", from, got.rows, err, want)
			closeView(t, v)
		}
	}
}

func TestAnErrorOfYieldEndsTheRead(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	f.Add(100, 1, 7, rowtest.Hit(1))
	f.Add(100, 2, 7, rowtest.Hit(1))
	flush(t, s, 1, f)
	v := openView(t, s)
	defer closeView(t, v)
	stop, calls := errors.New("stop"), 0
	err := v.ReadSpans([]uint64{1, 2}, []engine.Span{{ToHour: engine.Endless}}, 0, func(int, int, *engine.Tally) error { calls++; return stop })
	expect.That(t, errors.Is(err, stop) && calls == 1, "got %v after %d calls", err, calls)
}

func TestYieldedReferrerNamesMayBeKept(t *testing.T) {
	s := openTemp(t)
	f := rowtest.NewFlush()
	for id := range uint64(20) {
		f.Add(100, id, 7, rowtest.HitFrom(id, fmt.Sprintf("referrer%02d", id), 1, 2, 3))
	}
	flush(t, s, 1, f)
	v := openView(t, s)
	ids := slices.Collect(func(yield func(uint64) bool) {
		for id := range uint64(20) {
			if !yield(id) {
				return
			}
		}
	})
	names := map[string]bool{}
	var kept []string
	err := v.ReadSpans(ids, []engine.Span{{ToHour: engine.Endless}}, row.AllParts, func(_, _ int, t *engine.Tally) error {
		kept = append(kept, t.Dimensions[engine.Referrers][0].Value)
		return nil
	})
	life, lifeErr := v.ReadLife(3, row.AllParts)
	expect.OK(t, errors.Join(err, lifeErr))
	closeView(t, v)
	wantTally(t, s, 9, f.Links[rowtest.LinkHour{Hour: 100, ID: 9}])
	for _, name := range kept {
		names[name] = true
	}
	expect.That(t, len(names) == 20 && names["referrer07"] && life.Dimensions[0][0].Value == "referrer03" && life.Visitors.Count() == 1, "got %q and %+v", kept, life)
}

func TestACorruptRowIsAnErrorToItsReader(t *testing.T) {
	s := openTemp(t)
	b := s.db.NewBatch()
	kv.Merge(b, row.AppendLinkLifeKey(nil, 1), rowOf(rowtest.Hit(1)))
	kv.Merge(b, row.AppendLinkLifeKey(nil, 1), []byte{9, 9})
	expect.OK(t, s.writer.Sync(b, "test"))
	_, _, err := readLife(t, s, 1)
	expect.Error(t, err, ErrCorrupt)
}
