package storage

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/search"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

func openListing(t testing.TB, s *Store) engine.Listing {
	t.Helper()
	l, err := s.Listing(t.Context())
	expect.OK(t, err)
	t.Cleanup(func() {
		expect.NoError(t, l.Close())
	})
	return l
}

// page scans once, and returns "id code" of each link.
func page(t testing.TB, l engine.Listing, r engine.ListRange, limit int) (entries []string, last uint64, more bool) {
	t.Helper()
	last, more, err := l.Scan(r, limit, func(id uint64, k engine.KeyView) bool {
		entries = append(entries, fmt.Sprintf("%d %s", id, k.Code))
		return true
	})
	expect.OK(t, err)
	return entries, last, more
}

// readParts reads the rows of r in parts, rows at a time, and returns copies of the entries. It splits each part that
// it does not read at once.
func readParts(t testing.TB, l engine.Listing, r engine.ListRange, rows int) (all []engine.LinkEntry) {
	t.Helper()
	parts, err := l.Parts(r)
	expect.OK(t, err)
	for len(parts) > 0 {
		p := parts[0]
		given := 0
		read, more, err := p.Read(rows, func(e *engine.LinkEntry) {
			given++
			copied := *e
			copied.Code, copied.Text = slices.Clone(e.Code), slices.Clone(e.Text)
			all = append(all, copied)
		})
		expect.OK(t, err)
		expect.That(t, given <= read && read <= rows, "%d entries of %d rows, want at most %d", given, read, rows)
		var rest []engine.Part
		if more {
			rest, err = p.Split(3)
			expect.OK(t, err)
		}
		expect.OK(t, p.Close())
		parts = append(rest, parts[1:]...)
	}
	return all
}

// TestAListingIsReadInPartsOfAnySize compares what parts have with the links, with ids of several nodes and owners.
func TestAListingIsReadInPartsOfAnySize(t *testing.T) {
	s := openTemp(t)
	want := map[uint64]engine.Record{}
	for i := range uint64(300) {
		rec := rowtest.Link("c"+strconv.FormatUint(i, 10), i%3<<48|(i+1), uint32(1+i%2), "tag")
		if i%7 == 0 {
			rec.Hot.Target += "?" + strings.Repeat("long", 200)
		}
		apply(t, s, rowtest.Creation(rec))
		want[rec.Hot.ID] = rec
	}
	l := openListing(t, s)
	for _, r := range []engine.ListRange{{Owners: engine.OneOwner(1)}, {Owners: engine.OneOwner(2), Tag: "tag"}, {Owners: []engine.OwnerRange{{First: 1, Last: 2}}}, {AnyOwner: true}, {AnyOwner: true, Tag: "tag"}, {AnyOwner: true, Below: 1<<48 | 90}} {
		r.Words, _ = search.Parse("tag") // all have it
		var whole []engine.LinkEntry
		for _, rows := range []int{1000, 1, 7, 64} {
			got := readParts(t, l, r, rows)
			if whole == nil {
				whole = got
			}
			expect.That(t, reflect.DeepEqual(got, whole), "%+v, %d rows at a time: got %d entries, want %d", r, rows, len(got), len(whole))
		}
		n := 0
		for id, rec := range want {
			if (r.AnyOwner || r.Owners[0].First <= rec.Hot.Owner && rec.Hot.Owner <= r.Owners[0].Last) && (r.Below == 0 || id < r.Below) {
				n++
			}
		}
		expect.Equal(t, len(whole), n, "%+v: links", r)
		for _, e := range whole {
			rec := want[e.ID]
			text := engine.AppendSearched(nil, &rec.Hot, &rec.Cold)
			expect.That(t, e.Own() == rec.Hot.Key && string(e.Text) == string(text) && e.CreatedAtMs == rec.Cold.CreatedAtMs && e.UpdatedAtMs == rec.Cold.UpdatedAtMs,
				"%+v: got %+v of %+v", r, e, rec)
		}
		r.Words, _ = search.Parse("longlong")
		wanted := slices.DeleteFunc(whole, func(e engine.LinkEntry) bool { return !r.Words.Matches(e.Text) })
		for _, rows := range []int{1000, 7} {
			got := slices.DeleteFunc(readParts(t, l, r, rows), func(e engine.LinkEntry) bool { return !r.Words.Matches(e.Text) })
			expect.That(t, reflect.DeepEqual(got, wanted), "%+v, %d rows at a time: got %d entries with the words, want %d", r, rows, len(got), len(wanted))
		}
	}
}

