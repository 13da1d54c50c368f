package row

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row/rowtest"
)

// TestKeysAreAsPinned pins the keys on disk, as TestFormatsAreAsPinned pins the values.
func TestKeysAreAsPinned(t *testing.T) {
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"meta":           {MetaKey(MetaPositions), "10 70"},
		"sequence":       {MetaKey(MetaSequence), "10 71"},
		"time zone":      {MetaKey(MetaZone), "10 7a"},
		"base URL":       {MetaKey(MetaBaseURL), "10 62"},
		"last backup":    {MetaKey(MetaLastBackup), "10 6b"},
		"log":            {MetaKey(MetaLog), "10 6c"},
		"outbox":         {MetaKey(MetaOutbox), "10 6f"},
		"clock":          {MetaKey(MetaClock), "10 63"},
		"edge":           {MetaKey(MetaEdge), "10 65"},
		"log for edges":  {MetaKey(MetaEdgeLog), "10 77"},
		"edge's entry":   {AppendEdgeEntryKey(nil, 0x0102), "72 0000000000000102"},
		"an edge":        {AppendEdgeKey(nil, "ab"), "73 6162"},
		"hot":            {AppendHotKey(nil, keyOf("aZ")), "20 0000 615a"},
		"hot, elsewhere": {AppendHotKey(nil, engine.Key{Domain: 300, Code: "aZ"}), "20 012c 615a"},
		"cold":           {AppendColdKey(nil, 0x0102), "21 0000000000000102"},
		"by owner":       {AppendByOwnerKey(nil, 7, 1), "22 00000007 fffffffffffffffe"},
		"by tag":         {AppendByTagKey(nil, 7, "ab", 1), "23 00000007 6162 00 fffffffffffffffe"},
		"by tag, folded": {AppendByTagKey(nil, 7, "StraẞE", 1), "23 00000007 73747261c39f65 00 fffffffffffffffe"},
		"by deletion":    {AppendByDeletionKey(nil, 0x0102, 3), "24 00000102 0000000000000003"},
		"leaving":        {AppendLeavingKey(nil, 0x0102, 3), "28 00000102 0000000000000003"},
		"trash":          {AppendTrashKey(nil, 0x0102, engine.TrashPlace{DeletedAtMs: 0x0304, ID: 5}), "27 00000102 7ffffffffffffcfb fffffffffffffffa"},
		"trash of 1969":  {AppendTrashKey(nil, 0x0102, engine.TrashPlace{DeletedAtMs: -1, ID: 5}), "27 00000102 8000000000000000 fffffffffffffffa"},
		"reuse":          {AppendReuseKey(nil, 0x0102, 0x0304, 5), "26 00000102 0000000000000304 fffffffffffffffa"},
		"link hours":     {AppendLinkHourKey(nil, 0x0102, 3), "30 00000102 0000000000000003"},
		"owner hours":    {AppendOwnerHourKey(nil, 0x0102, 3), "31 00000102 00000003"},
		"link days":      {AppendLinkDayKey(nil, 3, 0x0102), "32 0000000000000003 00000102"},
		"link lives":     {AppendLinkLifeKey(nil, 3), "33 0000000000000003"},
		"owner days":     {AppendOwnerDayKey(nil, 3, 0x0102), "34 00000003 00000102"},
		"imports":        {AppendImportKey(nil, 3, 0x0102), "35 00000003 00000102"},
		"summary":        {AppendSummaryKey(nil, 1), "36 fffffffffffffffe"},
		"summary, due":   {AppendSummaryDueKey(nil, 0x0102, 3), "37 00000102 0000000000000003"},
		"receipt": {
			AppendReceiptKey(nil, &engine.RequestKey{Sender: [32]byte{1}, Key: [32]byte{31: 2}}),
			"40 01" + strings.Repeat("00", 62) + "02",
		},
		"audit":  {AppendAuditKey(nil, 0x0102), "60 0000000000000102"},
		"posted": {AppendOutboxKey(nil, 0x0102), "70 0000000000000102"},
		"pulled": {AppendPulledKey(nil, [16]byte{1, 15: 2}), "71 01" + strings.Repeat("00", 14) + "02"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
		expect.That(t, err == nil && bytes.Equal(c.got, want), "%s: got %x, want %x", name, c.got, want)
	}
}

func TestHotKeysSortAsKeysDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) engine.Key {
			return engine.Key{Domain: genDomain.Draw(t, name+" domain"), Code: genText(engine.MaxCodeBytes-1).Draw(t, name+" code") + "."}
		}
		a, b := draw("a"), draw("b")
		x, y := AppendHotKey(nil, a), AppendHotKey(nil, b)
		got, err := SplitHotKey(x)
		expect.MustThat(t, err == nil && got.Own() == a, "%x: got %v, %v, want %v", x, got, err, a)
		expect.MustEqual(t, bytes.Compare(x, y), a.Compare(b), "%x and %x are not in the order of %v and %v", x, y, a, b)
	})
}

func FuzzHotKey(f *testing.F) {
	f.Add(AppendHotKey(nil, engine.Key{Domain: 300, Code: "aZ"}))
	f.Add([]byte{TableHot, 0, 0})
	f.Add([]byte{TableCold, 0, 0, 'a'})
	f.Fuzz(func(t *testing.T, key []byte) {
		k, err := SplitHotKey(key)
		expect.That(t, err != nil || bytes.Equal(AppendHotKey(nil, k.Own()), key), "%x is read as %v, which is written in another way", key, k)
	})
}

func TestHourKeysSortByHourAndThenByLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours := rapid.SliceOfN(rapid.Uint32(), 2, 2).Draw(t, "hours")
		ids := rapid.SliceOfN(rapid.Uint64(), 2, 2).Draw(t, "ids")
		a, b := AppendLinkHourKey(nil, hours[0], ids[0]), AppendLinkHourKey(nil, hours[1], ids[1])
		want := cmp.Or(cmp.Compare(hours[0], hours[1]), cmp.Compare(ids[0], ids[1]))
		expect.MustEqual(t, bytes.Compare(a, b), want)
		if id, err := HourSuffix(a); err != nil || id != ids[0] || HourOf(a) != hours[0] {
			t.Fatalf("got hour %d, id %d, %v", HourOf(a), id, err)
		}
	})
}

func TestAKeyOfWrongLengthIsCorrupt(t *testing.T) {
	for _, key := range [][]byte{{TableLinkHours}, AppendLinkHourKey(nil, 1, 2)[:12], AppendLinkDayKey(nil, 1, 2)} {
		expect.Error(t, expect.Err(HourSuffix(key)), ErrCorrupt, "%x", key)
	}
}

func TestTheRangeOfAPrefixEndsAfterItsLastKey(t *testing.T) {
	r := PrefixRange([]byte{0x30, 0xff, 0xff})
	expect.That(t, bytes.Equal(r.Lower, []byte{0x30, 0xff, 0xff}) && bytes.Equal(r.Upper, []byte{0x31}), "got %x", r)
}

// tallyTuple splits a key of a table of hours. An accepted key must equal the key made from its
// parts.
func tallyTuple(t *testing.T, key []byte) (tuple [3]uint64, ok bool) {
	t.Helper()
	suffix, err := HourSuffix(key)
	if err != nil {
		expect.MustError(t, err, ErrCorrupt, "%x", key)
		return tuple, false
	}
	hour := HourOf(key)
	again := AppendOwnerHourKey(nil, hour, uint32(suffix))
	if key[0] == TableLinkHours {
		again = AppendLinkHourKey(nil, hour, suffix)
	}
	apart := AppendSuffix(AppendHourPrefix(nil, key[0], hour), key[0], suffix)
	expect.MustThat(t, bytes.Equal(again, key) && bytes.Equal(apart, key), "%x was taken, and is %x or %x again", key, again, apart)
	return [3]uint64{uint64(key[0]), uint64(hour), suffix}, true
}

