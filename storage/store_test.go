package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/expect"
	"shunt/engine/texts"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

func TestALinkIsReadAsItWasApplied(t *testing.T) {
	s := openTemp(t)
	rec := rowtest.Link("promo", 1, 7, "spring", "sale")
	rec.Hot.Flags = engine.FlagExpires | engine.FlagCapped | engine.FlagForwardQuery | 3
	rec.Hot.ExpiresAtMs, rec.Hot.MaxHits, rec.Cold.ImportedHits = 5000, 10, 4
	rec.SetStart(time.UnixMilli(4000))
	rec.SetExpiredURL("https://example.com/after")
	rec.SetQuery(engine.ForwardOverride)
	apply(t, s, rowtest.Creation(rec))
	if got, err := s.ReadRecord(keyOf("promo")); err != nil || !reflect.DeepEqual(got, rec) {
		t.Errorf("got %+v, %v, want %+v", got, err, rec)
	}
	_, err := s.ReadRecord(keyOf("Promo"))
	expect.Error(t, err, engine.ErrNotFound, "another code")
}

func TestATombstoneKeepsTheColdRecord(t *testing.T) {
	s := openTemp(t)
	rec := rowtest.Link("gone", 1, 7, "spring")
	apply(t, s, rowtest.Creation(rec))
	apply(t, s, rowtest.Deletion(rec))
	got, err := s.ReadRecord(keyOf("gone"))
	expect.That(t, err == nil && got.Hot.Flags == engine.FlagTombstone && got.Hot.DeletedAtMs == 2000 && got.Hot.Target == "", "got %+v, %v, want a tombstone", got, err)
	expect.That(t, reflect.DeepEqual(got.Cold, rec.Cold), "cold record: got %+v, want %+v", got.Cold, rec.Cold)
}

func TestImportedHitsAreInTheLifeRowOnce(t *testing.T) {
	s := openTemp(t)
	rec := rowtest.Link("old", 9, 7)
	rec.Cold.ImportedHits = 1000
	apply(t, s, rowtest.Creation(rec))
	after := rec
	after.Cold.Version++
	apply(t, s, rowtest.Edit(rec, after))
	wantTally(t, s, 9, &rowtest.Model{Hits: 1000})
	got := hitsOf(t, s)
	expect.That(t, maps.Equal(got, map[uint64]uint64{9: 1000}), "LoadHits: got %v", got)
}

func TestHitsByDayOfAnImportAreInTheRowsOfTheirDaysOnce(t *testing.T) {
	s := openTemp(t)
	rec := rowtest.Link("old", 9, 7)
	rec.Cold.ImportedHits, rec.Cold.ImportedAtMs, rec.Cold.DailyOwner = 1000, 3_600_000*24*400, 7
	rec.Cold.Daily = daily.Pack([]daily.Hits{{Day: 300, Hits: 400}, {Day: 399, Hits: 5}})
	other := rowtest.Link("other", 10, 7)
	other.Cold.ImportedHits, other.Cold.DailyOwner, other.Cold.Daily = 5, 7, daily.Pack([]daily.Hits{{Day: 300, Hits: 5}})
	apply(t, s, rowtest.Creation(rec))
	apply(t, s, rowtest.Creation(other))
	after := rec
	after.Cold.Version, after.Hot.Owner = 2, 8 // another owner gets neither what was counted nor what was imported
	apply(t, s, rowtest.Edit(rec, after))
	for key, want := range map[string]uint64{
		string(row.AppendLinkLifeKey(nil, 9)): 1000, string(row.AppendLinkLifeKey(nil, 10)): 5,
		string(row.AppendLinkDayKey(nil, 9, 300)): 400, string(row.AppendLinkDayKey(nil, 9, 399)): 5, string(row.AppendLinkDayKey(nil, 10, 300)): 5,
		string(row.AppendOwnerDayKey(nil, 7, 300)): 405, string(row.AppendOwnerDayKey(nil, 7, 399)): 5,
		string(row.AppendImportKey(nil, 7, 24*400)): 595, // those without a day
	} {
		value, err := kv.Read(s.db, []byte(key))
		expect.OK(t, err)
		got, err := row.DecodeTallyHits(value)
		expect.That(t, err == nil && got == want, "row %x: got %d hits, %v, want %d", key, got, err, want)
	}
	for _, table := range []byte{row.TableLinkDays, row.TableOwnerDays, row.TableImports} {
		expect.Equal(t, len(rows(t, s, table)), map[byte]int{row.TableLinkDays: 3, row.TableOwnerDays: 2, row.TableImports: 1}[table], "rows of table %x", table)
	}
}

