package row

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/expect"
	"shunt/engine/extras"
	"shunt/engine/texts"
)

// codecs are all value formats: each decodes a value and encodes it again.
var codecs = map[string]func(v []byte) ([]byte, error){
	"hot": func(v []byte) ([]byte, error) {
		view, err := DecodeHot(keyOf("code").View(), v)
		h := OwnHot(&view)
		return AppendHot(nil, &h), err
	},
	"cold": func(v []byte) ([]byte, error) {
		c, err := DecodeCold(v)
		return AppendCold(nil, &c), err
	},
	"index": func(v []byte) ([]byte, error) {
		var e engine.LinkEntry
		err := ReadIndexValue(&e, v)
		return AppendIndexValue(nil, &e), err
	},
	"summary": func(v []byte) ([]byte, error) {
		s, err := DecodeSummary(v)
		return AppendSummary(nil, s), err
	},
	"trashed": func(v []byte) ([]byte, error) {
		h, err := DecodeTrashed(v)
		return AppendTrashed(nil, &h), err
	},
	"deletion": func(v []byte) ([]byte, error) {
		code, version, err := DecodeDeletion(v)
		return AppendDeletion(nil, code, version), err
	},
	"tally": func(v []byte) ([]byte, error) {
		t, err := decodeTally(v)
		return AppendTally(nil, &t), err
	},
	"log": func(v []byte) ([]byte, error) {
		p, err := DecodeLogPosition(v)
		return AppendLogPosition(nil, p), err
	},
	"edge-log": func(v []byte) ([]byte, error) {
		l, err := DecodeEdgeLog(v)
		return AppendEdgeLog(nil, &l), err
	},
	"edge": func(v []byte) ([]byte, error) {
		outboxes, err := DecodeEdge(v)
		return AppendEdge(nil, outboxes), err
	},
	"positions": func(v []byte) ([]byte, error) {
		p, err := DecodePositions(v)
		return AppendPositions(nil, &p), err
	},
	"mark": func(v []byte) ([]byte, error) {
		m, err := DecodeMark(v)
		return AppendMark(nil, &m), err
	},
	"clock": func(v []byte) ([]byte, error) {
		c, err := DecodeClock(v)
		return AppendClock(nil, &c), err
	},
	"receipt": func(v []byte) ([]byte, error) {
		r, err := DecodeReceipt(goldenReceipt.RequestKey, v)
		if at, timeErr := DecodeReceiptTime(v); err == nil && (timeErr != nil || at != r.CreatedAtMs) {
			return nil, fmt.Errorf("its time is %d, and %d (%v) by itself", r.CreatedAtMs, at, timeErr)
		}
		if r.Items != nil {
			return AppendBulkReceipt(nil, &r), errors.Join(err, checkReceiptItems(r.Items))
		}
		return AppendReceipt(nil, &r, &r.Link.Hot, &r.Link.Cold), err
	},
	"audit": func(v []byte) ([]byte, error) {
		e, err := DecodeAudit(1, v)
		return AppendAudit(nil, &e), err
	},
	"sweep": func(v []byte) ([]byte, error) {
		w, err := DecodeSweep(v)
		return AppendSweep(nil, w), err
	},
	"outbox-record": encodeOutboxAgain,
	"sealed": func(v []byte) ([]byte, error) { // an outbox record whose checksum fits
		_, err := CheckOutbox(binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, castagnoli)))
		return nil, err
	},
	"outbox": func(v []byte) ([]byte, error) {
		s, err := DecodeOutboxState(v)
		return AppendOutboxState(nil, s), err
	},
	"pulled": func(v []byte) ([]byte, error) {
		p, err := DecodePulled(v)
		return AppendPulled(nil, p), err
	},
	"time-zone": func(v []byte) ([]byte, error) {
		name, err := DecodeZone(v)
		return AppendZone(nil, name), err
	},
	"base-URL": func(v []byte) ([]byte, error) {
		baseURL, err := DecodeBaseURL(v)
		return AppendBaseURL(nil, baseURL), err
	},
}