// FuzzHourKey splits any two keys: accepted keys sort as their parts do.
func FuzzHourKey(f *testing.F) {
	a, b := AppendLinkHourKey(nil, 472_222, 1<<48|5), AppendOwnerHourKey(nil, 472_222, 7)
	for _, other := range [][]byte{
		b, AppendLinkHourKey(nil, 472_223, 0), AppendOwnerHourKey(nil, 0, 1<<32-1), AppendLinkDayKey(nil, 5, 19_675), a[:12], {},
		append(bytes.Clone(b), make([]byte, 4)...),
	} {
		f.Add(a, other)
		f.Add(other, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, okX := tallyTuple(t, a)
		y, okY := tallyTuple(t, b)
		want, got := slices.Compare(x[:], y[:]), bytes.Compare(a, b)
		expect.MustThat(t, !okX || !okY || got == want, "%x and %x sort by %d, and what they hold by %d", a, b, got, want)
	})
}

// FuzzDayKey splits any key as one of a table of days.
func FuzzDayKey(f *testing.F) {
	for _, key := range [][]byte{
		AppendLinkDayKey(nil, 1<<48|5, 19_675), AppendOwnerDayKey(nil, 7, 19_675), AppendLinkHourKey(nil, 472_222, 5), {},
	} {
		f.Add(key)
		f.Add(append(bytes.Clone(key), 0))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		id, day, err := SplitDayKey(key)
		if err != nil {
			expect.MustError(t, err, ErrCorrupt, "%x", key)
			return
		}
		again := AppendDayKey(nil, key[0], id, day)
		expect.MustThat(t, bytes.Equal(again, key), "%x was taken, and is %x again", key, again)
	})
}

// FuzzLinkOf reads a link id from any key, as a load does.
func FuzzLinkOf(f *testing.F) {
	for _, key := range [][]byte{
		AppendLinkLifeKey(nil, 1<<48|5), AppendLinkHourKey(nil, 472_222, 5), AppendLinkDayKey(nil, 5, 19_675),
		AppendOwnerHourKey(nil, 472_222, 7), {TableLinkHours, 0, 0, 0, 1, 0, 0, 0, 5}, {},
	} {
		f.Add(key)
		f.Add(append(bytes.Clone(key), 0))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		id, err := LinkOf(key)
		if err != nil {
			expect.MustError(t, err, ErrCorrupt, "%x", key)
			return
		}
		again := AppendLinkLifeKey(nil, id)
		if key[0] == TableLinkHours {
			again = AppendLinkHourKey(nil, HourOf(key), id)
		}
		expect.MustThat(t, bytes.Equal(again, key), "%x was taken, and is %x again", key, again)
	})
}

// FuzzRequestOf splits any key as one of a receipt.
func FuzzRequestOf(f *testing.F) {
	key := AppendReceiptKey(nil, &engine.RequestKey{Sender: [32]byte{1, 2}, Key: [32]byte{3, 4}})
	for _, key := range [][]byte{key, key[:64], append(bytes.Clone(key), 0), {TableReceipts}, {}} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		k, err := SplitReceiptKey(key)
		if err != nil {
			expect.MustError(t, err, ErrCorrupt, "%x", key)
			return
		}
		again := AppendReceiptKey(nil, &k)
		expect.MustThat(t, bytes.Equal(again, key), "%x was taken, and is %x again", key, again)
	})
}

// FuzzByDeletionKey splits any key as one of the index by deletion.
func FuzzByDeletionKey(f *testing.F) {
	f.Add(AppendByDeletionKey(nil, 472_222, 1<<48|5))
	f.Add(AppendByDeletionKey(nil, 472_222, 5)[:12])
	f.Add(AppendLinkHourKey(nil, 472_222, 5))
	f.Fuzz(func(t *testing.T, key []byte) {
		hour, id, err := SplitByDeletionKey(key)
		if err != nil {
			expect.MustError(t, err, ErrCorrupt, "%x", key)
			return
		}
		again := AppendByDeletionKey(nil, hour, id)
		if key[0] == TableLeaving {
			again = AppendLeavingKey(nil, hour, id)
		}
		expect.MustThat(t, bytes.Equal(again, key), "%x was taken, and is %x again", key, again)
	})
}