func TestMutationsThatNoRecordCanHoldAreRefused(t *testing.T) {
	s := openTemp(t)
	for name, change := range map[string]func(*engine.Mutation){
		"no code":                func(m *engine.Mutation) { m.Hot.Code, m.Cold.Code = "", "" },
		"unknown flag":           func(m *engine.Mutation) { m.Hot.Flags |= 1 << 7 },
		"long target":            func(m *engine.Mutation) { m.Hot.Target = string(make([]byte, engine.MaxTargetBytes+1)) },
		"tombstone with target":  func(m *engine.Mutation) { m.Hot.Flags = engine.FlagTombstone },
		"another code when cold": func(m *engine.Mutation) { m.Cold.Code = "other" },
		"long title":             func(m *engine.Mutation) { m.Cold.Title = string(make([]byte, texts.Named("title").Max+1)) },
		"more hits by day than all": func(m *engine.Mutation) {
			m.Cold.ImportedHits, m.Cold.Daily = 5, daily.Pack([]daily.Hits{{Day: 3, Hits: 6}})
		},
		"malformed hits by day":        func(m *engine.Mutation) { m.Cold.ImportedHits, m.Cold.Daily = 5, "x" },
		"restored without a tombstone": func(m *engine.Mutation) { m.Trash, m.Before = engine.TrashRestored, &engine.Record{Hot: m.Hot} },
		"restored from nothing":        func(m *engine.Mutation) { m.Trash = engine.TrashRestored },
		"33 tags":                      func(m *engine.Mutation) { m.Cold.Tags = make([]string, engine.MaxTags+1) },
		"long tag":                     func(m *engine.Mutation) { m.Cold.Tags = []string{string(make([]byte, engine.MaxTagBytes+1))} },
	} {
		m := rowtest.Creation(rowtest.Link("code", 1, 1))
		change(&m)
		expect.That(t, tryApply(s, m) != nil, "%s: got no error", name)
	}
	got := rows(t, s, row.TableHot)
	expect.Equal(t, len(got), 0, "got rows %q", got)
}

// indexValue returns the value of an index row of a link without times and flags.
func indexValue(k engine.Key, text string) []byte {
	return row.AppendIndexValue(nil, &engine.LinkEntry{KeyView: k.View(), Text: []byte(text)})
}

// wantIndexes checks that both indexes have exactly the rows of links.
func wantIndexes(t testing.TB, s *Store, links map[string]engine.Record) {
	t.Helper()
	want := map[string]string{}
	for _, r := range links {
		text := engine.AppendSearched(nil, &r.Hot, &r.Cold)
		e := engine.LinkEntry{
			KeyView: r.Hot.View(), Flags: r.Hot.Flags, CreatedAtMs: r.Cold.CreatedAtMs, UpdatedAtMs: r.Cold.UpdatedAtMs, ExpiresAtMs: r.Hot.ExpiresAtMs,
			StartsAtMs: r.Hot.StartsAtMs(), Text: text,
		}
		want[string(row.AppendByOwnerKey(nil, r.Hot.Owner, r.Hot.ID))] = string(row.AppendIndexValue(nil, &e))
		e.TextByOwner = len(text) > row.MaxTagTextBytes
		value := string(row.AppendIndexValue(nil, &e))
		for _, tag := range r.Cold.Tags {
			want[string(row.AppendByTagKey(nil, r.Hot.Owner, tag, r.Hot.ID))] = value
		}
		if r.Cold.Reuse {
			want[string(reuseKey(r))] = ""
		}
		if r.Cold.Folder != 0 {
			e.TextByOwner = false
			want[string(row.AppendByFolderKey(nil, r.Cold.Folder, r.Hot.ID))] = string(row.AppendIndexValue(nil, &e))
		}
	}
	got := rows(t, s, row.TableByOwner)
	maps.Copy(got, rows(t, s, row.TableByTag))
	maps.Copy(got, rows(t, s, row.TableReuse))
	maps.Copy(got, rows(t, s, row.TableByFolder))
	expect.MustThat(t, maps.Equal(got, want), "index rows: got %q, want %q", got, want)
}

