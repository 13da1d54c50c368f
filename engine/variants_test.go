package engine_test

import (
	"errors"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// Variants of a code share one probe sequence, so 64 variants fill nine groups and more: some are
// found at once, some are not the first match of their group, and some are in a later group.
func TestVariantsAreFoundAnywhereInTheirProbeSequence(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	variant := func(i int) string {
		code := []byte("abcdefgh")
		for bit := range 6 {
			code[bit] -= byte(i >> bit & 1 * ('a' - 'A'))
		}
		return string(code)
	}
	const variants = 64
	imported := &engine.Import{CreatedAt: time.Now(), UpdatedAt: time.Now()}
	items := make([]engine.BulkItem, variants)
	for i := range items {
		items[i].Draft = engine.Draft{Alias: variant(i), Owner: 1, Target: "https://example.com/" + variant(i), Import: imported}
	}
	results, err := e.CreateBulk(t.Context(), items)
	expect.OK(t, err)
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("%s: %v", variant(i), r.Err)
		}
		if i%3 == 0 {
			expect.OK(t, e.Delete(t.Context(), keyOf(variant(i)), engine.Guard{AnyOwner: true}))
		}
	}
	for i := range variants {
		l, ok := e.Resolve(keyOf(variant(i)).View())
		if want := i%3 != 0; ok != want || ok && string(l.AppendTarget(nil)) != "https://example.com/"+variant(i) {
			t.Errorf("%s: found %v, want %v", variant(i), ok, want)
		}
	}
	for _, code := range []string{"abcdefgH", "abcdefg_", "abcdefg"} {
		_, ok := e.Resolve(keyOf(code).View())
		expect.That(t, !ok, "%s was found", code)
	}
	again := func(alias string) error {
		_, _, err := e.Create(t.Context(), engine.Draft{Alias: alias, Owner: 1, Target: "https://example.com/", Import: imported})
		return err
	}
	expect.Error(t, again("abcdefgH"), engine.ErrTaken, "one more than there may be")
	expect.Error(t, again(variant(3)), nil, "one that was deleted, by its owner")
}

func TestABulkObeysTheLimitOfVariants(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	imported := &engine.Import{CreatedAt: time.Now(), UpdatedAt: time.Now()}
	made := func(from, to int) (made int) {
		items := make([]engine.BulkItem, 0, to-from)
		for i := from; i < to; i++ {
			code := []byte("abcdefgh")
			for bit := range 7 {
				code[bit] -= byte(i >> bit & 1 * ('a' - 'A'))
			}
			items = append(items, engine.BulkItem{Draft: engine.Draft{Alias: string(code), Owner: 1, Target: "https://example.com/", Import: imported}})
		}
		results, err := e.CreateBulk(t.Context(), items)
		expect.OK(t, err)
		for _, r := range results {
			if r.Err == nil {
				made++
			}
		}
		return made
	}
	first, second := made(0, 60), made(60, 128)
	expect.That(t, first == 60 && second == 4, "made %d and %d, want 60 and 4", first, second)
}

// TestEachOfTwoOwnersMayTakeItsOwnVariantAgain has two owners import codes that differ only by case
// and delete them. Each owner may take their own again, and nobody else may take either, whether or
// not the index still has the tombstone.
func TestEachOfTwoOwnersMayTakeItsOwnVariantAgain(t *testing.T) {
	for name, hidden := range map[string]bool{"tombstones of their own": false, "a tombstone each for two variants": true} {
		t.Run(name, func(t *testing.T) {
			f := newFigures(t)
			defer func() { f.close() }()
			now := f.now
			codes := map[string]uint32{"abc": 1, "ABC": 2}
			if hidden { // after a restart the index has one tombstone an owner
				codes["aBc"], codes["AbC"] = 1, 2
			}
			for code, owner := range codes {
				d := engine.Draft{Alias: code, Owner: owner, Target: "https://x.example/", Import: &engine.Import{CreatedAt: now, UpdatedAt: now}}
				_, _, err := f.e.Create(t.Context(), d)
				expect.OK(t, err)
			}
			for code, owner := range codes {
				expect.OK(t, f.e.Delete(t.Context(), keyOf(code), engine.Guard{Owner: owner}))
			}
			f.close()
			f.open()
			f.now = now.Add(holdsFor)
			take := func(code string, owner uint32, want error) {
				t.Helper()
				d, _, err := f.e.Create(t.Context(), engine.Draft{Alias: code, Owner: owner, Target: "https://again.example/"})
				expect.That(t, errors.Is(err, want) && (err != nil || d.Hits == 0 && d.Version != 1), "%s for owner %d: got %+v, %v, want %v", code, owner, d, err, want)
			}
			take("abc", 2, engine.ErrTaken)
			take("ABC", 1, engine.ErrTaken)
			take("abc", 3, engine.ErrTaken)
			take("Abc", 1, engine.ErrTaken) // it was never theirs, and somebody else has deleted a variant
			take("abc", 1, nil)
			take("ABC", 2, nil)
			if hidden {
				take("aBc", 1, engine.ErrTaken) // they have a live link that differs only by case
			}
			for code, owner := range map[string]uint32{"abc": 1, "ABC": 2} {
				l, ok := f.e.Resolve(keyOf(code).View())
				expect.That(t, ok && l.Owner() == owner, "%s does not resolve", code)
			}
		})
	}
}

// After 90 days a former owner has no more right to a code than anybody else, whether or not it was
// purged.
func TestAFormerOwnerLosesPriorityAfter90Days(t *testing.T) {
	f := newFigures(t)
	defer func() { f.close() }()
	take := func(code string, owner uint32, i *engine.Import) error {
		_, _, err := f.e.Create(t.Context(), engine.Draft{Alias: code, Owner: owner, Target: "https://x.example/", Import: i})
		return err
	}
	imported := &engine.Import{CreatedAt: f.now, UpdatedAt: f.now}
	deletions := []struct {
		code  string
		owner uint32
	}{{"abc", 1}, {"ABC", 2}}
	for _, d := range deletions {
		expect.OK(t, take(d.code, d.owner, imported))
	}
	for _, d := range deletions { // ABC an hour after abc
		expect.OK(t, f.e.Delete(t.Context(), keyOf(d.code), engine.Guard{Owner: d.owner}))
		f.now = f.now.Add(time.Hour)
	}
	f.now = f.now.Add(holdsFor - 90*time.Minute)
	for _, when := range []string{"before a purge", "after it"} {
		expect.Error(t, take("abc", 1, nil), engine.ErrTaken, "%s", when)
		f.closeHours()
	}
	expect.Error(t, take("ABC", 2, nil), nil, "the owner that deleted it later")
}