func TestAListingHasLinksOfOwnerOrTagNewestFirst(t *testing.T) {
	s := openTemp(t)
	for i, rec := range []engine.Record{
		rowtest.Link("a", 1, 1, "x"), rowtest.Link("b", 2, 2, "x"), rowtest.Link("c", 3, 1), rowtest.Link("d", 4, 1, "x", "xy"), rowtest.Link("e", 5, 1, "xy"),
	} {
		apply(t, s, rowtest.Creation(rec))
		if i == 2 {
			apply(t, s, rowtest.Deletion(rec))
		}
	}
	apply(t, s, rowtest.Creation(rowtest.Link("c", 6, 2))) // the code now belongs to another owner
	l := openListing(t, s)
	for name, c := range map[string]struct {
		r    engine.ListRange
		want string
	}{
		"an owner's":                 {engine.ListRange{Owners: engine.OneOwner(1)}, "5 4 1"},
		"another's":                  {engine.ListRange{Owners: engine.OneOwner(2)}, "6 2"},
		"nobody's":                   {engine.ListRange{Owners: engine.OneOwner(3)}, ""},
		"with a tag":                 {engine.ListRange{Owners: engine.OneOwner(1), Tag: "x"}, "4 1"},
		"with a longer tag":          {engine.ListRange{Owners: engine.OneOwner(1), Tag: "xy"}, "5 4"},
		"with too long a tag":        {engine.ListRange{Owners: engine.OneOwner(1), Tag: strings.Repeat("x", 256)}, ""},
		"below an id":                {engine.ListRange{Owners: engine.OneOwner(1), Below: 5}, "4 1"},
		"below an unknown id":        {engine.ListRange{Owners: engine.OneOwner(1), Below: 3}, "1"},
		"below the first":            {engine.ListRange{Owners: engine.OneOwner(1), Below: 1}, ""},
		"below, with a tag":          {engine.ListRange{Owners: engine.OneOwner(1), Tag: "x", Below: 4}, "1"},
		"everybody's":                {engine.ListRange{AnyOwner: true}, "6 5 4 2 1"},
		"everybody's, below":         {engine.ListRange{AnyOwner: true, Below: 5}, "4 2 1"},
		"everybody's, with no limit": {engine.ListRange{AnyOwner: true, Owners: engine.OneOwner(1), Below: 1<<64 - 1}, "6 5 4 2 1"},
	} {
		entries, _, more := page(t, l, c.r, 100)
		for i := range entries {
			entries[i], _, _ = strings.Cut(entries[i], " ")
		}
		got := strings.Join(entries, " ")
		expect.That(t, got == c.want && !more, "%s: got %q, more %v, want %q", name, got, more, c.want)
		parts := readParts(t, l, c.r, 100)
		slices.SortFunc(parts, func(a, b engine.LinkEntry) int { return cmp.Compare(b.ID, a.ID) })
		got = ""
		for _, e := range parts {
			got = strings.TrimSpace(got + " " + strconv.FormatUint(e.ID, 10))
		}
		expect.Equal(t, got, c.want, "%s, in parts", name)
	}
	everybodys := readParts(t, l, engine.ListRange{AnyOwner: true, Tag: "x"}, 100)
	expect.That(t, len(everybodys) == 3 && everybodys[0].ID == 4 && everybodys[2].ID == 2, "everybody's, with a tag: got %+v, want 4, 1 and 2", everybodys)
	for _, any := range []bool{false, true} {
		entries, _, _ := page(t, l, engine.ListRange{Owners: engine.OneOwner(1), AnyOwner: any, Below: 2}, 1)
		expect.Slices(t, entries, []string{"1 a"}, "of all owners %v", any)
	}
}