// FuzzTrashKey splits any key as one of the trash.
func FuzzTrashKey(f *testing.F) {
	f.Add(AppendTrashKey(nil, 7, engine.TrashPlace{DeletedAtMs: -1, ID: 5}))
	f.Add(AppendTrashKey(nil, 7, engine.TrashPlace{DeletedAtMs: 1_700_000_000_000, ID: 5})[:20])
	f.Fuzz(func(t *testing.T, key []byte) {
		owner, at, err := SplitTrashKey(key)
		if err != nil {
			expect.MustError(t, err, ErrCorrupt, "%x", key)
			return
		}
		again := AppendTrashKey(nil, owner, at)
		expect.MustThat(t, bytes.Equal(again, key), "%x was taken, and is %x again", key, again)
	})
}

// FuzzOutboxKeys splits any key as one of the outbox, and as one of a position in another outbox.
func FuzzOutboxKeys(f *testing.F) {
	for _, key := range [][]byte{AppendOutboxKey(nil, 1<<40), AppendPulledKey(nil, [16]byte{1, 15: 2}), AppendColdKey(nil, 5), {}} {
		f.Add(key)
		f.Add(append(bytes.Clone(key), 0))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		position, err := SplitOutboxKey(key)
		expect.MustThat(t, err != nil || bytes.Equal(AppendOutboxKey(nil, position), key), "%x was taken as position %d", key, position)
		outbox, pulledErr := SplitPulledKey(key)
		expect.MustThat(t, pulledErr != nil || bytes.Equal(AppendPulledKey(nil, outbox), key), "%x was taken as outbox %x", key, outbox)
		for _, err := range []error{err, pulledErr} {
			expect.MustThat(t, err == nil || errors.Is(err, ErrCorrupt), "%x: got %v, want ErrCorrupt", key, err)
		}
	})
}

// fields are the parts of keys; each table uses some of them.
type fields struct {
	number uint32 // an hour, a day or an owner
	id     uint64 // a link's, or, cut to 32 bits, an owner
	text   string // a code or a tag
}

// tag returns the text without zero bytes, which no tag has.
func (x fields) tag() string { return strings.ReplaceAll(x.text, "\x00", "") }

// place returns a place in the trash, of a time before 1970 or after it.
func (x fields) place() engine.TrashPlace {
	return engine.TrashPlace{DeletedAtMs: int64(len(x.text)-2) * int64(x.id>>1), ID: x.id}
}

// tableOrders are the keys of each table and the order that keys.go promises for them.
var tableOrders = map[string]struct {
	key     func(x fields) []byte
	compare func(a, b fields) int
}{
	"hot":  {func(x fields) []byte { return AppendHotKey(nil, keyOf(x.text)) }, func(a, b fields) int { return cmp.Compare(a.text, b.text) }},
	"cold": {func(x fields) []byte { return AppendColdKey(nil, x.id) }, func(a, b fields) int { return cmp.Compare(a.id, b.id) }},
	"by owner": {func(x fields) []byte { return AppendByOwnerKey(nil, x.number, x.id) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(b.id, a.id))
	}},
	"by tag": {func(x fields) []byte { return AppendByTagKey(nil, x.number, x.tag(), x.id) }, func(a, b fields) int {
		byTag := cmp.Compare(engine.FoldTag(a.tag()), engine.FoldTag(b.tag()))
		return cmp.Or(cmp.Compare(a.number, b.number), byTag, cmp.Compare(b.id, a.id))
	}},
	"by deletion": {func(x fields) []byte { return AppendByDeletionKey(nil, x.number, x.id) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
	}},
	"leaving": {func(x fields) []byte { return AppendLeavingKey(nil, x.number, x.id) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
	}},
	"trash": {func(x fields) []byte { return AppendTrashKey(nil, x.number, x.place()) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(b.place().DeletedAtMs, a.place().DeletedAtMs), cmp.Compare(b.id, a.id))
	}},
	"reuse": {func(x fields) []byte { return AppendReuseKey(nil, x.number, uint64(len(x.text)), x.id) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(len(a.text), len(b.text)), cmp.Compare(b.id, a.id))
	}},
	"link hours": {func(x fields) []byte { return AppendLinkHourKey(nil, x.number, x.id) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
	}},
	"owner hours": {func(x fields) []byte { return AppendOwnerHourKey(nil, x.number, uint32(x.id)) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(uint32(a.id), uint32(b.id)))
	}},
	"link days": {func(x fields) []byte { return AppendLinkDayKey(nil, x.id, x.number) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.number, b.number))
	}},
	"link lives": {func(x fields) []byte { return AppendLinkLifeKey(nil, x.id) }, func(a, b fields) int { return cmp.Compare(a.id, b.id) }},
	"outbox":     {func(x fields) []byte { return AppendOutboxKey(nil, x.id) }, func(a, b fields) int { return cmp.Compare(a.id, b.id) }},
	"owner days": {func(x fields) []byte { return AppendOwnerDayKey(nil, uint32(x.id), x.number) }, func(a, b fields) int {
		return cmp.Or(cmp.Compare(uint32(a.id), uint32(b.id)), cmp.Compare(a.number, b.number))
	}},
}