// wantTrash checks that the trash has exactly those links, and that the cold record of no other deleted link has a
// text.
func wantTrash(t testing.TB, s *Store, live, trash map[string]engine.Record, deletedAtMs map[string]int64) {
	t.Helper()
	want, whole := map[string]string{}, map[uint64]bool{}
	for code, r := range trash {
		at := engine.TrashPlace{DeletedAtMs: deletedAtMs[code], ID: r.Hot.ID}
		want[string(row.AppendTrashKey(nil, r.Hot.Owner, at))] = string(row.AppendTrashed(nil, &r.Hot))
		whole[r.Hot.ID] = true
		got, err := s.ReadTrashed(r.Hot.Owner, at)
		expect.MustThat(t, err == nil && got.Hot == r.Hot && got.Cold.Title == r.Cold.Title && slices.Equal(got.Cold.Tags, r.Cold.Tags),
			"in the trash: %+v, %v, want %+v", got, err, r)
	}
	for _, r := range live {
		whole[r.Hot.ID] = true
	}
	got := rows(t, s, row.TableTrash)
	expect.MustThat(t, maps.Equal(got, want), "trash: got %q, want %q", got, want)
	for key, value := range rows(t, s, row.TableCold) {
		id, _ := row.SplitColdKey([]byte(key))
		cold, err := row.DecodeCold([]byte(value))
		expect.MustThat(t, err == nil && (whole[id] || cold.Title == "" && len(cold.Tags) == 0 && !cold.Reuse), "cold record of %d: %+v, %v", id, cold, err)
	}
}

