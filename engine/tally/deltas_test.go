package tally

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"shunt/engine/expect"
	"shunt/engine/internal/hash"
)

// testNames maps the numbers of referrers to hosts.
type testNames map[uint16]string

func (n testNames) Name(number uint16) (string, bool) {
	host, ok := n[number]
	return host, ok || number == NoReferrer
}

// redirect is the arguments of Add for one redirect.
type redirect struct {
	class   Class
	visitor uint64
	Values
}

// TestDeltasHoldExactlyTheRecordsAddedToThem adds random records and compares the deltas with a
// map.
func TestDeltasHoldExactlyTheRecordsAddedToThem(t *testing.T) {
	names := testNames{}
	hosts := []uint16{NoReferrer, OtherReferrer}
	for i := range uint16(20) {
		names[i+1] = fmt.Sprintf("host%d.example", i)
		hosts = append(hosts, i+1)
	}
	rapid.Check(t, func(rt *rapid.T) {
		type key struct {
			hour uint32
			id   uint64
		}
		var d Deltas
		for range rapid.IntRange(1, 3).Draw(rt, "flushes") { // to reuse memory
			want := make(map[key]*Tally)
			for range rapid.IntRange(0, 60).Draw(rt, "runs") {
				k := key{rapid.Uint32Range(7, 9).Draw(rt, "hour"), rapid.Uint64Range(1, 40).Draw(rt, "id")}
				class := Class(rapid.IntRange(0, 3).Draw(rt, "class"))
				visitors := rapid.SampledFrom([]uint64{1, 2, 9, 900, 2500}).Draw(rt, "visitors")
				if want[k] == nil {
					want[k] = new(Tally)
				}
				r := redirect{class: class, Values: Values{Referrer: rapid.SampledFrom(hosts).Draw(rt, "referrer")}}
				various := rapid.Bool().Draw(rt, "various")
				for i := range rapid.SampledFrom([]uint64{1, 3, 8, 15, 2600}).Draw(rt, "records") {
					r.visitor = hash.Mix(i%visitors+1, 0x9e3779b97f4a7c15)
					if various {
						r.Values = Values{AgentOf(Device(i%6), Browser(i%30)), Country(i % 250), hosts[i%uint64(len(hosts))]}
					}
					d.Add(k.hour, k.id, r.class, r.visitor, r.Values)
					count(want[k], &r, names)
				}
			}
			wantSketches(rt, &d)
			var last key
			err := d.Each(names, Visitors|Breakdowns, func(hour uint32, id uint64, got *Tally) error {
				k := key{hour, id}
				expect.That(rt, hour >= last.hour && (hour != last.hour || id > last.id), "%v comes after %v", k, last)
				last = k
				compareTally(rt, got, want[k])
				delete(want, k)
				return nil
			})
			expect.That(rt, err == nil && len(want) == 0, "%v; keys that never came: %d", err, len(want))
			d.Reset()
			wantSketches(rt, &d)
			expect.That(rt, d.find(7, 1) == nil, "a key outlives the reset")
		}
	})
}

// wantSketches compares the counts of visitor sets with the entries.
func wantSketches(rt *rapid.T, d *Deltas) {
	lists, dense := 0, 0
	for i := range d.entries {
		switch d.entries[i].length {
		case 0:
		case visitorsDense:
			dense++
		default:
			lists++
		}
	}
	gotLists, gotDense := d.Sketches()
	expect.That(rt, gotLists == lists && gotDense == dense, "got %d lists and %d dense sketches, want %d and %d", gotLists, gotDense, lists, dense)
}

func count(t *Tally, r *redirect, names testNames) {
	switch r.class {
	case ClassHit:
		t.Hits++
		t.Visitors.Add(r.visitor)
		countValues(&t.Dimensions, r, names)
	case ClassBot:
		t.Bots++
	case ClassPrefetch:
		t.Prefetches++
	case ClassHead:
		t.Heads++
	}
}

func countValues(d *Dimensions, r *redirect, names testNames) {
	one := func(dim Dimension, value string) { d[dim].Add(Breakdown{{value, 1}}) }
	if host, ok := names.Name(r.Referrer); ok {
		one(Referrers, host)
	}
	for dim, value := range map[Dimension]byte{
		Countries: byte(r.Country), Devices: byte(r.Agent.Device()), Browsers: byte(r.Agent.Browser()),
	} {
		if value != 0 {
			one(dim, string([]byte{value}))
		}
	}
}

func compareTally(rt *rapid.T, got, want *Tally) {
	expect.MustThat(rt, want != nil, "a key that never was")
	expect.That(rt, got.Hits == want.Hits && got.Bots == want.Bots && got.Prefetches == want.Prefetches && got.Heads == want.Heads,
		"got %d %d %d %d, want %d %d %d %d", got.Hits, got.Bots, got.Prefetches, got.Heads, want.Hits, want.Bots, want.Prefetches, want.Heads)
	if string(got.Visitors.AppendBinary(nil)) != string(want.Visitors.AppendBinary(nil)) {
		rt.Errorf("other visitors: %d, want %d", got.Visitors.Count(), want.Visitors.Count())
	}
	for i := range want.Dimensions {
		expect.Slices(rt, got.Dimensions[i], want.Dimensions[i], "dimension %d", i)
	}
}

func TestARepeatedVisitorTakesNoMoreMemory(t *testing.T) {
	var d Deltas
	for i := range uint64(1_000_000) {
		d.Add(1, 1, ClassHit, hash.Mix(i%1000+1, 0x9e3779b97f4a7c15), Values{})
	}
	blocks := len(d.visitors.blocks)
	expect.That(t, blocks <= 2*compactAfter, "1,000 visitors of a million hits take %d blocks", blocks)
	expect.That(t, d.find(1, 1).length != visitorsDense, "1,000 visitors are kept as an estimate")
}

func TestTheFirstErrorEndsAFlush(t *testing.T) {
	var d Deltas
	d.Add(1, 1, ClassHit, 0, Values{})
	d.Add(1, 2, ClassHit, 0, Values{})
	boom, calls := errors.New("boom"), 0
	err := d.Each(testNames{}, 0, func(uint32, uint64, *Tally) error { calls++; return boom })
	expect.That(t, errors.Is(err, boom) && calls == 1, "%d calls, error %v", calls, err)
}

func TestADeltaFillsOneCacheLine(t *testing.T) {
	expect.Equal(t, unsafe.Sizeof(delta{}), 64, "bytes")
}

func TestValuesAreDroppedWhenMemoryIsFullButHitsAreNot(t *testing.T) {
	var d Deltas
	d.values = valueCells{index: make([]uint32, 2*maxCells), cells: make([]valueCell, maxCells)} // full
	for i := range 3 {
		d.Add(1, 1, ClassHit, 1, Values{Agent: AgentOf(Device(i+1), 0)})
	}
	var got Tally
	d.AddTo(1, Visitors|Breakdowns, testNames{}, &got)
	expect.That(t, got.Hits == 3 && got.Dimensions.Empty() && d.values.dropped != 0, "%d hits, %v, %d values dropped", got.Hits, got.Dimensions, d.values.dropped)
}