var (
	goldenHot = engine.Hot{
		Key: keyOf("code"), ID: 0x0001_0000_0000_0005, Owner: 300, Flags: engine.FlagExpires | engine.FlagCapped | 1,
		ExpiresAtMs: 1_700_000_000_000, MaxHits: 1000, Target: "https://a.b/",
	}
	goldenStarting = engine.Hot{Key: keyOf("code"), ID: 5, Owner: 7, Target: "https://a.b/", Extras: string((&extras.Fields{StartsAtMs: 1_700_000_000_000, ExpiredURL: "http://c", Query: extras.Keep}).Append(nil))}
	goldenDeciding = engine.Hot{Key: keyOf("code"), ID: 5, Owner: 7, Target: "https://a.b/", Extras: string((&extras.Fields{
		Target: 1, Rules: []extras.Rule{{URL: "http://c", Conditions: []extras.Condition{{Kind: extras.OnDevice, Value: "\x02"}}, Target: 2}},
		Split: []extras.Share{{URL: "http://d", Weight: 70, Target: 3}, {URL: "http://e", Weight: 30, Target: 4}},
	}).Append(nil))}
	goldenTombstone = engine.Hot{
		Key: keyOf("code"), ID: 5, Owner: 7, Flags: engine.FlagTombstone, DeletedAtMs: 1_700_000_000_001,
	}
	goldenCold = engine.Cold{
		Key: keyOf("code"), Version: 2, CreatedAtMs: 1_600_000_000_000, UpdatedAtMs: -1, ImportedHits: 129, ImportedAtMs: 300,
		Texts: engine.Texts{Title: "Ti"}, Tags: []string{"x", "yz"}, Newer: "\x63\x02ab\x80\x01\x00",
	}
	goldenEntry = engine.LinkEntry{
		KeyView: keyOf("code").View(), Flags: engine.FlagExpires | engine.FlagDisabled, CreatedAtMs: goldenCold.CreatedAtMs,
		UpdatedAtMs: goldenCold.CreatedAtMs + 2, ExpiresAtMs: goldenHot.ExpiresAtMs, Text: []byte("x\x00y"),
	}
	goldenPositions = engine.Positions{Epoch: 3, FlushSeq: 200, OpenHour: 472_222, Rings: []uint64{0, 1 << 40}}
	goldenSweep     = Sweep{FirstDay: 29_465, Stage: StageOwners, Next: 128}
	goldenReceipt   = engine.Receipt{
		Request:     engine.Request{RequestKey: engine.RequestKey{Sender: [32]byte{1}, Key: [32]byte{2}}, Body: [16]byte{1, 2, 15: 0xff}},
		CreatedAtMs: 1_700_000_000_002, Hits: goldenCold.ImportedHits, Existed: true, Link: engine.Record{Hot: goldenHot, Cold: goldenCold},
	}
	goldenBulkReceipt = engine.Receipt{
		Request: goldenReceipt.Request, CreatedAtMs: 1_700_000_000_002, Items: []engine.ReceiptItem{
			{Outcome: engine.OutcomeCreated, ID: 5, Key: keyOf("code")}, {Outcome: engine.OutcomeExisted, ID: 300, Key: engine.Key{Domain: 300, Code: "a"}},
			{Outcome: engine.OutcomeTaken}, {Outcome: engine.OutcomeRefused},
		},
	}
	goldenMark  = Mark{Hour: 472_222, Stage: StageOwners, Next: 128, Ahead: []uint32{472_222, 472_224, 484_222}}
	goldenClock = engine.SeenClock{
		Ran: 300_000, Last: engine.SeenJump{At: 1_700_000_000_002, By: -3_600_000, Ran: 250_000},
		Runs: []engine.SeenRun{
			{From: 1_700_000_000_000, To: 1_700_000_250_000, Until: 250_000, Ahead: 1 - 1_700_000_000_000},
			{From: -5, To: 49_995, Until: 300_000, Ahead: 250_005},
		},
	}
)