// TestIndexesFollowLinksThroughAnyHistory is a model test: random creations, edits, deletions, restores, purges and
// replacements of a few codes; after each, the store has the same content as plain maps.
func TestIndexesFollowLinksThroughAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := openMem(t, vfs.NewMem())
		stop := start(t, s)
		defer func() { stop(); closeStore(t, s) }()
		folders := rapid.SampledFrom([]uint32{0, 0, 1, 300})
		expect.OK(t, expect.Err(s.AllocateIDs(100)))
		live, trash, deletedAtMs := map[string]engine.Record{}, map[string]engine.Record{}, map[string]int64{}
		gone := map[string]engine.Record{} // the last deleted link of a code, with its tombstone
		tags := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "A", ""}), 0, 4)
		for id := range uint64(rapid.IntRange(1, 30).Draw(rt, "steps")) {
			code := rapid.SampledFrom([]string{"x", "y", "X"}).Draw(rt, "code")
			old, exists := live[code]
			switch {
			case exists && rapid.Bool().Draw(rt, "delete"):
				m := rowtest.Deletion(old)
				m.Hot.DeletedAtMs = rapid.Int64Range(-3, 9).Draw(rt, "hour")*msPerHour + 1
				if delete(live, code); rapid.IntRange(0, 3).Draw(rt, "purge") == 0 {
					m.Trash = engine.TrashPurged
				} else {
					trash[code] = old
				}
				deletedAtMs[code], gone[code] = m.Hot.DeletedAtMs, engine.Record{Hot: m.Hot, Cold: old.Cold}
				apply(t, s, m)
			case trash[code].Hot.Code != "" && rapid.Bool().Draw(rt, "from the trash"):
				was, tombstone := trash[code], gone[code]
				delete(trash, code)
				if rapid.Bool().Draw(rt, "restore") {
					was.Cold.Version++
					live[code] = was
					apply(t, s, engine.Mutation{Hot: was.Hot, Cold: was.Cold, Before: &tombstone, Trash: engine.TrashRestored})
				} else {
					apply(t, s, engine.Mutation{Hot: tombstone.Hot, Before: &was, Trash: engine.TrashPurged})
				}
			case exists:
				next := rowtest.Link(code, old.Hot.ID, old.Hot.Owner, tags.Draw(rt, "tags")...)
				next.Hot.Target = rapid.SampledFrom([]string{"https://a.b/1", "https://c.d/"}).Draw(rt, "target")
				next.Cold.Version, next.Cold.Reuse = old.Cold.Version+1, old.Cold.Reuse
				next.Cold.Folder = folders.Draw(rt, "folder")
				if rapid.Bool().Draw(rt, "long") { // its row by tag has no text
					next.Cold.Note = strings.Repeat("n", row.MaxTagTextBytes)
				}
				if rapid.Bool().Draw(rt, "give") {
					next.Hot.Owner++
				}
				apply(t, s, rowtest.Edit(old, next))
				live[code] = next
			default:
				next := rowtest.Link(code, id+1, uint32(id%2), tags.Draw(rt, "tags")...)
				next.Cold.Reuse, next.Cold.Folder = rapid.Bool().Draw(rt, "reuse"), folders.Draw(rt, "folder")
				m := rowtest.Creation(next)
				if last, deleted := gone[code]; deleted {
					m.Replaced = &last
				}
				apply(t, s, m)
				delete(trash, code)
				live[code] = next
			}
			wantIndexes(t, s, live)
			wantTrash(t, s, live, trash, deletedAtMs)
		}
		v, faults := s.Inspect(), new(engine.Faults)
		_, err := v.Check(t.Context(), CheckOptions{Faults: faults})
		first, total := faults.Found()
		expect.MustThat(t, err == nil && total == 0, "check: %v, faults %+v", err, first)
		closeInspection(t, v)
		for code, want := range live {
			got, err := s.ReadRecord(keyOf(code))
			expect.MustThat(t, err == nil && got.Hot == want.Hot && slices.Equal(got.Cold.Tags, want.Cold.Tags),
				"ReadRecord(%q): got %+v, %v, want %+v", code, got, err, want)
		}
	})
}

// listed returns the links that ListLinks yields, at most limit, as "id code".
func listed(t testing.TB, s *Store, owner uint32, tag string, limit int) (found []string) {
	t.Helper()
	err := s.ListLinks(owner, tag, func(id uint64, k engine.KeyView) bool {
		found = append(found, fmt.Sprint(id, " ", string(k.Code)))
		return len(found) < limit
	})
	expect.OK(t, err, "ListLinks(%d, %q)", owner, tag)
	return found
}

func TestLinksAreListedNewestFirst(t *testing.T) {
	s := openTemp(t)
	apply(t, s, rowtest.Creation(rowtest.Link("a", 1, 7, "x")))
	apply(t, s, rowtest.Creation(rowtest.Link("b", 2, 7, "x", "xy")))
	apply(t, s, rowtest.Creation(rowtest.Link("c", 300, 7)))
	apply(t, s, rowtest.Creation(rowtest.Link("d", 4, 8, "x")))
	gone := rowtest.Link("e", 5, 7, "x")
	apply(t, s, rowtest.Creation(gone))
	apply(t, s, rowtest.Deletion(gone))
	for _, c := range []struct {
		owner uint32
		tag   string
		limit int
		want  []string
	}{
		{7, "", 9, []string{"300 c", "2 b", "1 a"}},
		{7, "", 2, []string{"300 c", "2 b"}},
		{7, "x", 9, []string{"2 b", "1 a"}},
		{7, "xy", 9, []string{"2 b"}},
		{7, "y", 9, nil},
		{7, string(make([]byte, 300)), 9, nil},
		{8, "", 9, []string{"4 d"}},
		{9, "", 9, nil},
		{1<<32 - 1, "", 9, nil},
	} {
		expect.Slices(t, listed(t, s, c.owner, c.tag, c.limit), c.want, "owner %d, tag %q", c.owner, c.tag)
	}
}

