package engine

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestDeltasAreTheirRecords gathers random records and compares with a map.
func TestDeltasAreTheirRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type key struct {
			hour uint32
			id   uint64
		}
		var d deltas
		for range rapid.IntRange(1, 3).Draw(rt, "flushes") { // memory is used again
			want := make(map[key]*Tally)
			for range rapid.IntRange(0, 60).Draw(rt, "runs") {
				k := key{rapid.Uint32Range(7, 9).Draw(rt, "hour"), rapid.Uint64Range(1, 40).Draw(rt, "id")}
				class := Class(rapid.IntRange(0, 3).Draw(rt, "class"))
				visitors := rapid.SampledFrom([]uint64{1, 2, 9, 900, 2500}).Draw(rt, "visitors")
				if want[k] == nil {
					want[k] = new(Tally)
				}
				for i := range rapid.SampledFrom([]uint64{1, 3, 8, 15, 2600}).Draw(rt, "records") {
					visitor := mix(i%visitors+1, 0x9e3779b97f4a7c15)
					d.add(k.hour, k.id, class, visitor)
					count(want[k], class, visitor)
				}
			}
			var last key
			err := d.each(func(hour uint32, id uint64, got *Tally) error {
				k := key{hour, id}
				if hour < last.hour || hour == last.hour && id <= last.id {
					rt.Errorf("%v comes after %v", k, last)
				}
				last = k
				compareTally(rt, got, want[k])
				delete(want, k)
				return nil
			})
			if err != nil || len(want) != 0 {
				rt.Errorf("%v; keys that never came: %d", err, len(want))
			}
			d.reset()
			if d.find(7, 1) != nil {
				rt.Error("a key outlives the reset")
			}
		}
	})
}

func count(t *Tally, class Class, visitor uint64) {
	switch class {
	case ClassHit:
		t.Hits++
		t.Visitors.Add(visitor)
	case ClassBot:
		t.Bots++
	case ClassPrefetch:
		t.Prefetches++
	case ClassHead:
		t.Heads++
	}
}

func compareTally(rt *rapid.T, got, want *Tally) {
	if want == nil {
		rt.Fatal("a key that never was")
	}
	if got.Hits != want.Hits || got.Bots != want.Bots || got.Prefetches != want.Prefetches || got.Heads != want.Heads {
		rt.Errorf("got %d %d %d %d, want %d %d %d %d", got.Hits, got.Bots, got.Prefetches, got.Heads, want.Hits, want.Bots, want.Prefetches, want.Heads)
	}
	if string(got.Visitors.AppendBinary(nil)) != string(want.Visitors.AppendBinary(nil)) {
		rt.Errorf("other visitors: %d, want %d", got.Visitors.Count(), want.Visitors.Count())
	}
}

func TestARepeatedVisitorTakesNoMemory(t *testing.T) {
	var d deltas
	for i := range uint64(1_000_000) {
		d.add(1, 1, ClassHit, mix(i%1000+1, 0x9e3779b97f4a7c15))
	}
	if blocks := len(d.blocks); blocks > 2*compactAfter {
		t.Errorf("1,000 visitors of a million hits take %d blocks", blocks)
	}
	if s := d.find(1, 1); s.sketch != 0 {
		t.Error("1,000 visitors are kept as an estimate")
	}
}

func TestTheFirstErrorEndsAFlush(t *testing.T) {
	var d deltas
	d.add(1, 1, ClassHit, 1)
	d.add(1, 2, ClassHit, 1)
	boom, calls := errors.New("boom"), 0
	err := d.each(func(uint32, uint64, *Tally) error { calls++; return boom })
	if !errors.Is(err, boom) || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