// TestFormatsAreAsPinned pins the bytes on disk. A change of one of these literals is a change of a
// format: then its version must change too, and stores in the old format must still open.
func TestFormatsAreAsPinned(t *testing.T) {
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"hot":               {AppendHot(nil, &goldenHot), "01 19 85808080808040 ac02 80a0abfef962 e807 68747470733a2f2f612e622f"},
		"hot, with a start": {AppendHot(nil, &goldenStarting), "01 80 05 07 1a 0108000068e5cf8b010000 020800 687474703a2f2f63 03010002 68747470733a2f2f612e622f"},
		"hot, that decides": {
			AppendHot(nil, &goldenDeciding), "01 80 05 07 35 04010001 051100 02 0400 0800 01000102 687474703a2f2f63" +
				"061a00 03 4600 0800 687474703a2f2f64 04 1e00 0800 687474703a2f2f65 68747470733a2f2f612e622f",
		},
		"cold, that decides":  {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, LastTarget: 42}), "01 04636f6465 02 00 00 07012a"},
		"tombstone":           {AppendHot(nil, &goldenTombstone), "01 20 05 07 82a0abfef962"},
		"cold":                {AppendCold(nil, &goldenCold), "01 04636f6465 02 8080f4f6905d 01 01028101 0202d804 03025469 04050178 02797a 63026162 800100"},
		"cold, with days":     {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, ImportedHits: 300, Daily: daily.Pack([]daily.Hits{{Day: 300, Hits: 1}, {Day: 301, Hits: 200}}), DailyOwner: 129}), "01 04636f6465 02 00 00 0102ac02 0b08 8101 ac0201 01c801"},
		"cold, not imported":  {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, ImportedHits: 1}), "01 04636f6465 02 00 00 010101"},
		"cold, in a folder":   {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, LastTarget: 42, Folder: 300, Newer: "\x63\x01a"}), "01 04636f6465 02 00 00 07012a 0c02ac02 630161"},
		"cold, to reuse":      {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, LastTarget: 42, Reuse: true, Newer: "\x63\x01a"}), "01 04636f6465 02 00 00 07012a 080101 630161"},
		"cold, locked":        {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, Password: aHash}), "01 04636f6465 02 00 00 0912246172676f6e32696424763d313924786162"},
		"cold, with a card":   {AppendCold(nil, &engine.Cold{Key: keyOf("code"), Version: 2, Reuse: true, Card: engine.Card{Title: "T", Description: "d", Image: "http://i/"}}), "01 04636f6465 02 00 00 080101 0a0e 0154 0164 09687474703a2f2f692f"},
		"cold, elsewhere":     {AppendCold(nil, &engine.Cold{Key: engine.Key{Domain: 300, Code: "code"}, Tags: []string{"x"}}), "01 04636f6465 00 00 00 04020178 0502ac02"},
		"index":               {AppendIndexValue(nil, &goldenEntry), "01 00 04636f6465 48 8080f4f6905d 04 80a0abfef962 780079"},
		"index, elsewhere":    {AppendIndexValue(nil, &engine.LinkEntry{KeyView: engine.KeyView{Domain: 300, Code: []byte("code")}, Text: []byte("x"), TextByOwner: true}), "01 ac02 04636f6465 80 00 00"},
		"deletion, elsewhere": {AppendDeletion(nil, engine.Key{Domain: 300, Code: "aZ"}, 0), "01 ac02 02 615a"},
		"summary":             {AppendSummary(nil, Summary{Visitors: 300, LastHour: 472_222}), "01 ac02 9ee91c"},
		"deletion, emptied":   {AppendDeletion(nil, keyOf("aZ"), 300), "01 00 02 615a ac02"},
		"trashed":             {AppendTrashed(nil, &engine.Hot{Key: engine.Key{Domain: 300, Code: "aZ"}, ID: 5, Owner: 7, Target: "h"}), "01 ac02 02 615a 01 00 05 07 68"},
		"deletion":            {AppendDeletion(nil, keyOf("aZ"), 0), "01 00 02 615a"},
		"positions":           {AppendPositions(nil, &goldenPositions), "01 03 c801 9ee91c 02 00 808080808020"},
		"mark":                {AppendMark(nil, &goldenMark), "01 9ee91c 01 8001 03 00 02 de5d"},
		"first mark":          {AppendMark(nil, &Mark{}), "01 00 00 00"},
		"mark, none ahead":    {AppendMark(nil, &Mark{Hour: goldenMark.Hour, Stage: goldenMark.Stage, Next: goldenMark.Next}), "01 9ee91c 01 8001"},
		"clock":               {AppendClock(nil, &goldenClock), "01 c0cf24 84a0abfef962 ffb9b703 a0c21e 02 80a0abfef962 a0c21e a0c21e 02 09 a08d06 c0cf24 a0c21e"},
		"sweep":               {AppendSweep(nil, goldenSweep), "01 99e601 01 8001"},
		"log":                 {AppendLogPosition(nil, LogPosition{Cluster: [16]byte{5}, Sequence: 300, Epoch: 7, Hash: [32]byte{31: 9}}), "01 05" + strings.Repeat(" 00", 15) + " ac02 07" + strings.Repeat(" 00", 31) + " 09"},
		"log for edges": {
			AppendEdgeLog(nil, &EdgeLog{LogPosition{Cluster: [16]byte{5}, Sequence: 300, Epoch: 7, Hash: [32]byte{31: 9}}, 299, 129}),
			"01 05" + strings.Repeat(" 00", 15) + " ac02 07" + strings.Repeat(" 00", 31) + " 09 ab02 8101",
		},
		"edge": {AppendEdge(nil, [][16]byte{{1}, {15: 2}}), "01 01" + strings.Repeat("00", 15) + strings.Repeat("00", 15) + "02"},
		"receipt": {
			AppendReceipt(nil, &goldenReceipt, &goldenHot, &goldenCold), "01 84a0abfef962 010200000000000000000000000000ff 01 " +
				"1f 01 19 85808080808040 ac02 80a0abfef962 e807 68747470733a2f2f612e622f " +
				"01 04636f6465 02 8080f4f6905d 01 01028101 0202d804 03025469 04050178 02797a 63026162 800100",
		},
		"bulk receipt": {
			AppendBulkReceipt(nil, &goldenBulkReceipt), "01 84a0abfef962 010200000000000000000000000000ff 02 04 " +
				"00 05 0004636f6465 01 ac02 ac020161 02 03",
		},
		"time zone": {AppendZone(nil, "Europe/Berlin"), "01 4575726f70652f4265726c696e"},
		"base URL":  {AppendBaseURL(nil, "https://sho.rt"), "01 68747470733a2f2f73686f2e7274"},
		"outbox record": {
			outboxOf(goldenOutboxHead, goldenOutboxRows...), "01 ac02 82d095ffbc31 07 " +
				"31 9ee91c 07 03 010105  30 9ee91c ac02 04 01018501 00 01 03 010105  30 9fe91c 01 03 010105  30 9fe91c 00 03 010105  120d0469",
		},
		"outbox":   {AppendOutboxState(nil, goldenOutboxState), "01 010000000000000000000000000000ff 03 05 c801 0900000000000008 01"},
		"pulled":   {AppendPulled(nil, goldenPulled), "01 ac02 0700000000000006"},
		"sequence": {AppendSequence(nil, Sequence{Count: 3, Last: 300}), "01 03 ac02"},
		"swept":    {AppendSweep(nil, Sweep{FirstDay: 1, Stage: StageDone}), "01 01 02 00"},
	} {
		wantBytes(t, name, c.got, c.want)
	}
}

