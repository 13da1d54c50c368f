package index

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

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
		Code: code, Target: []byte(target), ID: []uint64{0, 7, 8, 9, 1<<32 - 1, 1 << 32, 5 << 48, 1<<64 - 1}[rng.IntN(8)],
		Owner: []uint32{1, narrowOwnerMask, narrowOwnerMask + 1, 1<<32 - 1}[rng.IntN(4)],
		Flags: Flags(rng.UintN(256)) &^ FlagTombstone,
	}
	h.encoded = target != "" && rng.IntN(4) == 0
	if rng.IntN(4) == 0 {
		h.encoded = false
		h.Flags, h.DeletedAtMs = FlagTombstone, int64(rng.Uint64())
		if rng.IntN(2) == 0 {
			h.Flags |= FlagCapped // a tombstone has no cap, but the flag may stand in a row
			return h
		}
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
		if !ok {
			t.Fatal("the arena is full")
		}
		if h.narrow(a.idHigh) {
			narrow++
		}
		b := newArena(new(memory), nil)
		copied, ok := b.appendCopy(a, offset)
		for _, v := range []HotView{a.view(offset), b.view(copied)} {
			if !ok || !reflect.DeepEqual(v, h) {
				t.Fatalf("got %+v, %v\nwant %+v", v, ok, h)
			}
			if got := a.recordBytes(&v); got != sizeBytes {
				t.Fatalf("a record of %d bytes counts as %d when it is garbage", sizeBytes, got)
			}
		}
		r := a.at(offset)
		if !codeIs(r, wordOf(h.Code), h.Code) || isTombstone(r) != (h.Flags&FlagTombstone != 0) {
			t.Fatalf("%q, flags %#x: found %v, tombstone %v", h.Code, h.Flags, codeIs(r, wordOf(h.Code), h.Code), isTombstone(r))
		}
		if other := anyRecord(rng); codeIs(r, wordOf(other.Code), other.Code) != (string(other.Code) == string(h.Code)) {
			t.Fatalf("%q and %q are confused", h.Code, other.Code)
		}
		if len(h.Code) == wordBytes {
			if got := isLiveWord(r, binary.LittleEndian.Uint64(h.Code)); got != h.narrow(a.idHigh) {
				t.Fatalf("%q is a live word: %v, narrow: %v", h.Code, got, h.narrow(a.idHigh))
			}
		}
	}
	if narrow < 500 || narrow > 9500 {
		t.Errorf("%d of 10,000 records are narrow: the test shows little", narrow)
	}
}

func TestTheUsualLinkTakesSixteenBytesAndItsTarget(t *testing.T) {
	a := newArena(new(memory), nil)
	for id := uint64(7 << 48); id < 7<<48+100; id++ {
		h := HotView{Code: []byte("a1b2c3d4"), Target: make([]byte, 45), ID: id, Owner: 4_000_000, Flags: 1 | FlagForwardQuery | FlagDisabled}
		if _, sizeBytes, _ := a.appendRecord(&h); sizeBytes != 16+45 {
			t.Fatalf("%d bytes, want %d", sizeBytes, 16+45)
		}
	}
}

func TestFlagsAndTheHighBitsOfAWordAreTheSame(t *testing.T) {
	for f := range 256 {
		w := spread(Flags(f))
		for i := range 8 {
			if got := w >> (8 * i) & 0xff; got != uint64(f>>i&1)<<7 {
				t.Fatalf("%#x: byte %d is %#x", f, i, got)
			}
		}
		if got := gather(w | charBits); got != Flags(f) {
			t.Fatalf("got %#x, want %#x", got, f)
		}
	}
	if spread(FlagTombstone) != wideMark || spread(FlagTombstone|FlagExpires|FlagCapped) != unusualBits {
		t.Error("the mark of wide records is not the bit of FlagTombstone")
	}
}

// TestBytesThatAreNotACodeFindNothing asks for the bytes of records with their flags, which are not
// ASCII.
func TestBytesThatAreNotACodeFindNothing(t *testing.T) {
	x := newIndex()
	h := HotView{Code: []byte("abcdefgh"), Target: []byte("https://x"), ID: 1, Flags: 1 | FlagForwardQuery}
	x.put(t, h)
	for i := range uint(8) {
		code := []byte("abcdefgh")
		code[i] |= 0x80
		if _, ok := x.Resolve(code); ok {
			t.Errorf("%q is found", code)
		}
	}
	for n := range 8 {
		if _, ok := x.Resolve([]byte("abcdefgh\x00")[:n]); ok {
			t.Errorf("%d bytes of a code are found", n)
		}
	}
	if _, ok := x.Resolve(append(h.Code, 0)); ok {
		t.Error("a code with a zero behind it is found")
	}
}
