package tally

import (
	"bytes"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/axiomhq/hyperloglog"
	"pgregory.net/rapid"

	"shunt/engine/expect"
	"shunt/engine/internal/hash"
)

// uniform returns n distinct hashes with a fixed seed.
func uniform(n int, seed uint64) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = rng.Uint64()
	}
	return hashes
}

func TestASketchIsAFunctionOfItsSetAlone(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1023, 1024, 1025, 3000} {
		hashes := uniform(n, 1)
		var oneByOne, atOnce, united, backwards Sketch
		for _, h := range hashes {
			oneByOne.Add(h)
			oneByOne.Add(h)
		}
		atOnce.AddAll(slices.Concat(hashes, hashes))
		for part := range slices.Chunk(hashes, 100) {
			var s Sketch
			s.AddAll(slices.Clone(part))
			united.Unite(s)
			united.Unite(s)
		}
		for _, h := range slices.Backward(hashes) {
			backwards.Add(h)
		}
		want := oneByOne.AppendBinary(nil)
		for name, s := range map[string]*Sketch{"at once": &atOnce, "united": &united, "backwards": &backwards} {
			expect.That(t, bytes.Equal(s.AppendBinary(nil), want), "%d visitors: %s gives other bytes than one by one", n, name)
		}
		if n <= MaxExactVisitors && oneByOne.Count() != uint64(n) {
			t.Errorf("%d visitors count as %d", n, oneByOne.Count())
		}
		expect.Equal(t, oneByOne.Dense(), n > MaxExactVisitors, "%d visitors: dense", n)
	}
}

func TestUnitedSketchesCountTheUnion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.SliceOfN(rapid.Uint64Range(0, 2000), 0, 1500).Draw(rt, "a")
		b := rapid.SliceOfN(rapid.Uint64Range(0, 2000), 0, 1500).Draw(rt, "b")
		spread := func(v []uint64) (s Sketch) { // over all bits, as hashes are
			for _, x := range v {
				s.Add(hash.Mix(x+1, 0x9e3779b97f4a7c15) ^ x<<40)
			}
			return s
		}
		s, u := spread(a), spread(b)
		before := u.AppendBinary(nil)
		s.Unite(u)
		all := slices.Concat(a, b)
		want := spread(all)
		expect.That(rt, bytes.Equal(s.AppendBinary(nil), want.AppendBinary(nil)), "the union has other bytes than the sketch of all")
		expect.That(rt, bytes.Equal(u.AppendBinary(nil), before), "uniting changed the other sketch")
		s.Add(1)
		expect.That(rt, bytes.Equal(u.AppendBinary(nil), before), "the union shares memory with the other sketch")
	})
}

// TestEstimatesAreWithinThreeStandardErrors uses fixed seeds, so that it always has the same
// result.
func TestEstimatesAreWithinThreeStandardErrors(t *testing.T) {
	const standardError = 1.04 / 128 // √16384
	for _, n := range []int{2_000, 10_000, 100_000, 1_000_000} {
		var s Sketch
		s.AddAll(uniform(n, uint64(n)))
		if off := float64(s.Count())/float64(n) - 1; off > 3*standardError || off < -3*standardError {
			t.Errorf("%d visitors are estimated as %d", n, s.Count())
		}
	}
}

func TestSketchesHaveTheDocumentedBytes(t *testing.T) {
	var s Sketch
	expect.Equal(t, hex.EncodeToString(s.AppendBinary(nil)), "00", "empty")
	s.Add(0x0102030405060708)
	s.Add(1)
	const want = "01" + "02" + "0100000000000000" + "0807060504030201"
	expect.Equal(t, hex.EncodeToString(s.AppendBinary(nil)), want, "exact")
	for i := range uint64(2000) {
		s.Add(i << 50) // the high 14 bits choose the register: 2,000 registers have the value 51 (50 zeros)
	}
	b := s.AppendBinary(nil)
	got := hex.EncodeToString(b[:13])
	expect.That(t, len(b) == 1+len(densePrefix)+len(registers{}) && got == "02"+"020e0000"+"00004000"+"3333"+"3333", "dense: %d bytes, beginning with %s", len(b), got)
}

