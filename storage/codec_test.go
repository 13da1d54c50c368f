package storage

import (
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
)

// codecs are all value formats: each takes a value apart and puts it together again.
var codecs = map[string]func(v []byte) ([]byte, error){
	"hot": func(v []byte) ([]byte, error) {
		view, err := decodeHot([]byte("code"), v)
		h := ownHot(&view)
		return appendHot(nil, &h), err
	},
	"cold": func(v []byte) ([]byte, error) {
		c, err := decodeCold(v)
		return appendCold(nil, &c), err
	},
	"index": func(v []byte) ([]byte, error) {
		x, err := decodeIndexValue(v)
		return appendIndexValue(nil, x), err
	},
	"tally": func(v []byte) ([]byte, error) {
		t, err := decodeTally(v)
		return appendTally(nil, &t), err
	},
	"positions": func(v []byte) ([]byte, error) {
		p, err := decodePositions(v)
		return appendPositions(nil, &p), err
	},
	"mark": func(v []byte) ([]byte, error) {
		m, err := decodeMark(v)
		return appendMark(nil, m), err
	},
}

var (
	goldenHot = engine.Hot{
		Code: "code", ID: 0x0001_0000_0000_0005, Owner: 300, Flags: engine.FlagExpires | engine.FlagCapped | 1,
		ExpiresAtMs: 1_700_000_000_000, MaxHits: 1000, Target: "https://a.b/",
	}
	goldenTombstone = engine.Hot{
		Code: "code", ID: 5, Owner: 7, Flags: engine.FlagTombstone, DeletedAtMs: 1_700_000_000_001,
	}
	goldenCold = engine.Cold{
		Code: "code", Version: 2, CreatedAtMs: 1_600_000_000_000, UpdatedAtMs: -1, ImportedHits: 129,
		Title: "Ti", Tags: []string{"x", "yz"},
	}
	goldenTally = engine.Tally{
		Hits: 300, Prefetches: 2, Visitors: engine.ExactSketch([]uint64{1, 0x0807060504030201}),
	}
	goldenPositions = engine.Positions{Epoch: 3, FlushSeq: 200, OpenHour: 472_222, Rings: []uint64{0, 1 << 40}}
	goldenMark      = mark{hour: 472_222, stage: stageOwners, next: 128}
)

// TestFormatsAreAsPinned holds the bytes on disk. Whoever changes one of these literals changes a format: then its version
// must change too, and stores of the old one must still open.
func TestFormatsAreAsPinned(t *testing.T) {
	oneHit := engine.Tally{Hits: 1, Visitors: engine.ExactSketch([]uint64{0x1122334455667788})}
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"hot":        {appendHot(nil, &goldenHot), "01 19 85808080808040 ac02 80a0abfef962 e807 68747470733a2f2f612e622f"},
		"tombstone":  {appendHot(nil, &goldenTombstone), "01 20 05 07 82a0abfef962"},
		"cold":       {appendCold(nil, &goldenCold), "01 04636f6465 02 8080f4f6905d 01 8101 025469 02 0178 02797a"},
		"index":      {appendIndexValue(nil, indexValue{"code", "a.b", "Ti"}), "01 04636f6465 03612e62 5469"},
		"tally":      {appendTally(nil, &goldenTally), "01 15 ac02 02 01 02 0100000000000000 0102030405060708"},
		"one hit":    {appendTally(nil, &oneHit), "01 11 01 01 01 8877665544332211"},
		"no tally":   {appendTally(nil, &engine.Tally{}), "01 00"},
		"only bots":  {appendTally(nil, &engine.Tally{Bots: 5, Heads: 6}), "01 0a 05 06"},
		"positions":  {appendPositions(nil, &goldenPositions), "01 03 c801 9ee91c 02 00 808080808020"},
		"mark":       {appendMark(nil, goldenMark), "01 9ee91c 01 8001"},
		"first mark": {appendMark(nil, mark{}), "01 00 00 00"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.got, want) {
			t.Errorf("%s: got %x, want %x", name, c.got, want)
		}
	}
}

func TestADenseTallyRowIsAsPinned(t *testing.T) {
	var dense engine.Tally
	for i := range uint64(engine.MaxExactVisitors + 1) {
		dense.Visitors.Add(i << 50)
	}
	row := appendTally(nil, &dense)
	if got, want := row[:11], []byte{1, tallyVisitors, sketchDense, 2, 14, 0, 0, 0, 0, 0x40, 0}; !slices.Equal(got, want) {
		t.Errorf("head: got %x, want %x", got, want)
	}
	if got, want := len(row), 11+1<<14; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}

func genText(limit int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, "bytes"))
	})
}

