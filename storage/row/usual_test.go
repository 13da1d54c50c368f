package row

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// used is a view that was read into before: no field of it may be left in the next.
var used = engine.HotView{
	KeyView: engine.Key{Domain: 6, Code: "old"}.View(), Target: []byte("old"), Extras: []byte("old"), ID: 1, ExpiresAtMs: 2, MaxHits: 3, DeletedAtMs: 4, Owner: 5,
	Flags: ^engine.Flags(0), CountsAtOnce: true,
}

// differ returns how the short path and the general one read v differently, or "". The short path must
// take each record that the general one takes and that has none of the rarer fields, and no other.
func differ(v []byte) string {
	general, short, whole := used, used, used
	err := readAnyHot(&general, v)
	usual := err == nil && general.Flags&fieldFlags == 0 && general.Extras == nil
	taken := readUsualHot(&short, v)
	wholeErr := ReadHot(&whole, used.KeyView, v)
	switch {
	case taken != usual:
		return fmt.Sprintf("the short path takes it: %v, want %v; the general one: %+v, %v", taken, usual, general, err)
	case taken && !reflect.DeepEqual(short, general):
		return fmt.Sprintf("the short path reads %+v, the general one %+v", short, general)
	case fmt.Sprint(wholeErr) != fmt.Sprint(err):
		return fmt.Sprintf("both: %v, the general one: %v", wholeErr, err)
	case err == nil && !reflect.DeepEqual(whole, general):
		return fmt.Sprintf("both read %+v, the general one %+v", whole, general)
	}
	return ""
}

func TestTheShortPathReadsWrittenAndDamagedRecordsAsTheGeneralOneDoes(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[engine.HotView]()) {
		if field.IsExported() && reflect.ValueOf(used).FieldByIndex(field.Index).IsZero() { // the index sets the other one in every Put
			t.Errorf("the view that was used has no %s: the test would not see what is left of it", field.Name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := genRecord().Draw(t, "record")
		expect.MustEqual(t, differ(v), "", "%x", v)
	})
}

func TestTheShortPathTakesTheUsualRecordAndNoOther(t *testing.T) {
	for _, c := range []struct {
		name  string
		hot   engine.Hot
		taken bool
	}{
		{"usual", engine.Hot{ID: 1 << 40, Owner: math.MaxUint32, Target: "https://a.b/"}, true},
		{"all fields", goldenHot, false},
		{"a tombstone", goldenTombstone, false},
	} {
		v := AppendHot(nil, &c.hot)
		expect.Equal(t, readUsualHot(new(engine.HotView), v), c.taken, "%s: taken", c.name)
		expect.Equal(t, differ(v), "", c.name)
	}
}

// genRecord draws a hot record as it is written, or with numbers in other forms, and damages half of them.
func genRecord() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var v []byte
		if rapid.Bool().Draw(t, "written") {
			hot := genHot().Draw(t, "hot")
			v = AppendHot(nil, &hot)
		} else {
			flags := rapid.SampledFrom([]engine.Flags{0, knownFlags &^ fieldFlags, knownFlags, fieldFlags, ^knownFlags}).Draw(t, "flags")
			v = append(v, hotVersion, byte(flags))
			v = append(append(v, genNumber().Draw(t, "id")...), genNumber().Draw(t, "owner")...)
			targetBytes := rapid.SampledFrom([]int{0, 1, 40, engine.MaxTargetBytes, engine.MaxTargetBytes + 1}).Draw(t, "length")
			v = append(v, make([]byte, targetBytes)...)
		}
		for range rapid.IntRange(-2, 2).Draw(t, "damages") {
			v = damaged(t, v)
		}
		return v
	})
}

// genNumber draws a uvarint near a limit, in its shortest form or in one that is too long.
func genNumber() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		n := rapid.SampledFrom([]uint64{0, 1, 127, 128, 300, math.MaxUint32, math.MaxUint32 + 1, 1 << 63, math.MaxUint64}).Draw(t, "number")
		v := binary.AppendUvarint(nil, n)
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2, 10}).Draw(t, "zeros") {
			v[len(v)-1] |= 0x80
			v = append(v, 0)
		}
		return v
	})
}

// damaged changes, inserts or cuts off bytes near the beginning of v, where all but the target is.
func damaged(t *rapid.T, v []byte) []byte {
	at := rapid.IntRange(0, min(len(v), 24)).Draw(t, "at")
	b := rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xff, rapid.Byte().Draw(t, "any")}).Draw(t, "byte")
	switch rapid.IntRange(0, 2).Draw(t, "damage") {
	case 0:
		return slices.Insert(v, at, b)
	case 1:
		return v[:at]
	}
	if at < len(v) {
		v[at] = b
	}
	return v
}

func FuzzTheShortPath(f *testing.F) {
	for _, h := range []engine.Hot{goldenHot, goldenTombstone, {ID: 1 << 40, Owner: math.MaxUint32, Target: "https://a.b/"}} {
		f.Add(AppendHot(nil, &h))
	}
	f.Add([]byte{hotVersion, 0, 0x80, 0, 0x80, 0})
	f.Fuzz(func(t *testing.T, v []byte) {
		expect.MustEqual(t, differ(v), "", "%x", v)
	})
}