func TestACorruptIndexRowIsAnErrorOfTheList(t *testing.T) {
	for name, put := range map[string][2][]byte{
		"value": {row.AppendByOwnerKey(nil, 7, 1), {2, 0}},
		"key":   {append(row.AppendByOwnerKey(nil, 7, 1), 0), indexValue(keyOf("a"), "b")},
	} {
		s := openMem(t, vfs.NewMem())
		b := s.db.NewBatch()
		kv.Set(b, put[0], put[1])
		expect.OK(t, s.writer.Sync(b, "test"))
		expect.Error(t, s.ListLinks(7, "", func(uint64, engine.KeyView) bool { return true }), ErrCorrupt, "%s", name)
		closeStore(t, s)
	}
}

func TestAllocatedIDsAreNeverGivenTwice(t *testing.T) {
	mem := vfs.NewMem()
	given := map[uint64]bool{}
	for range 3 {
		s := openMem(t, mem)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				first, err := s.AllocateIDs(5)
				mu.Lock()
				defer mu.Unlock()
				for id := first; id < first+5; id++ {
					expect.That(t, err == nil && !given[id] && id != 0, "id %d: given again, %v", id, err)
					given[id] = true
				}
			})
		}
		wg.Wait()
		closeStore(t, s)
	}
	expect.That(t, given[1] && given[120] && len(given) == 120, "got %d ids, want 1 to 120", len(given))
}

func TestIDsRunOutWithAnError(t *testing.T) {
	s := openTemp(t)
	_, err := s.AllocateIDs(1<<48 - 2)
	expect.OK(t, err)
	_, err = s.AllocateIDs(2)
	expect.Error(t, err, ErrNoIDs)
	first, err := s.AllocateIDs(1)
	expect.That(t, err == nil && first == 1<<48-1, "the last id: got %d, %v", first, err)
	_, err = s.AllocateIDs(1)
	expect.Error(t, err, ErrNoIDs)
}

func TestEveryLinkIsLoadedOnceOnSeveralGoroutines(t *testing.T) {
	s := openTemp(t)
	want := map[string]engine.Hot{}
	for i := range 5000 {
		rec := rowtest.Link(fmt.Sprintf("%c%c%d", "09AZaz_-"[i%8], "09AZaz_-"[i/8%8], i), uint64(i+1), 1)
		want[rec.Hot.Code] = rec.Hot
		s.Apply(rowtest.Creation(rec), func(err error) {
			expect.NoError(t, err)
		})
		if i%(queueLimit/2) == queueLimit/2-1 { // so that the queue never overflows
			apply(t, s, rowtest.Creation(rec))
		}
	}
	gone := rowtest.Link("gone", 6000, 1)
	apply(t, s, rowtest.Creation(gone))
	apply(t, s, rowtest.Deletion(gone))
	want["gone"] = rowtest.Deletion(gone).Hot
	got := map[string]engine.Hot{}
	var mu sync.Mutex
	err := s.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		mu.Lock()
		defer mu.Unlock()
		_, again := got[string(h.Code)]
		expect.That(t, !again, "%q came twice", h.Code)
		got[string(h.Code)] = row.OwnHot(&h)
		return nil
	}))
	expect.That(t, err == nil && maps.Equal(got, want), "got %d links, %v, want %d", len(got), err, len(want))
}

