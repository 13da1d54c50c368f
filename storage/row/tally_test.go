package row

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row/rowtest"
)

// decodeTally is the plain decoder of a tally row, with which Sum is compared. The result shares no
// memory with v.
func decodeTally(v []byte) (engine.Tally, error) {
	raw, err := ParseTally(v)
	if err != nil {
		return engine.Tally{}, err
	}
	t := engine.Tally{Hits: raw.Hits, Bots: raw.Bots, Prefetches: raw.Prefetches, Heads: raw.Heads}
	if raw.breakdowns != nil {
		r := readValues(raw.breakdowns, raw.Hits)
		for r.next() {
			t.Dimensions[r.dimension] = append(t.Dimensions[r.dimension], engine.ValueHits{Value: string(r.value), Hits: r.hits})
		}
		if err := r.end(); err != nil {
			return engine.Tally{}, err
		}
	}
	if raw.sketch != nil {
		t.Visitors, err = decodeSketch(raw.sketch)
	}
	return t, err
}

// decodeSketch decodes a sketch that is not empty.
func decodeSketch(b []byte) (engine.Sketch, error) {
	if b[0] != sketchExact {
		if _, err := denseRegisters(b); err != nil {
			return engine.Sketch{}, err
		}
	}
	s, err := engine.DecodeSketch(b)
	if err != nil {
		return engine.Sketch{}, fmt.Errorf("%w: tally row: %w", ErrCorrupt, err)
	}
	return s, nil
}

var (
	goldenTally = engine.Tally{
		Hits: 300, Prefetches: 2, Visitors: engine.ExactSketch([]uint64{1, 0x0807060504030201}),
	}
	goldenDivided = engine.Tally{Hits: 300, Bots: 1, Dimensions: engine.Dimensions{
		{{Value: "", Hits: 100}, {Value: "a.b", Hits: 200}}, {{Value: "\x05", Hits: 299}}, nil, {{Value: "\x01", Hits: 300}},
	}}
)

// TestTallyRowsAreAsPinned pins tally rows, as TestFormatsAreAsPinned pins the other values.
func TestTallyRowsAreAsPinned(t *testing.T) {
	oneHit := engine.Tally{Hits: 1, Visitors: engine.ExactSketch([]uint64{0x1122334455667788})}
	from := rowtest.HitFrom(0x1122334455667788, "a.b", 5, 2, 1).Tally()
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"tally":     {AppendTally(nil, &goldenTally), "01 15 ac02 02 01 02 0100000000000000 0102030405060708"},
		"one hit":   {AppendTally(nil, &oneHit), "01 11 01 01 01 8877665544332211"},
		"no tally":  {AppendTally(nil, &engine.Tally{}), "01 00"},
		"only bots": {AppendTally(nil, &engine.Tally{Bots: 5, Heads: 6}), "01 0a 05 06"},
		"one hit from somewhere": {
			AppendTally(nil, from), "01 31 01 0c 0f 00 03612e62 00 05 00 02 00 01 01 01 8877665544332211",
		},
		"divided": {
			AppendTally(nil, &goldenDivided), "01 23 ac02 01 10 0b 02 00 64 03612e62 c801 01 05 ab02 00 01",
		},
	} {
		wantBytes(t, name, c.got, c.want)
	}
}

func TestLongBreakdownsComeAfterTheirLength(t *testing.T) {
	tally := engine.Tally{Hits: 1, Dimensions: engine.Dimensions{{{Value: strings.Repeat("a", 253), Hits: 1}}}}
	wantBytes(t, "253 bytes", AppendTally([]byte{7}, &tally), "07 01 21 01 8102 01 00 fd01"+strings.Repeat("61", 253))
}

func TestADenseTallyRowIsAsPinned(t *testing.T) {
	var dense engine.Tally
	for i := range uint64(engine.MaxExactVisitors + 1) {
		dense.Visitors.Add(i << 50)
	}
	row := AppendTally(nil, &dense)
	expect.Slices(t, row[:11], []byte{1, tallyVisitors, sketchDense, 2, 14, 0, 0, 0, 0, 0x40, 0}, "head")
	if got, want := len(row), 11+1<<14; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}

func TestTalliesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rowtest.Models().Draw(t, "tally")
		row := rowOf(m)
		got, err := decodeTally(row)
		expect.MustThat(t, err == nil && slices.Equal(AppendTally(nil, &got), row) && got.Hits == m.Hits && got.Heads == m.Heads, "got %+v, %v, want %+v", got, err, m)
		hits, err := DecodeTallyHits(row)
		expect.MustThat(t, err == nil && hits == m.Hits, "hits: got %d, %v, want %d", hits, err, m.Hits)
		expect.OK(t, CheckTally(row), "checkTally")
	})
}

func TestBreakdownsThatCannotBeReadBackAreRefused(t *testing.T) {
	long := strings.Repeat("a", engine.MaxReferrerBytes+1)
	for name, d := range map[string]engine.Dimensions{
		"long referrer":     {{{Value: long, Hits: 1}}},
		"country of 2":      {nil, {{Value: "DE", Hits: 1}}},
		"browser of 0":      {nil, nil, nil, {{Value: "", Hits: 1}}},
		"device of no hits": {nil, nil, {{Value: "\x01"}}},
		"too many hits":     {{{Value: "a", Hits: 3}}},
		"too many together": {{{Value: "a", Hits: 2}, {Value: "b", Hits: 1}}},
		"not in order":      {{{Value: "b", Hits: 1}, {Value: "a", Hits: 1}}},
		"twice":             {{{Value: "b", Hits: 1}, {Value: "b", Hits: 1}}},
		"257 values":        {make(engine.Breakdown, engine.MaxValues+1)},
	} {
		expect.That(t, CheckDimensions(&engine.Tally{Hits: 2, Dimensions: d}) != nil, "%s: got no error", name)
	}
	for _, tally := range []*engine.Tally{&goldenTally, &goldenDivided} {
		expect.NoError(t, CheckDimensions(tally))
	}
}

func TestTheCheckOfATallyAgreesWithItsDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rowOf(rowtest.Models().Draw(t, "tally"))
		at := rapid.IntRange(0, min(len(row)-1, 40)).Draw(t, "at")
		row[at] ^= rapid.Byte().Draw(t, "flip")
		_, decodeErr := decodeTally(row)
		checkErr := CheckTally(row)
		expect.MustEqual(t, checkErr == nil, decodeErr == nil, "checkTally: %v, decodeTally: %v", checkErr, decodeErr)
	})
}

func FuzzTally(f *testing.F) { fuzzCodec(f, "tally", tallySeeds()...) }

// tallySeeds returns an empty tally row, one of few visitors, a dense one, and two with breakdowns.
func tallySeeds() [][]byte {
	dense := engine.Tally{Hits: 2000}
	for i := range uint64(2000) {
		dense.Visitors.Add(rowtest.Visitor(i))
	}
	return [][]byte{
		AppendTally(nil, &engine.Tally{}), AppendTally(nil, &goldenTally), AppendTally(nil, &dense),
		AppendTally(nil, &goldenDivided), rowOf(rowtest.HitFrom(1, "a.example", 5, 2, 1)),
	}
}

// FuzzTallyReaders reads any bytes as a tally row by each reader: all readers accept the same rows
// and find the same hits.
func FuzzTallyReaders(f *testing.F) {
	for _, row := range tallySeeds() {
		f.Add(row)
		f.Add(row[:len(row)-1])
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		tally, err := decodeTally(row)
		checkErr := CheckTally(row)
		expect.MustThat(t, (checkErr == nil) == (err == nil) && (err == nil || errors.Is(checkErr, ErrCorrupt)), "%x: checkTally: %v, decodeTally: %v", row, checkErr, err)
		hits, hitsErr := DecodeTallyHits(row)
		expect.MustThat(t, hitsErr == nil || errors.Is(hitsErr, ErrCorrupt), "%x: got %v, want ErrCorrupt", row, hitsErr)
		expect.MustThat(t, err != nil || hitsErr == nil && hits == tally.Hits, "%x: got %d hits, %v, want %d", row, hits, hitsErr, tally.Hits)
	})
}

// rowOf returns the tally row of a model.
func rowOf(m *rowtest.Model) []byte { return AppendTally(nil, m.Tally()) }