func wantBytes(t *testing.T, name string, got []byte, hexWant string) {
	t.Helper()
	expect.Slices(t, got, unhex(t, hexWant), name)
}

// unhex decodes hexadecimal digits, ignoring spaces.
func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	expect.OK(t, err)
	return b
}

func genText(limit int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, "bytes"))
	})
}

// genDomain is often the default one.
var genDomain = rapid.Custom(func(t *rapid.T) engine.Domain {
	return engine.Domain(rapid.Uint16().Draw(t, "domain"))
})

func genHot() *rapid.Generator[engine.Hot] {
	return rapid.Custom(func(t *rapid.T) engine.Hot {
		h := engine.Hot{
			Key: engine.Key{Domain: genDomain.Draw(t, "domain"), Code: "code"}, ID: rapid.Uint64().Draw(t, "id"), Owner: rapid.Uint32().Draw(t, "owner"),
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
			h.Extras = string((&extras.Fields{StartsAtMs: rapid.Int64Min(0).Draw(t, "starts"), ExpiredURL: genText(300).Draw(t, "expired URL")}).Append(nil))
		}
		return h
	})
}

// aHash has the form of a hash.
const aHash = "$argon2id$v=19$xab"

func genCold() *rapid.Generator[engine.Cold] {
	return rapid.Custom(func(t *rapid.T) engine.Cold {
		c := engine.Cold{
			Key:         engine.Key{Domain: genDomain.Draw(t, "domain"), Code: genText(engine.MaxCodeBytes).Draw(t, "code")},
			Version:     rapid.Uint64().Draw(t, "version"),
			CreatedAtMs: rapid.Int64().Draw(t, "created"), UpdatedAtMs: rapid.Int64().Draw(t, "updated"),
			ImportedHits: rapid.Uint64().Draw(t, "imported"), LastTarget: rapid.Uint8().Draw(t, "last target"),
			Folder: rapid.Uint32Range(0, 300).Draw(t, "folder"),
			Reuse:  rapid.Bool().Draw(t, "reuse"), Password: rapid.SampledFrom([]string{"", aHash}).Draw(t, "password"),
		}
		if title := genText(engine.MaxCardTitleBytes).Draw(t, "card"); title != "" {
			c.Card = engine.Card{Title: title, Description: genText(300).Draw(t, "description"), Image: genText(300).Draw(t, "image")}
		}
		for _, text := range texts.All() { // each has a number
			*c.Text(text.Name) = genText(text.Max).Draw(t, text.Name)
		}
		if c.ImportedHits > 0 {
			c.ImportedAtMs = rapid.Int64().Draw(t, "imported at")
		}
		if hits := c.ImportedHits; hits > 2 && rapid.Bool().Draw(t, "has days") {
			c.Daily = daily.Pack([]daily.Hits{{Day: rapid.Uint32Range(1, 50_000).Draw(t, "day"), Hits: hits / 2}, {Day: 60_000, Hits: hits / 2}})
			c.DailyOwner = rapid.Uint32().Draw(t, "owner of days")
		}
		if tags := rapid.SliceOfN(genText(engine.MaxTagBytes), 0, engine.MaxTags).Draw(t, "tags"); len(tags) > 0 {
			c.Tags = tags
		}
		if newer := genText(300).Draw(t, "newer"); newer != "" {
			c.Newer = string(appendField(nil, rapid.Uint64Min(coldKnown).Draw(t, "field"), newer))
		}
		return c
	})
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hot := genHot().Draw(t, "hot")
		view, err := DecodeHot(hot.View(), AppendHot(nil, &hot))
		if got := OwnHot(&view); err != nil || got != hot {
			t.Fatalf("hot: got %+v, %v, want %+v", got, err, hot)
		}
		cold := genCold().Draw(t, "cold")
		if hits, atMs, err := ImportOf(AppendCold(nil, &cold)); err != nil || hits != cold.UndatedHits() || atMs != cold.ImportedAtMs {
			t.Fatalf("import of %+v: got %d at %d, %v", cold, hits, atMs, err)
		}
		if got, err := DecodeCold(AppendCold(nil, &cold)); err != nil || !reflect.DeepEqual(got, cold) {
			t.Fatalf("cold: got %+v, %v, want %+v", got, err, cold)
		}
		receipt := engine.Receipt{
			Request:     engine.Request{RequestKey: goldenReceipt.RequestKey, Body: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "body"))},
			CreatedAtMs: rapid.Int64().Draw(t, "at"), Existed: rapid.Bool().Draw(t, "existed"), Link: engine.Record{Hot: hot, Cold: cold},
			Hits: rapid.Uint64().Draw(t, "hits"),
		}
		receipt.Link.Hot.Key, receipt.Link.Cold.ImportedHits = cold.Key, receipt.Hits
		receipt.Link.Cold.Password = "" // it is nobody's but the link's
		receipt.Link.Cold.Daily, receipt.Link.Cold.DailyOwner = "", 0
		got, err := DecodeReceipt(receipt.RequestKey, AppendReceipt(nil, &receipt, &hot, &cold))
		expect.MustThat(t, err == nil && reflect.DeepEqual(got, receipt), "receipt: got %+v, %v, want %+v", got, err, receipt)
		entry := engine.LinkEntry{
			KeyView: engine.Key{Domain: genDomain.Draw(t, "domain"), Code: genText(engine.MaxCodeBytes).Draw(t, "code")}.View(), Flags: hot.Flags & indexFlags,
			CreatedAtMs: rapid.Int64().Draw(t, "created"), UpdatedAtMs: rapid.Int64().Draw(t, "updated"), Text: []byte(genText(600).Draw(t, "text")),
		}
		if entry.Flags&engine.FlagExpires != 0 {
			entry.ExpiresAtMs = rapid.Int64().Draw(t, "expires")
		}
		entry.StartsAtMs = rapid.Int64Min(0).Draw(t, "starts")
		if entry.TextByOwner = rapid.Bool().Draw(t, "by owner"); entry.TextByOwner {
			entry.Text = []byte{}
		}
		var read engine.LinkEntry
		err = ReadIndexValue(&read, AppendIndexValue(nil, &entry))
		expect.MustThat(t, err == nil && fmt.Sprint(read) == fmt.Sprint(entry), "index: got %+v, %v, want %+v", read, err, entry)
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
		got, err := DecodePositions(AppendPositions(nil, &p))
		expect.MustThat(t, err == nil && reflect.DeepEqual(got, p), "positions: got %+v, %v, want %+v", got, err, p)
		m := Mark{Hour: rapid.Uint32Max(1<<31).Draw(t, "hour"), Stage: Stage(rapid.IntRange(0, 1).Draw(t, "stage")), Next: rapid.Uint64().Draw(t, "next")}
		at := m.Hour
		for _, step := range rapid.SliceOfN(rapid.Uint32Range(1, 1<<20), 0, 64).Draw(t, "ahead") {
			at += step
			m.Ahead = append(m.Ahead, at)
		}
		if got, err := DecodeMark(AppendMark(nil, &m)); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("mark: got %+v, %v, want %+v", got, err, m)
		}
		w := Sweep{rapid.Uint32().Draw(t, "day"), Stage(rapid.IntRange(0, 1).Draw(t, "stage")), rapid.Uint64().Draw(t, "next")}
		if got, err := DecodeSweep(AppendSweep(nil, w)); err != nil || got != w {
			t.Fatalf("sweep: got %+v, %v, want %+v", got, err, w)
		}
	})
}

