package engine_test

import (
	"errors"
	"testing"
	"time"

	"shunt/engine"
)

// Variants of a code share one probe sequence, so 64 of them fill nine groups and more: what is found at once, what is not the
// first match of its group, and what is in a later one.
func TestCodesOfOneWordAreFoundWhateverStandsBeforeThem(t *testing.T) {
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
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("%s: %v", variant(i), r.Err)
		}
		if i%3 == 0 {
			if err := e.Delete(t.Context(), variant(i), engine.Guard{AnyOwner: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range variants {
		l, ok := e.Resolve([]byte(variant(i)))
		if want := i%3 != 0; ok != want || ok && string(l.Target()) != "https://example.com/"+variant(i) {
			t.Errorf("%s: found %v, want %v", variant(i), ok, want)
		}
	}
	for _, code := range []string{"abcdefgH", "abcdefg_", "abcdefg"} {
		if _, ok := e.Resolve([]byte(code)); ok {
			t.Errorf("%s was found", code)
		}
	}
	again := func(alias string) error {
		_, _, err := e.Create(t.Context(), engine.Draft{Alias: alias, Owner: 1, Target: "https://example.com/", Import: imported})
		return err
	}
	if err := again("abcdefgH"); !errors.Is(err, engine.ErrTaken) {
		t.Errorf("one more than there may be: got %v, want ErrTaken", err)
	}
	if err := again(variant(3)); err != nil {
		t.Errorf("one that was deleted, by its owner: %v", err)
	}
}

func TestABulkMakesNoMoreVariantsThanThereMayBe(t *testing.T) {
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
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err == nil {
				made++
			}
		}
		return made
	}
	if first, second := made(0, 60), made(60, 128); first != 60 || second != 4 {
		t.Errorf("made %d and %d, want 60 and 4", first, second)
	}
}