func genHot() *rapid.Generator[engine.Hot] {
	return rapid.Custom(func(t *rapid.T) engine.Hot {
		h := engine.Hot{
			Code: "code", ID: rapid.Uint64().Draw(t, "id"), Owner: rapid.Uint32().Draw(t, "owner"),
			Flags: engine.Flags(rapid.ByteMax(byte(knownFlags)).Draw(t, "flags")),
		}
		if h.Flags&engine.FlagExpires != 0 {
			h.ExpiresAtMs = rapid.Int64().Draw(t, "expires")
		}
		if h.Flags&engine.FlagCapped != 0 {
			h.MaxHits = rapid.Uint64().Draw(t, "cap")
		}
		if h.Flags&engine.FlagTombstone != 0 {
			h.DeletedAtMs = rapid.Int64().Draw(t, "deleted")
		} else {
			h.Target = genText(engine.MaxTargetBytes).Draw(t, "target")
		}
		return h
	})
}

func genCold() *rapid.Generator[engine.Cold] {
	return rapid.Custom(func(t *rapid.T) engine.Cold {
		c := engine.Cold{
			Code: genText(engine.MaxCodeBytes).Draw(t, "code"), Version: rapid.Uint64().Draw(t, "version"),
			CreatedAtMs: rapid.Int64().Draw(t, "created"), UpdatedAtMs: rapid.Int64().Draw(t, "updated"),
			ImportedHits: rapid.Uint64().Draw(t, "imported"), Title: genText(engine.MaxTitleBytes).Draw(t, "title"),
		}
		if tags := rapid.SliceOfN(genText(engine.MaxTagBytes), 0, engine.MaxTags).Draw(t, "tags"); len(tags) > 0 {
			c.Tags = tags
		}
		return c
	})
}

// genModel draws a small tally, or now and then one with more visitors than are counted exactly.
func genModel() *rapid.Generator[*model] {
	return rapid.Custom(func(t *rapid.T) *model {
		m := &model{visitors: map[uint64]bool{}}
		counts := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Max(1<<40)), 4, 4).Draw(t, "counts")
		m.hits, m.bots, m.prefetches, m.heads = counts[0], counts[1], counts[2], counts[3]
		n := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 700), rapid.IntRange(1000, 1400)).Draw(t, "visitors")
		first := rapid.Uint64Max(3000).Draw(t, "first")
		for i := range uint64(n) {
			m.visitors[visitorHash(first+i)] = true
		}
		return m
	})
}

// visitorHash spreads small numbers over 64 bits; visitor 0 has hash 0.
func visitorHash(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 }

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hot := genHot().Draw(t, "hot")
		view, err := decodeHot([]byte("code"), appendHot(nil, &hot))
		if got := ownHot(&view); err != nil || got != hot {
			t.Fatalf("hot: got %+v, %v, want %+v", got, err, hot)
		}
		cold := genCold().Draw(t, "cold")
		if got, err := decodeCold(appendCold(nil, &cold)); err != nil || !reflect.DeepEqual(got, cold) {
			t.Fatalf("cold: got %+v, %v, want %+v", got, err, cold)
		}
		index := indexValue{
			genText(engine.MaxCodeBytes).Draw(t, "code"), genText(maxHostBytes).Draw(t, "host"),
			genText(engine.MaxTitleBytes).Draw(t, "title"),
		}
		if got, err := decodeIndexValue(appendIndexValue(nil, index)); err != nil || got != index {
			t.Fatalf("index: got %+v, %v, want %+v", got, err, index)
		}
	})
}

func TestTalliesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genModel().Draw(t, "tally")
		row := m.row()
		got, err := decodeTally(row)
		if err != nil || !slices.Equal(appendTally(nil, &got), row) || got.Hits != m.hits || got.Heads != m.heads {
			t.Fatalf("got %+v, %v, want %+v", got, err, m)
		}
		if hits, err := decodeTallyHits(row); err != nil || hits != m.hits {
			t.Fatalf("hits: got %d, %v, want %d", hits, err, m.hits)
		}
		if err := checkTally(row); err != nil {
			t.Fatalf("checkTally: %v", err)
		}
	})
}

func TestPositionsAndMarksAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := engine.Positions{
			Epoch: rapid.Uint64().Draw(t, "epoch"), FlushSeq: rapid.Uint64().Draw(t, "seq"), OpenHour: rapid.Uint32().Draw(t, "hour"),
		}
		if rings := rapid.SliceOfN(rapid.Uint64(), 0, 64).Draw(t, "rings"); len(rings) > 0 {
			p.Rings = rings
		}
		if got, err := decodePositions(appendPositions(nil, &p)); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("positions: got %+v, %v, want %+v", got, err, p)
		}
		m := mark{rapid.Uint32().Draw(t, "hour"), stage(rapid.IntRange(0, 1).Draw(t, "stage")), rapid.Uint64().Draw(t, "next")}
		if got, err := decodeMark(appendMark(nil, m)); err != nil || got != m {
			t.Fatalf("mark: got %+v, %v, want %+v", got, err, m)
		}
	})
}