// TestMalformedValuesAreRefusedAsCorrupt reads its cases from testdata; -rewrite writes why they are refused now.
func TestMalformedValuesAreRefusedAsCorrupt(t *testing.T) {
	datadriven.RunTest(t, "testdata/malformed.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			digits, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t# ")
			value := unhex(t, repeated(t, digits))
			_, err := codecs[d.Cmd](value)
			expect.Error(t, err, ErrCorrupt, name)
			checkErr := CheckTally(value)
			expect.That(t, d.Cmd != "tally" || errors.Is(checkErr, ErrCorrupt), "%s: CheckTally: got %v, want ErrCorrupt", name, checkErr)
			fmt.Fprintf(&out, "%s: %v\n", name, err)
		}
		return out.String()
	})
}

// repeated writes out what a case repeats, such as 61*3, and leaves "-" out.
func repeated(t *testing.T, digits string) string {
	words := strings.Fields(digits)
	for i, word := range words {
		if what, times, ok := strings.Cut(word, "*"); ok {
			n, err := strconv.Atoi(times)
			expect.OK(t, err)
			words[i] = strings.Repeat(what, n)
		}
	}
	return strings.Trim(strings.Join(words, ""), "-")
}

// fuzzCodec decodes arbitrary bytes: nothing may panic, every error is ErrCorrupt, and an accepted
// value is encoded to the same bytes.
func fuzzCodec(f *testing.F, name string, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
		f.Add(append(slices.Clone(seed), 0))
		f.Add(seed[:len(seed)/2])
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		again, err := codecs[name](v)
		expect.MustThat(t, err == nil || errors.Is(err, ErrCorrupt), "%s %x: got %v, want ErrCorrupt", name, v, err)
		expect.MustThat(t, err != nil || slices.Equal(again, v), "%s: %x was taken, and is %x again", name, v, again)
	})
}