// TestAScanEndsAtItsLimitAndContinuesAfterIt also counts deleted links, since there may be many.
func TestAScanEndsAtItsLimitAndContinuesAfterIt(t *testing.T) {
	s := openTemp(t)
	for id := uint64(1); id <= 10; id++ {
		rec := rowtest.Link("c"+strconv.Itoa(int(id)), id, 1)
		apply(t, s, rowtest.Creation(rec))
		if id%2 == 0 {
			apply(t, s, rowtest.Deletion(rec))
		}
	}
	l := openListing(t, s)
	r, listed, scans := engine.ListRange{AnyOwner: true}, 0, 0
	for more := true; more; scans++ {
		var entries []string
		entries, r.Below, more = page(t, l, r, 4)
		listed += len(entries)
	}
	expect.That(t, listed == 5 && scans == 3, "got %d links in %d scans, want 5 in 3", listed, scans)
	last, more, err := l.Scan(engine.ListRange{Owners: engine.OneOwner(1)}, 4, func(uint64, engine.KeyView) bool { return false })
	expect.That(t, last == 9 && more && err == nil, "a scan that is ended at its first link: got %d, %v, %v, want 9, true", last, more, err)
	last, more, err = l.Scan(engine.ListRange{Owners: engine.OneOwner(1), Below: 2}, 4, func(uint64, engine.KeyView) bool { return false })
	expect.That(t, last == 1 && !more && err == nil, "one that is ended at the last link: got %d, %v, %v, want 1, false", last, more, err)
}

func TestAListingOfManyLinksIsReadByPages(t *testing.T) {
	const links, owners, pageRows = 100_000, 4, 10_000
	s := openTempStopped(t)
	pending := s.db.NewBatch()
	b := newBatch(pending)
	for id := uint64(1); id <= links; id++ {
		m := rowtest.Creation(rowtest.Link(strconv.FormatUint(id, 36), id, uint32(id%owners), "tag"))
		b.Add(&m)
	}
	b.Finish()
	expect.OK(t, s.writer.Sync(pending, "test"))
	l := openListing(t, s)
	for _, r := range []engine.ListRange{{Owners: engine.OneOwner(1)}, {Owners: engine.OneOwner(1), Tag: "tag"}, {AnyOwner: true}} {
		want, step := uint64(links), uint64(1)
		if !r.AnyOwner {
			want, step = links-owners+1, owners
		}
		seen := 0
		for more := true; more; {
			var err error
			r.Below, more, err = l.Scan(r, pageRows, func(id uint64, _ engine.KeyView) bool {
				expect.MustEqual(t, id, want, "%+v", r)
				want -= step
				seen++
				return true
			})
			expect.OK(t, err)
		}
		expect.Equal(t, seen, links/int(step), "%+v: links", r)
	}
}

