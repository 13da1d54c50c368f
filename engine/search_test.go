package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/search"
)

func wordsOf(typed string) search.Query {
	q, _ := search.Parse(typed)
	return q
}

// A searchModel has what a search must find.
type searchModel struct {
	*testEngine
	links map[string]engine.Record // by code
	hits  map[string]uint64
}

// wanted returns the codes of the links that q asks for, in its order, by reading all links.
func (m *searchModel) wanted(q *engine.LinkQuery, typed string) (codes []string) {
	var found, first []engine.Record
	for code, r := range m.links {
		switch {
		case !m.selected(q, &r):
		case q.Code.Code != "" && strings.EqualFold(code, q.Code.Code):
			first = append(first, r)
		case hasWords(&r, typed):
			found = append(found, r)
		}
	}
	exact := func(r engine.Record) bool { return r.Hot.Code == q.Code.Code }
	if some := slices.ContainsFunc(first, exact); some || len(first) > 1 {
		for _, r := range first {
			if !exact(r) && hasWords(&r, typed) {
				found = append(found, r)
			}
		}
		first = slices.DeleteFunc(first, func(r engine.Record) bool { return !exact(r) })
	}
	slices.SortFunc(found, func(a, b engine.Record) int {
		order := 0
		switch q.Order {
		case engine.ByCreation:
			order = cmp.Compare(b.Cold.CreatedAtMs, a.Cold.CreatedAtMs)
		case engine.ByUpdate:
			order = cmp.Compare(b.Cold.UpdatedAtMs, a.Cold.UpdatedAtMs)
		case engine.ByHits:
			order = cmp.Compare(m.hits[b.Hot.Code], m.hits[a.Hot.Code])
		}
		if order = cmp.Or(order, cmp.Compare(b.Hot.ID, a.Hot.ID)); q.Ascending {
			order = -order
		}
		return order
	})
	for _, r := range append(first, found...) {
		codes = append(codes, r.Hot.Code)
	}
	return codes
}

// selected reports whether q asks for a link, whatever its words.
func (m *searchModel) selected(q *engine.LinkQuery, r *engine.Record) bool {
	return (q.AnyOwner || slices.ContainsFunc(q.Owners, func(o engine.OwnerRange) bool { return o.First <= r.Hot.Owner && r.Hot.Owner <= o.Last })) && (q.Tag == "" || engine.HasTag(r.Cold.Tags, q.Tag)) &&
		(q.Select == nil || r.Hot.Flags.Disabled()) && (q.WantHits == nil || m.hits[r.Hot.Code] == 0) &&
		(q.CreatedFromMs == 0 || r.Cold.CreatedAtMs >= q.CreatedFromMs) && (q.CreatedBeforeMs == 0 || r.Cold.CreatedAtMs < q.CreatedBeforeMs)
}

func hasWords(r *engine.Record, typed string) bool {
	text := engine.AppendSearched(nil, &r.Hot, &r.Cold)
	for word := range bytes.FieldsSeq(search.Append(nil, typed)) {
		if !bytes.Contains(text, word) {
			return false
		}
	}
	return true
}

// Texts are of few characters, so that words are often found.
var (
	someText  = rapid.StringOfN(rapid.SampledFrom([]rune("aAéEéßs ü/Ⅳ한")), 0, 6, -1)
	someAlias = rapid.StringMatching(`[aAbB]{2,5}`)
)

// write makes, edits, hits or deletes a link.
func (m *searchModel) write(t *rapid.T) {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if kind < 5 || len(m.links) == 0 {
		m.make(t)
		return
	}
	code := rapid.SampledFrom(m.codes()).Draw(t, "code")
	any := engine.Guard{AnyOwner: true}
	switch {
	case kind < 7:
		_, err := m.Update(context.Background(), keyOf(code), any, func(r *engine.Record) error {
			r.Cold.Title, r.Cold.Note = strings.TrimSpace(someText.Draw(t, "title")), someText.Draw(t, "note")
			return nil
		})
		expect.OK(t, err)
		m.read(t, code)
	case kind < 8:
		expect.OK(t, m.Delete(context.Background(), keyOf(code), any))
		delete(m.links, code)
		delete(m.hits, code)
	default:
		l, ok := m.Resolve(keyOf(code).View())
		expect.MustThat(t, ok, "%q is not there", code)
		m.Hit(l, engine.Visit{Visitor: 1, NowMs: 1000})
		l.Release()
		m.hits[code]++
	}
}