func TestLoadingStopsAtTheFirstErrorAndWithItsContext(t *testing.T) {
	s := openTemp(t)
	for i := range 3000 {
		apply(t, s, rowtest.Creation(rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1)))
	}
	stop := errors.New("stop")
	expect.Error(t, s.LoadLinks(context.Background(), engine.EachLink(func(engine.HotView) error { return stop })), stop)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	expect.Error(t, s.LoadLinks(ctx, engine.EachLink(func(engine.HotView) error { return nil })), context.Canceled)
}

func TestAnEmptyStoreLoadsNothing(t *testing.T) {
	s := openTemp(t)
	err := s.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error { return fmt.Errorf("got %q", h.Code) }))
	expect.That(t, err == nil && len(hitsOf(t, s)) == 0, "got %v", err)
	wantTally(t, s, 1, &rowtest.Model{})
	p, err := s.Positions()
	expect.That(t, err == nil && p.Epoch == 0 && p.Rings == nil, "Positions: got %+v, %v, want none", p, err)
}

func TestMetricsCountCommitsAndBytes(t *testing.T) {
	s := openTemp(t)
	apply(t, s, rowtest.Creation(rowtest.Link("a", 1, 1)))
	m := s.Metrics()
	expect.That(t, m.Mutations == 1 && m.CommitBatches == 1 && m.DiskBytes != 0 && m.MemTableBytes != 0 && m.WALBytes != 0, "got %+v", m)
	done := make(chan error)
	s.ApplyAll(engine.Bulk{Creations: []engine.Mutation{rowtest.Creation(rowtest.Link("b", 2, 1)), rowtest.Creation(rowtest.Link("c", 3, 1)), rowtest.Creation(rowtest.Link("d", 4, 1))}},
		func(err error) { done <- err })
	expect.OK(t, <-done)
	m = s.Metrics()
	commits := uint64(0)
	for _, n := range m.CommitSeconds.Counts {
		commits += n
	}
	if sizes := m.CommitMutations; sizes.Sum != 4 || sizes.Counts[0] != 1 || sizes.Counts[2] != 1 || commits != 2 || m.CommitSeconds.Sum <= 0 {
		t.Errorf("after commits of 1 and of 3 links: got sizes %+v, durations %+v", sizes, m.CommitSeconds)
	}
}

func TestACorruptRecordIsAnErrorThatNamesItsCode(t *testing.T) {
	s := openTemp(t)
	b := s.db.NewBatch()
	kv.Set(b, row.AppendHotKey(nil, keyOf("bad")), []byte{1, 0})
	expect.OK(t, s.writer.Sync(b, "test"))
	_, err := s.ReadRecord(keyOf("bad"))
	expect.Error(t, err, ErrCorrupt, "ReadRecord")
	err = s.LoadLinks(context.Background(), engine.EachLink(func(engine.HotView) error { return nil }))
	expect.Error(t, err, ErrCorrupt, "LoadLinks")
}

func TestLinksWithTheLongestTargetsAreLoadedWhole(t *testing.T) {
	s := openTemp(t)
	for i := range 40 {
		long := rowtest.Link(fmt.Sprintf("c%d", i), uint64(i+1), 1)
		long.Hot.Target += strings.Repeat("/", engine.MaxTargetBytes-len(long.Hot.Target))
		apply(t, s, rowtest.Creation(long))
	}
	var loaded atomic.Int64
	err := s.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		want := rowtest.Link(string(h.Code), h.ID, 1).Hot
		expect.That(t, string(h.Code) == fmt.Sprintf("c%d", h.ID-1) && len(h.Target) == engine.MaxTargetBytes && strings.HasPrefix(string(h.Target), want.Target),
			"link %d: got code %q and %d bytes of target", h.ID, h.Code, len(h.Target))
		loaded.Add(1)
		return nil
	}))
	expect.That(t, err == nil && loaded.Load() == 40, "got %d links, %v", loaded.Load(), err)
}
