package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

var errBadItem = errors.New("bad item")

// items parses a bulk from words: an alias, "alias=title", "-" for a drawn code, "!" for a refused
// item.
func items(words string) []engine.BulkItem {
	var all []engine.BulkItem
	for word := range strings.FieldsSeq(words) {
		alias, title, _ := strings.Cut(word, "=")
		d := engine.Draft{Owner: 1, Alias: alias, Target: "https://example.com/", Texts: engine.Texts{Title: title}}
		d.Same = func(there engine.Detail) bool { return there.Title == title }
		switch word {
		case "-":
			d.Alias = ""
		case "!":
			all = append(all, engine.BulkItem{Draft: engine.Draft{Owner: 1}, Refused: errBadItem})
			continue
		}
		all = append(all, engine.BulkItem{Draft: d})
	}
	return all
}

// outcomes returns the outcome of each item as one word.
func outcomes(results []engine.BulkResult) string {
	words := make([]string, len(results))
	for i, r := range results {
		switch {
		case errors.Is(r.Err, engine.ErrTaken):
			words[i] = "taken"
		case errors.Is(r.Err, errBadItem):
			words[i] = "bad"
		case errors.Is(r.Err, engine.ErrDeleted):
			words[i] = "deleted"
		case errors.Is(r.Err, engine.ErrRefused):
			words[i] = "refused"
		case r.Err != nil:
			words[i] = r.Err.Error()
		case r.Existed:
			words[i] = "existed"
		default:
			words[i] = "created"
		}
		if r.Err == nil && r.Detail.Code == "" {
			words[i] += " without a link"
		}
	}
	return strings.Join(words, " ")
}

func TestEachItemOfABulkHasItsOwnResult(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.make(t, engine.Draft{Alias: "mine", Texts: engine.Texts{Title: "t"}})
	e.make(t, engine.Draft{Alias: "theirs", Owner: 2, Texts: engine.Texts{Title: "t"}})
	for _, c := range []struct{ words, want string }{
		{"a - -", "created created created"},
		{"a b a=other B b", "existed created taken taken existed"},
		{"mine=t mine=u MINE theirs=t", "existed taken taken taken"},
		{"! c ! c", "bad created bad existed"},
		{"! theirs", "bad taken"},
	} {
		results, err := e.CreateBulk(context.Background(), items(c.words))
		if err != nil || outcomes(results) != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.words, outcomes(results), err, c.want)
		}
		for i, r := range results {
			l, ok := e.Resolve(keyOf(r.Detail.Code).View())
			expect.Equal(t, ok, r.Err == nil, "%s: item %d is %+v, and redirects", c.words, i, r)
			if ok {
				l.Release()
			}
		}
	}
	expect.Equal(t, e.Metrics().Links, 7, "links")
	e.make(t, engine.Draft{Alias: "theirs2"}) // all locks were released
	expect.NoError(t, e.Delete(context.Background(), keyOf("theirs"), engine.Guard{AnyOwner: true}))
}

// TestRacingBulksDoNotDeadlockAndEachAliasHasOneWinner has each bulk take the aliases in another
// order.
func TestRacingBulksDoNotDeadlockAndEachAliasHasOneWinner(t *testing.T) {
	const racers, aliases = 16, 24
	e := newTestEngine(t, engine.Options{})
	var racing sync.WaitGroup
	var created [racers]int
	for i := range racers {
		racing.Go(func() {
			var words []string
			for k := range aliases {
				words = append(words, fmt.Sprintf("Alias%d=by%d", (k*(2*i+1)+i)%aliases, i))
			}
			results, err := e.CreateBulk(context.Background(), items(strings.Join(words, " ")))
			expect.NoError(t, err)
			for _, r := range results {
				if r.Err == nil && !r.Existed {
					created[i]++
				}
			}
		})
	}
	racing.Wait()
	total := 0
	for _, n := range created {
		total += n
	}
	expect.That(t, total == aliases && e.Metrics().Links == aliases, "%d were created, and %d links are there, want %d", total, e.Metrics().Links, aliases)
}

// TestBulksThatWaitForEachOtherGoInTurn has two bulks wait for a code in the middle of their items,
// while they hold the locks before it. The clock is fake.
func TestBulksThatWaitForEachOtherGoInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		e.create(t, "before").Release()
		var held func()
		stall := func(commit func()) { held = commit }
		e.gate.apply.Store(&stall)
		var writing sync.WaitGroup
		writing.Go(func() { e.create(t, "m").Release() })
		synctest.Wait()
		e.gate.apply.Store(nil)
		for _, words := range []string{"a B c D m w X y Z", "Z y X w m D c B a", "w c m"} {
			writing.Go(func() {
				expect.NoError(t, expect.Err(e.CreateBulk(context.Background(), items(words))), words)
			})
		}
		synctest.Wait()
		held()
		writing.Wait()
		expect.Equal(t, e.Metrics().Links, 1+9, "links")
	})
}