// FuzzKeyOrder makes two keys of each table: they sort as their parts do, and are equal only if
// their parts are.
func FuzzKeyOrder(f *testing.F) {
	f.Add(uint32(7), uint64(5), "tag", uint32(7), uint64(6), "tag")
	f.Add(uint32(7), uint64(5), "tag", uint32(7), uint64(5), "tags")
	f.Add(uint32(1), uint64(1<<32|1), "", uint32(1), uint64(1), "\x00")
	f.Add(uint32(255), ^uint64(0), "b", uint32(256), uint64(0), "aa")
	f.Add(uint32(0), uint64(255), "\xff", ^uint32(0), uint64(256), strings.Repeat("\xff", 255))
	f.Fuzz(func(t *testing.T, numberA uint32, idA uint64, textA string, numberB uint32, idB uint64, textB string) {
		a := fields{numberA, idA, textA[:min(len(textA), 255)]}
		b := fields{numberB, idB, textB[:min(len(textB), 255)]}
		for table, order := range tableOrders {
			keyA, keyB := order.key(a), order.key(b)
			got, want := bytes.Compare(keyA, keyB), order.compare(a, b)
			expect.That(t, got == want, "%s: %x and %x sort by %d, and what they hold by %d", table, keyA, keyB, got, want)
		}
		list := AppendByTagKey(nil, a.number, a.tag(), a.id)
		list = list[:len(list)-8]
		inList := bytes.HasPrefix(AppendByTagKey(nil, b.number, b.tag(), b.id), list)
		expect.Equal(t, inList, a.number == b.number && engine.FoldTag(a.tag()) == engine.FoldTag(b.tag()), "%+v in the list of tag %q of owner %d", b, a.text, a.number)
	})
}

// FuzzPrefixRange looks up any key in the range of any prefix: the range contains the keys with
// that prefix and no others.
func FuzzPrefixRange(f *testing.F) {
	f.Add([]byte{TableAccounts}, []byte{TableAccounts, 0xff, 0xff})
	f.Add([]byte{TableAccounts}, []byte{TableAccounts + 1})
	f.Add([]byte{TableLinkHours, 0xff, 0xff}, []byte{TableLinkHours, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{TableLinkHours, 0xff, 0xff}, []byte{TableOwnerHours})
	f.Add([]byte{TableLinkHours, 0, 1}, []byte{TableLinkHours, 0, 0, 0xff})
	f.Fuzz(func(t *testing.T, prefix, key []byte) {
		if len(bytes.Trim(prefix, "\xff")) == 0 {
			t.Skip("no prefix that a table has")
		}
		before := bytes.Clone(prefix)
		r := PrefixRange(prefix)
		expect.MustEqual(t, bytes.Compare(r.Lower, key) <= 0 && bytes.Compare(key, r.Upper) < 0, bytes.HasPrefix(key, prefix), "%x in the range of %x", key, prefix)
		expect.MustThat(t, bytes.Equal(prefix, before) && bytes.Equal(r.Lower, before), "the range of %x begins with %x", before, r.Lower)
	})
}

// keyOf returns the key of a code in the default domain.
var keyOf = rowtest.Key