func TestMalformedValuesAreRefusedAsCorrupt(t *testing.T) {
	for name, c := range map[string]struct{ codec, value string }{
		"hot of a newer format":           {"hot", "02 00 05 07"},
		"hot with an unknown flag":        {"hot", "01 40 05 07"},
		"hot with a padded id":            {"hot", "01 00 8500 07"},
		"hot with an owner over 32 bits":  {"hot", "01 00 05 8080808010"},
		"hot without an id":               {"hot", "01 00"},
		"hot without its cap":             {"hot", "01 10 05 07"},
		"tombstone with a target":         {"hot", "01 20 05 07 02 61"},
		"cold with bytes after it":        {"cold", "01 0161 01 00 00 00 00 00 00"},
		"cold with 33 tags":               {"cold", "01 0161 01 00 00 00 00 21" + strings.Repeat(" 00", 33)},
		"cold whose title is cut off":     {"cold", "01 0161 01 00 00 00 05 61"},
		"cold with a long code":           {"cold", "01 41" + strings.Repeat("61", 65) + "01 00 00 00 00 00"},
		"index without a host":            {"index", "01 0161"},
		"tally of a newer format":         {"tally", "02 00"},
		"tally with an unknown flag":      {"tally", "01 20 01"},
		"tally with a count of zero":      {"tally", "01 01 00"},
		"tally with bytes after it":       {"tally", "01 01 05 00"},
		"tally with an empty sketch":      {"tally", "01 10 00"},
		"tally whose sketch is missing":   {"tally", "01 10"},
		"tally with an unknown sketch":    {"tally", "01 10 03 00"},
		"tally with descending hashes":    {"tally", "01 10 01 02 0200000000000000 0100000000000000"},
		"tally with a repeated hash":      {"tally", "01 10 01 02 0100000000000000 0100000000000000"},
		"tally with half a hash":          {"tally", "01 10 01 01 01000000"},
		"tally with a dense sketch of v1": {"tally", "01 10 02 01 0e 00 00 00004000" + strings.Repeat("00", 1<<14)},
		"positions with 1,025 rings":      {"positions", "01 00 00 00 8108"},
		"positions without their rings":   {"positions", "01 00 00 00 02 00"},
		"mark of an unknown stage":        {"mark", "01 00 02 00"},
		"mark with bytes after it":        {"mark", "01 00 00 00 00"},
		"nothing":                         {"mark", ""},
	} {
		value, err := hex.DecodeString(strings.ReplaceAll(c.value, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := codecs[c.codec](value); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want ErrCorrupt", name, err)
		}
	}
}

func TestTheCheckOfATallyAgreesWithItsDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := genModel().Draw(t, "tally").row()
		at := rapid.IntRange(0, min(len(row)-1, 40)).Draw(t, "at")
		row[at] ^= rapid.Byte().Draw(t, "flip")
		_, decodeErr := decodeTally(row)
		if checkErr := checkTally(row); (checkErr == nil) != (decodeErr == nil) {
			t.Fatalf("checkTally: %v, decodeTally: %v", checkErr, decodeErr)
		}
	})
}

func TestTheHostOfATargetIsWhatStandsBeforePathQueryAndFragment(t *testing.T) {
	for target, want := range map[string]string{
		"https://example.com/a?b#c":                      "example.com",
		"http://example.com":                             "example.com",
		"http://example.com:8080?q":                      "example.com:8080",
		"http://[2001:db8::1]:80#f":                      "[2001:db8::1]:80",
		"https://a.b/https://c.d/":                       "a.b",
		"no url":                                         "",
		"https://" + strings.Repeat("h", 400) + ".com/x": strings.Repeat("h", maxHostBytes),
	} {
		if got := hostOf(target); got != want {
			t.Errorf("hostOf(%q): got %q, want %q", target, got, want)
		}
	}
}

// fuzzCodec decodes arbitrary bytes: nothing may panic, every error is ErrCorrupt, and what is taken is encoded as it was.
func fuzzCodec(f *testing.F, name string, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
		f.Add(append(slices.Clone(seed), 0))
		f.Add(seed[:len(seed)/2])
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		again, err := codecs[name](v)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s %x: got %v, want ErrCorrupt", name, v, err)
		}
		if err == nil && !slices.Equal(again, v) {
			t.Fatalf("%s: %x was taken, and is %x again", name, v, again)
		}
	})
}

func FuzzHot(f *testing.F) {
	fuzzCodec(f, "hot", appendHot(nil, &goldenHot), appendHot(nil, &goldenTombstone))
}

func FuzzCold(f *testing.F) { fuzzCodec(f, "cold", appendCold(nil, &goldenCold)) }

func FuzzIndexValue(f *testing.F) {
	fuzzCodec(f, "index", appendIndexValue(nil, indexValue{"code", "a.b", "Ti"}))
}

func FuzzTally(f *testing.F) {
	dense := engine.Tally{Hits: 2000}
	for i := range uint64(2000) {
		dense.Visitors.Add(visitorHash(i))
	}
	fuzzCodec(f, "tally", appendTally(nil, &goldenTally), appendTally(nil, &dense))
}

func FuzzPositions(f *testing.F) { fuzzCodec(f, "positions", appendPositions(nil, &goldenPositions)) }

func FuzzMark(f *testing.F) { fuzzCodec(f, "mark", appendMark(nil, goldenMark)) }