func (e *testEngine) bulkOnce(key, words string) (string, []engine.BulkResult, error) {
	results, err := e.CreateBulkOnce(context.Background(), request(key), items(words), nil)
	return outcomes(results), results, err
}

func TestARepeatedBulkMakesNothingASecondTime(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.make(t, engine.Draft{Alias: "there"})
	e.make(t, engine.Draft{Alias: "taken", Owner: 2})
	const words, want = "a - there taken ! b", "created created existed taken bad created"
	got, first, err := e.bulkOnce("key", words)
	expect.MustThat(t, got == want && err == nil, "got %q, %v, want %q", got, err, want)
	links := e.Metrics().Links
	for _, code := range []string{"b", "taken", "there"} {
		expect.OK(t, e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}))
	}
	_, err = e.Update(context.Background(), keyOf("a"), engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
		r.Cold.Title = "another"
		return nil
	})
	expect.OK(t, err)
	l, _ := e.Resolve(keyOf(first[1].Detail.Code).View())
	e.Hit(l, engine.Visit{})
	l.Release()
	got, again, err := e.bulkOnce("key", words)
	if want := "created created deleted taken bad created"; got != want || err != nil {
		t.Errorf("the repeat: got %q, %v, want %q", got, err, want)
	}
	for _, i := range []int{0, 1, 5} { // edited, hit, deleted
		expect.That(t, reflect.DeepEqual(first[i].Detail, again[i].Detail), "the repeat shows %+v, want %+v", again[i].Detail, first[i].Detail)
	}
	expect.Equal(t, e.Metrics().Links, links-3, "links are there")
	q := request("key")
	q.Body[0]++
	_, err = e.CreateBulkOnce(context.Background(), q, items(words), func() error { panic("first, although there is a receipt") })
	expect.Error(t, err, engine.ErrMismatch, "another body")
	_, _, err = e.CreateOnce(context.Background(), request("key"), nil)
	expect.Error(t, err, engine.ErrMismatch, "a request for one link")
	got, _, err = e.bulkOnce("failing", "! !")
	expect.That(t, got == "bad bad" && err == nil, "got %q, %v", got, err)
	if got, _, err := e.bulkOnce("failing", "x"); got != "created" || err != nil {
		t.Errorf("a corrected request under the key of one that came to nothing: got %q, %v", got, err)
	}
	if got, _, err := e.bulkOnce("failing", "!"); got != "created" || err != nil {
		t.Errorf("a repeat by stricter rules: got %q, %v", got, err)
	}
}

func (g *gate) ApplyAll(b engine.Bulk, done func(error)) {
	if err := g.failBulk.Load(); err != nil {
		done(*err)
		return
	}
	if f := g.apply.Load(); f != nil {
		(*f)(func() { g.Store.ApplyAll(b, done) })
		return
	}
	g.Store.ApplyAll(b, done)
}

// TestABulkOfUnknownOutcomeIsFoundByItsRepeat uses a fake clock.
func TestABulkOfUnknownOutcomeIsFoundByItsRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, engine.Options{})
		defer e.stop()
		e.create(t, "before").Release()
		var held func()
		stall := func(commit func()) { held = commit }
		e.gate.apply.Store(&stall)
		start := time.Now()
		if _, _, err := e.bulkOnce("key", "a - b"); !errors.Is(err, engine.ErrOutcomeUnknown) || time.Since(start) != engine.CommitTimeout {
			t.Errorf("got %v after %v, want ErrOutcomeUnknown after %v", err, time.Since(start), engine.CommitTimeout)
		}
		_, ok := e.Resolve(keyOf("a").View())
		expect.That(t, !ok, "a link is visible that is not durable")
		e.gate.apply.Store(nil)
		_, err := e.CreateBulk(context.Background(), items("b c"))
		expect.Error(t, err, engine.ErrOverloaded, "a bulk of a code under way")
		held()
		got, _, err := e.bulkOnce("key", "a - b")
		links := e.Metrics().Links
		expect.That(t, got == "created created created" && err == nil && links == 1+3, "the repeat: got %q, %v, and there are %d links, want 4", got, err, links)
	})
}

func TestABulkThatTheStoreRefusesMakesNothing(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for _, refusal := range []error{engine.ErrReadOnly, engine.ErrOverloaded} {
		e.gate.failBulk.Store(&refusal)
		_, _, err := e.bulkOnce("key", "a - b")
		expect.Error(t, err, refusal)
	}
	e.gate.failBulk.Store(nil)
	expect.Equal(t, e.Metrics().Links, 0, "links are there")
	got, _, err := e.bulkOnce("key", "a - b")
	expect.That(t, got == "created created created" && err == nil, "the same request later: got %q, %v", got, err)
}