func TestAListingIsOfOneMoment(t *testing.T) {
	s := openTemp(t)
	rec := rowtest.Link("a", 1, 1)
	apply(t, s, rowtest.Creation(rec))
	l := openListing(t, s)
	apply(t, s, rowtest.Deletion(rec))
	apply(t, s, rowtest.Creation(rowtest.Link("b", 2, 1)))
	for _, any := range []bool{false, true} {
		entries, _, _ := page(t, l, engine.ListRange{Owners: engine.OneOwner(1), AnyOwner: any}, 9)
		expect.Equal(t, len(entries), 1, "got %q", entries)
	}
	if got, err := l.ReadRecord(keyOf("a")); err != nil || got.Hot.Target != rec.Hot.Target {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err := l.ReadRecord(keyOf("b"))
	expect.Error(t, err, engine.ErrNotFound, "b")
}

// TestAListingWaitsUntilItsContentIsDurable opens a listing after a batch was applied and before it
// is durable.
func TestAListingWaitsUntilItsContentIsDurable(t *testing.T) {
	s := openTemp(t)
	apply(t, s, rowtest.Creation(rowtest.Link("a", 1, 1)))
	openListing(t, s)
	pending := s.db.NewBatch()
	b := newBatch(pending)
	m := rowtest.Creation(rowtest.Link("b", 2, 1))
	b.Add(&m)
	b.Finish()
	number, err := s.writer.Apply(pending)
	expect.OK(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Listing(ended)
	expect.Error(t, err, engine.ErrOverloaded, "before it is durable")
	opened := make(chan error)
	go func() {
		l, err := s.Listing(context.Background())
		if err == nil {
			err = l.Close()
		}
		opened <- err
	}()
	expect.OK(t, pending.SyncWait())
	s.writer.Raise(number)
	expect.NoError(t, <-opened)
}

func TestADamagedRowIsAnErrorNotAGuess(t *testing.T) {
	for name, key := range map[string][]byte{
		"index value": row.AppendByOwnerKey(nil, 1, 7), "index key": append(row.AppendByOwnerKey(nil, 1, 7), 0), "cold record": row.AppendColdKey(nil, 7),
	} {
		s := openTemp(t)
		b := s.db.NewBatch()
		kv.Set(b, key, []byte{9})
		expect.OK(t, s.writer.Sync(b, "test"))
		r := engine.ListRange{Owners: engine.OneOwner(1), AnyOwner: name == "cold record"}
		_, _, err := openListing(t, s).Scan(r, 1, func(uint64, engine.KeyView) bool { return true })
		expect.Error(t, err, ErrCorrupt, "%s", name)
	}
}

func TestTagsAreCountedInStepsOfAnySize(t *testing.T) {
	s := openTemp(t)
	for i, tags := range [][]string{{"b", "News"}, {"NEWS"}, {"news", "ab"}, {"b"}, {"c"}} {
		apply(t, s, rowtest.Creation(rowtest.Link(string(rune('p'+i)), uint64(i+1), 1, tags...)))
	}
	apply(t, s, rowtest.Creation(rowtest.Link("z", 9, 2, "b", "d")))
	gone := rowtest.Link("y", 10, 1, "gone")
	apply(t, s, rowtest.Creation(gone))
	apply(t, s, rowtest.Deletion(gone))
	l := openListing(t, s)
	for name, c := range map[string]struct {
		scan engine.TagScan
		want string
	}{
		"all":                   {engine.TagScan{Owner: 1}, "ab 1, b 2, c 1, news 3"},
		"after one":             {engine.TagScan{Owner: 1, After: "b"}, "c 1, news 3"},
		"after one that is not": {engine.TagScan{Owner: 1, After: "ba"}, "c 1, news 3"},
		"with a prefix":         {engine.TagScan{Owner: 1, Prefix: "n"}, "news 3"},
		"before the prefix":     {engine.TagScan{Owner: 1, Prefix: "n", After: "b"}, "news 3"},
		"past the prefix":       {engine.TagScan{Owner: 1, Prefix: "b", After: "c"}, ""},
		"another's":             {engine.TagScan{Owner: 2}, "b 1, d 1"},
		"nobody's":              {engine.TagScan{Owner: 3}, ""},
	} {
		for rows := 1; rows < 9; rows++ {
			scan, got := c.scan, []string(nil)
			for more := true; more; {
				var err error
				more, err = l.CountTags(&scan, rows, func(tag engine.TagCount) bool {
					got = append(got, fmt.Sprint(tag.Name, " ", tag.Links))
					return true
				})
				expect.OK(t, err)
			}
			expect.Equal(t, strings.Join(got, ", "), c.want, "%s, %d rows at a time", name, rows)
		}
	}
}
