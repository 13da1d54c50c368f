package index

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
)

// anyRecord draws a record whose fields are often at the limit of what a narrow record can hold.
func anyRecord(rng *rand.Rand) HotView {
	const base64 = base62 + "_-"
	code := make([]byte, 1+rng.IntN(12))
	if rng.IntN(8) == 0 {
		code = make([]byte, limits.MaxCodeBytes)
	}
	for i := range code {
		code[i] = base64[rng.IntN(len(base64))]
	}
	target := strings.Repeat("t", []int{0, 1, 45, 1023, 1024, limits.MaxTargetBytes}[rng.IntN(6)])
	h := HotView{
		KeyView: viewOf(code), Target: []byte(target), ID: []uint64{0, 7, 8, 9, 1<<32 - 1, 1 << 32, 5 << 48, 1<<64 - 1}[rng.IntN(8)],
		Flags: Flags(rng.UintN(256)) & DurableFlags &^ FlagTombstone,
	}
	h.Domain = []Domain{DefaultDomain, DefaultDomain, 1, narrowDomains - 1, narrowDomains, MaxDomain}[rng.IntN(6)]
	h.Owner = OwnerIn(h.Domain, []uint32{1, narrowUserMask, narrowUserMask + 1, MaxUser}[rng.IntN(4)])
	h.CountsAtOnce = rng.IntN(8) == 0
	h.encoded = target != "" && rng.IntN(4) == 0
	if rng.IntN(4) == 0 {
		h.encoded, h.CountsAtOnce = false, false
		h.Flags, h.DeletedAtMs = FlagTombstone, int64(rng.Uint64())
		if rng.IntN(2) == 0 {
			h.Flags |= FlagCapped // a tombstone has no cap, but the flag may stand in a row
			return h
		}
	}
	if h.Flags&FlagTombstone == 0 && rng.IntN(4) == 0 {
		h.Extras = []byte(strings.Repeat("x", []int{1, 11, 255, 256, limits.MaxExtrasBytes}[rng.IntN(5)]))
	}
	if h.Flags&FlagExpires != 0 {
		h.ExpiresAtMs = int64(rng.Uint64()>>1) + 1
	}
	if h.Flags&FlagCapped != 0 {
		h.MaxHits = rng.Uint64()
	}
	return h
}

func TestNarrowAndWideRecordsKeepEveryField(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a := newArena(new(memory), nil)
	narrow := 0
	for i := range 10_000 {
		h := anyRecord(rng)
		if i == 0 {
			h.ID = 7
		}
		offset, sizeBytes, ok := a.appendRecord(&h)
		expect.MustThat(t, ok, "the arena is full")
		if h.narrow(a.idHigh) {
			narrow++
		}
		b := newArena(a.memory, nil)
		copied, ok := b.appendCopy(a, offset)
		for _, v := range []HotView{a.view(offset), b.view(copied)} {
			expect.MustThat(t, ok && reflect.DeepEqual(v, h), "got %+v, %v\nwant %+v", v, ok, h)
			got := a.recordBytes(&v)
			expect.MustThat(t, got == sizeBytes, "a record of %d bytes counts as %d when it is garbage", sizeBytes, got)
		}
		r := a.at(offset)
		l := Link{record: r, arena: a}
		expect.MustThat(t, string(l.Extras()) == string(h.Extras) && string(l.keptTarget()) == string(h.Target), "a redirect reads other extras or another target of %+v", h)
		expect.MustThat(t, l.Unusual() || h.Flags&(FlagExpires|FlagCapped|FlagTombstone) == 0 && len(h.Extras) == 0, "%+v seems to be usual", h)
		found := func(k KeyView) bool {
			return keyIs(r, wordOf(k.Code)|elsewhere(k.Domain), k.Code) && (Link{record: r}).Domain() == k.Domain
		}
		if !found(h.KeyView) || isTombstone(r) != (h.Flags&FlagTombstone != 0) {
			t.Fatalf("%v, flags %#x: found %v, tombstone %v", h.Own(), h.Flags, found(h.KeyView), isTombstone(r))
		}
		if other := anyRecord(rng); found(other.KeyView) != (other.Own() == h.Own()) {
			t.Fatalf("%v and %v are confused", h.Own(), other.Own())
		}
		for d := range Domain(3) {
			if other := (KeyView{Domain: d, Code: h.Code}); found(other) != (d == h.Domain) {
				t.Fatalf("%v is found as that of domain %d", h.Own(), d)
			}
		}
		if len(h.Code) == wordBytes {
			if got := isLiveWord(r, binary.LittleEndian.Uint64(h.Code)); got != (h.narrow(a.idHigh) && h.Domain == DefaultDomain) {
				t.Fatalf("%q is a live word: %v, narrow: %v", h.Code, got, h.narrow(a.idHigh))
			}
		}
	}
	expect.That(t, narrow >= 500 && narrow <= 9500, "%d of 10,000 records are narrow: the test shows little", narrow)
}