func TestMalformedSketchesAreErrors(t *testing.T) {
	var dense Sketch
	dense.AddAll(uniform(2000, 3))
	good := dense.AppendBinary(nil)
	spoil := func(at int, b byte) []byte {
		spoiled := slices.Clone(good)
		spoiled[at] = b
		return spoiled
	}
	for name, b := range map[string][]byte{
		"nothing":                        {},
		"an unknown form":                {9},
		"bytes after the empty set":      {0, 0},
		"an exact set of none":           {1, 0},
		"an exact set cut short":         {1, 1, 0, 0},
		"bytes after an exact set":       {1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 9},
		"a length in a longer form":      {1, 0x81, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"hashes that descend":            {1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"a hash twice":                   {1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"an exact set of too many":       append([]byte{1, 0x81, 0x08}, make([]byte, 8*1025)...),
		"a dense sketch cut short":       good[:len(good)-1],
		"another precision":              spoil(2, 13),
		"a sparse sketch":                spoil(4, 1),
		"another version":                spoil(1, 7),
		"a register that cannot be":      spoil(100, 52),
		"a dense sketch with wrong size": spoil(8, 1),
	} {
		expect.Error(t, expect.Err(DecodeSketch(b)), errSketch, name)
	}
}

// FuzzSketch checks that a sketch of few visitors is the set of them, in whatever order and by
// whatever method they were added, and that it survives encoding and decoding.
func FuzzSketch(f *testing.F) {
	f.Add([]byte{1, 2, 3, 2, 1}, byte(2), uint64(3))
	f.Add(bytes.Repeat([]byte{0, 255, 7}, 700), byte(200), uint64(1)<<60|1)
	f.Fuzz(func(t *testing.T, visitors []byte, cut byte, factor uint64) {
		set := map[uint64]bool{}
		hashes := make([]uint64, len(visitors))
		for i, v := range visitors {
			hashes[i] = (uint64(v) + uint64(i%5)<<8) * (factor | 1)
			set[hashes[i]] = true
		}
		if len(set) > MaxExactVisitors {
			return
		}
		var one, other, both, reverse Sketch
		at := int(cut) % (len(hashes) + 1)
		for _, h := range hashes[:at] {
			one.Add(h)
		}
		other.AddAll(slices.Clone(hashes[at:]))
		both.Unite(one)
		both.Unite(other)
		for _, h := range slices.Backward(hashes) {
			reverse.Add(h)
		}
		b := both.AppendBinary(nil)
		if both.Count() != uint64(len(set)) || !bytes.Equal(b, reverse.AppendBinary(nil)) {
			t.Fatalf("%d visitors are %d, and in another order %d", len(set), both.Count(), reverse.Count())
		}
		back, err := DecodeSketch(b)
		if err != nil || !maps.Equal(setOf(back), set) {
			t.Fatalf("of %d visitors come back %d, %v", len(set), back.Count(), err)
		}
		if back.Unite(one); !bytes.Equal(back.AppendBinary(nil), b) {
			t.Fatal("united with a part of itself it is another")
		}
	})
}

func setOf(s Sketch) map[uint64]bool {
	set := map[uint64]bool{}
	for _, h := range s.exact {
		set[h] = true
	}
	return set
}

// FuzzDecodeSketch checks that bytes that decode encode to the same bytes again, also after the
// sketch was united with itself.
func FuzzDecodeSketch(f *testing.F) {
	for _, n := range []int{0, 1, 1024, 1025} {
		var s Sketch
		s.AddAll(uniform(n, 4))
		f.Add(s.AppendBinary(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSketch(b)
		if err != nil {
			return
		}
		back := s.AppendBinary(nil)
		expect.That(t, bytes.Equal(back, b), "%x decodes, and encodes as %x", b, back)
		twin, err := DecodeSketch(b)
		expect.OK(t, err)
		if s.Unite(twin); !bytes.Equal(s.AppendBinary(nil), b) || s.Count() != twin.Count() {
			t.Errorf("united with itself, %d visitors are %d", twin.Count(), s.Count())
		}
		s.Add(42)
		if n := s.Count(); s.dense == nil && n != twin.Count() && n != twin.Count()+1 {
			t.Errorf("%d visitors and one more are %d", twin.Count(), n)
		}
	})
}

// TestADenseSketchEqualsTheLibrarys compares bytes, unions and estimates with those of the library
// that earlier versions used.
func TestADenseSketchEqualsTheLibrarys(t *testing.T) {
	for _, n := range []uint64{0, 1, 500, 1025, 5_000, 20_000, 100_000, 3_000_000} {
		s, united, other := Sketch{dense: new(registers)}, Sketch{dense: new(registers)}, Sketch{dense: new(registers)}
		library := hyperloglog.NewNoSparse()
		for i := range n {
			h := hash.Mix(i+1, 0x9e3779b97f4a7c15)
			s.Add(h)
			library.InsertHash(h)
			if i%3 == 0 {
				united.Add(h)
			} else {
				other.Add(h)
			}
		}
		want, err := library.AppendBinary([]byte{sketchDense})
		if united.Unite(other); err != nil || !bytes.Equal(s.AppendBinary(nil), want) || !bytes.Equal(united.AppendBinary(nil), want) {
			t.Errorf("of %d visitors the bytes are not the library's, %v", n, err)
		}
		if got, want := s.Count(), library.Estimate(); max(got, want)-min(got, want) > 1 { // rounding
			t.Errorf("of %d visitors %d, the library says %d", n, got, want)
		}
	}
}

func BenchmarkCountDense(b *testing.B) {
	var s Sketch
	library := hyperloglog.NewNoSparse()
	for i := range uint64(100_000) {
		s.Add(hash.Mix(i+1, 0x9e3779b97f4a7c15))
		library.InsertHash(hash.Mix(i+1, 0x9e3779b97f4a7c15))
	}
	b.Run("impl=ours", func(b *testing.B) {
		for b.Loop() {
			s.Count()
		}
	})
	b.Run("impl=library", func(b *testing.B) {
		for b.Loop() {
			library.Estimate()
		}
	})
}