func FuzzHot(f *testing.F) {
	fuzzCodec(f, "hot", AppendHot(nil, &goldenHot), AppendHot(nil, &goldenTombstone), AppendHot(nil, &goldenStarting))
}

func FuzzCold(f *testing.F) { fuzzCodec(f, "cold", AppendCold(nil, &goldenCold)) }

func FuzzIndexValue(f *testing.F) {
	fuzzCodec(f, "index", AppendIndexValue(nil, &goldenEntry))
}

func FuzzSummary(f *testing.F) {
	fuzzCodec(f, "summary", AppendSummary(nil, Summary{Visitors: 300, LastHour: 472_222}), AppendSummary(nil, Summary{}))
}

func FuzzTrashed(f *testing.F) {
	fuzzCodec(f, "trashed", AppendTrashed(nil, &engine.Hot{Key: keyOf("aZ"), ID: 5, Owner: 7, Target: "h"}))
}

func FuzzDeletion(f *testing.F) { fuzzCodec(f, "deletion", AppendDeletion(nil, keyOf("aZ"), 0)) }

func FuzzPositions(f *testing.F) { fuzzCodec(f, "positions", AppendPositions(nil, &goldenPositions)) }

func FuzzMark(f *testing.F) { fuzzCodec(f, "mark", AppendMark(nil, &goldenMark)) }