func TestTheUsualLinkTakesSixteenBytesAndItsTarget(t *testing.T) {
	a := newArena(new(memory), nil)
	for id := uint64(7 << 48); id < 7<<48+100; id++ {
		k := Key{Domain: Domain(id % 2), Code: "a1b2c3d4"}
		h := HotView{KeyView: k.View(), Target: make([]byte, 45), ID: id, Owner: OwnerIn(k.Domain, narrowUserMask), Flags: 1 | FlagForwardQuery | FlagDisabled}
		_, sizeBytes, _ := a.appendRecord(&h)
		expect.MustEqual(t, sizeBytes, 16+45, "bytes")
	}
}

func TestOnlyALinkWithExtrasPaysForThem(t *testing.T) {
	a := newArena(new(memory), nil)
	k := Key{Domain: DefaultDomain, Code: "a1b2c3d4"}
	h := HotView{KeyView: k.View(), Target: make([]byte, 45), ID: 7, Owner: 1}
	_, plain, _ := a.appendRecord(&h)
	h.Extras = make([]byte, 11)
	_, with, _ := a.appendRecord(&h)
	expect.Equal(t, with-plain, 4+len(h.Code)+2+len(h.Extras), "bytes for a wide record, its code, the length and the extras")
}

func TestFlagsAndTheHighBitsOfAWordAreTheSame(t *testing.T) {
	for f := range 256 {
		w := spread(Flags(f))
		for i := range 8 {
			expect.MustEqual(t, w>>(8*i)&0xff, uint64(f>>i&1)<<7, "%#x: byte %d", f, i)
		}
		expect.MustEqual(t, gather(w|charBits), Flags(f), "want %#x", f)
	}
	expect.That(t, spread(FlagTombstone) == wideMark && spread(FlagTombstone|FlagExpires|FlagCapped) == unusualBits,
		"the mark of wide records is not the bit of FlagTombstone")
}

// TestBytesThatAreNotACodeFindNothing asks for the bytes of records with their flags, which are not
// ASCII.
func TestBytesThatAreNotACodeFindNothing(t *testing.T) {
	x := newIndex()
	h := HotView{KeyView: keyOf("abcdefgh").View(), Target: []byte("https://x"), ID: 1, Flags: 1 | FlagForwardQuery}
	x.put(t, h)
	for i := range uint(8) {
		code := []byte("abcdefgh")
		code[i] |= 0x80
		_, ok := x.Resolve(viewOf(code))
		expect.That(t, !ok, "%q is found", code)
	}
	for n := range 8 {
		_, ok := x.Resolve(viewOf([]byte("abcdefgh\x00")[:n]))
		expect.That(t, !ok, "%d bytes of a code are found", n)
	}
	_, ok := x.Resolve(viewOf(append(h.Code, 0)))
	expect.That(t, !ok, "a code with a zero behind it is found")
}