func (m *searchModel) make(t *rapid.T) {
	d := engine.Draft{
		Owner: uint32(rapid.IntRange(1, 2).Draw(t, "owner")), Texts: engine.Texts{Title: someText.Draw(t, "title")}, Disabled: rapid.Bool().Draw(t, "disabled"),
		Target: "https://example.com/%C3%A9" + strings.ReplaceAll(someText.Draw(t, "target"), " ", "+") + strings.Repeat("x", rapid.IntRange(0, 1).Draw(t, "long")*600),
	}
	if rapid.Bool().Draw(t, "tagged") {
		d.Tags = []string{rapid.SampledFrom([]string{"é", "S", "s t"}).Draw(t, "tag")}
	}
	if rapid.Bool().Draw(t, "named") {
		d.Alias = someAlias.Draw(t, "alias")
	}
	made, _, err := m.Create(context.Background(), d)
	if errors.Is(err, engine.ErrTaken) {
		return
	}
	expect.OK(t, err)
	m.read(t, made.Code)
}

// read takes a link of the store into the model.
func (m *searchModel) read(t *rapid.T, code string) {
	rec, err := m.gate.Store.ReadRecord(keyOf(code))
	expect.OK(t, err)
	m.links[code] = rec
}

func (m *searchModel) codes() (codes []string) {
	for code := range m.links {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// query draws a query for typed words.
func (m *searchModel) query(t *rapid.T, typed string) engine.LinkQuery {
	q := engine.LinkQuery{
		ListRange: engine.ListRange{Owners: engine.OneOwner(uint32(rapid.IntRange(1, 2).Draw(t, "whose"))), AnyOwner: rapid.Bool().Draw(t, "any"), Words: wordsOf(typed)},
		Limit:     rapid.IntRange(1, 30).Draw(t, "limit"), Total: rapid.Bool().Draw(t, "total"),
		Order:     rapid.SampledFrom([]engine.Order{engine.ByID, engine.ByCreation, engine.ByUpdate, engine.ByHits}).Draw(t, "order"),
		Ascending: rapid.Bool().Draw(t, "ascending"),
	}
	sometimes := func(what string) bool { return rapid.IntRange(0, 2).Draw(t, what) == 0 }
	if sometimes("by code") {
		q.Code.Code = someAlias.Draw(t, "asked")
	}
	if sometimes("select") {
		q.Select = isDisabled
	}
	if sometimes("by hits") {
		q.WantHits = func(hits uint64) bool { return hits == 0 }
	}
	if sometimes("by tag") {
		q.Tag = rapid.SampledFrom([]string{"É", "s", "S T", "x"}).Draw(t, "tag")
	}
	if len(m.links) > 0 && sometimes("by time") {
		at := m.links[rapid.SampledFrom(m.codes()).Draw(t, "of")].Cold.CreatedAtMs
		q.CreatedFromMs, q.CreatedBeforeMs = at, at+int64(rapid.IntRange(0, 2).Draw(t, "to"))
	}
	return q
}

// TestASearchFindsWhatAPlainScanFinds asks for links in all orders, by pages of any size, between writes.
func TestASearchFindsWhatAPlainScanFinds(t *testing.T) {
	m := &searchModel{testEngine: newTestEngine(t, engine.Options{}), links: map[string]engine.Record{}, hits: map[string]uint64{}}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 8).Draw(rt, "writes") {
			m.write(rt)
		}
		typed := someText.Draw(rt, "typed")
		q := m.query(rt, typed)
		want := m.wanted(&q, typed)
		var got []string
		var total uint64
		for {
			page, err := m.ListLinks(context.Background(), q)
			expect.OK(rt, err)
			total = page.Total
			for _, l := range page.Links {
				got = append(got, l.Code)
			}
			if q.After = page.Next; q.After == nil {
				break
			}
			expect.MustThat(rt, len(page.Links) == q.Limit, "%q: a page has %d links of %d", typed, len(page.Links), q.Limit)
		}
		expect.MustThat(rt, slices.Equal(got, want) && (!q.Total || total == uint64(len(want))), "%q, %+v: got %q, in all %d, want %q", typed, q, got, total, want)
	})
}

// TestASearchOfTheNewestReadsNoMoreThanItNeeds counts the turns in which 40,000 rows are read.
func TestASearchOfTheNewestReadsNoMoreThanItNeeds(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.fill(t, 1, 40_000, 40_000)
	for words, links := range map[string]int{"title": 50, "no link has this": 0} {
		turns := 0
		page, err := e.ListLinksInTurns(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), Words: wordsOf(words)}, Limit: 50},
			func(step func() error) error {
				turns++
				return step()
			})
		expect.MustThat(t, err == nil && len(page.Links) == links, "%q: got %d links, %v", words, len(page.Links), err)
		expect.That(t, turns == 3 || links == 0 && turns > 3, "%q: read in %d turns", words, turns)
	}
}

func TestASearchEndsWithAnErrorOfItsTurns(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.make(t, engine.Draft{Alias: "a"})
	late := errors.New("late")
	for fail := range 3 {
		n := 0
		_, err := e.ListLinksInTurns(context.Background(), engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), Words: wordsOf("a")}, Limit: 5},
			func(step func() error) error {
				if n++; n > fail {
					return late
				}
				return step()
			})
		expect.Error(t, err, late, fmt.Sprint("turn ", fail))
	}
}