func FuzzClock(f *testing.F) { fuzzCodec(f, "clock", AppendClock(nil, &goldenClock)) }

func FuzzOutboxState(f *testing.F) {
	fuzzCodec(f, "outbox", AppendOutboxState(nil, goldenOutboxState), AppendOutboxState(nil, OutboxState{First: 1, Next: 1}))
}

func FuzzPulled(f *testing.F) { fuzzCodec(f, "pulled", AppendPulled(nil, goldenPulled)) }

func FuzzZone(f *testing.F)    { fuzzCodec(f, "time-zone", AppendZone(nil, "Europe/Berlin")) }
func FuzzBaseURL(f *testing.F) { fuzzCodec(f, "base-URL", AppendBaseURL(nil, "https://sho.rt")) }

func FuzzReceipt(f *testing.F) {
	tombstone := goldenTombstone
	fuzzCodec(f, "receipt", AppendReceipt(nil, &goldenReceipt, &goldenHot, &goldenCold),
		AppendReceipt(nil, &engine.Receipt{}, &tombstone, &engine.Cold{}), AppendBulkReceipt(nil, &goldenBulkReceipt))
}

func FuzzSweep(f *testing.F) {
	fuzzCodec(f, "sweep", AppendSweep(nil, goldenSweep), AppendSweep(nil, Sweep{Stage: StageDone}))
}
