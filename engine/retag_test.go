package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// tagList returns the tags of an owner, page by page: "name links" of each.
func (e *testEngine) tagList(t testing.TB, q engine.TagQuery) (tags []string) {
	t.Helper()
	for {
		page, err := e.ListTagsInTurns(context.Background(), q, func(step func() error) error { return step() })
		expect.MustThat(t, err == nil && len(page.Tags) <= q.Limit, "got %d tags, %v", len(page.Tags), err)
		for _, tag := range page.Tags {
			tags = append(tags, fmt.Sprint(tag.Name, " ", tag.Links))
		}
		if q.After = page.Next; q.After == "" {
			return tags
		}
	}
}

// A tagModel is links with tags: a plain map.
type tagModel struct {
	*testEngine
	tags  map[string][]string // by code
	codes []string            // the oldest first
}

// counts returns what tagList must.
func (m *tagModel) counts(prefix string) (want []string) {
	type count struct {
		folded, name string
		links        int
	}
	var all []count
	for _, code := range slices.Backward(m.codes) {
		for _, tag := range m.tags[code] {
			at := slices.IndexFunc(all, func(c count) bool { return c.folded == engine.FoldTag(tag) })
			if at < 0 {
				at, all = len(all), append(all, count{engine.FoldTag(tag), tag, 0})
			}
			all[at].links++
		}
	}
	slices.SortFunc(all, func(a, b count) int { return cmp.Compare(a.folded, b.folded) })
	for _, c := range all {
		if strings.HasPrefix(c.folded, engine.FoldTag(prefix)) {
			want = append(want, fmt.Sprint(c.name, " ", c.links))
		}
	}
	return want
}

func (m *tagModel) check(rt *rapid.T, t testing.TB) {
	for _, prefix := range []string{"", "A", "x"} {
		q := engine.TagQuery{Owner: 1, Prefix: prefix, Limit: rapid.IntRange(1, 4).Draw(rt, "limit")}
		if got, want := m.tagList(t, q), m.counts(prefix); !slices.Equal(got, want) {
			rt.Fatalf("tags that begin with %q: got %q, want %q", prefix, got, want)
		}
	}
	tag := rapid.SampledFrom(modelTags).Draw(rt, "listed")
	var want []string
	for _, code := range slices.Backward(m.codes) {
		if engine.HasTag(m.tags[code], tag) {
			want = append(want, code)
		}
	}
	if got, _ := m.testEngine.codes(t, engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1), Tag: tag}, Limit: 3}); !slices.Equal(got, want) {
		rt.Fatalf("links with %q: got %q, want %q", tag, got, want)
	}
}

var modelTags = []string{"a", "A", "ab", "aB", "b", "ß", "ẞ", "x/y"}

// TestTagsAreAPlainMapThroughAnyHistory makes, edits and deletes links, and renames and deletes tags.
func TestTagsAreAPlainMapThroughAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := tagModel{testEngine: newTestEngine(t, engine.Options{}), tags: map[string][]string{}}
		m.make(t, engine.Draft{Owner: 2, Alias: "foreign", Tags: []string{"a"}})
		sent := rapid.SliceOfN(rapid.SampledFrom(modelTags), 0, 5)
		some := rapid.SampledFrom(modelTags)
		for i := range rapid.IntRange(1, 15).Draw(rt, "steps") {
			switch what := rapid.IntRange(0, 5).Draw(rt, "step"); {
			case what < 2 || len(m.codes) == 0:
				code := fmt.Sprint("c", i)
				tags := sent.Draw(rt, "tags")
				m.make(t, engine.Draft{Alias: code, Tags: tags})
				m.tags[code], m.codes = engine.DistinctTags(tags), append(m.codes, code)
			case what == 2:
				code, tags := rapid.SampledFrom(m.codes).Draw(rt, "code"), sent.Draw(rt, "tags")
				d, err := m.Update(context.Background(), keyOf(code), engine.Guard{Owner: 1}, func(rec *engine.Record) error { rec.Cold.Tags = tags; return nil })
				m.tags[code] = engine.DistinctTags(tags)
				expect.MustThat(rt, err == nil && slices.Equal(d.Tags, m.tags[code]), "got %q, %v, want %q", d.Tags, err, m.tags[code])
			case what == 3:
				code := rapid.SampledFrom(m.codes).Draw(rt, "code")
				expect.OK(rt, m.Delete(context.Background(), keyOf(code), engine.Guard{Owner: 1}))
				m.codes = slices.DeleteFunc(m.codes, func(c string) bool { return c == code })
			default:
				name := ""
				if what == 4 {
					name = some.Draw(rt, "name")
				}
				m.retag(rt, some.Draw(rt, "tag"), name)
			}
			m.check(rt, t)
		}
		expect.MustSlices(rt, m.tagList(t, engine.TagQuery{Owner: 2, Limit: 9}), []string{"a 1"}, "another owner's")
	})
}

// An owner with many links of few tags reads no more than a fixed number of rows of each tag, and finds them all.
func TestTagsOfManyLinksAreCountedInBoundedReads(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	items := make([]engine.BulkItem, 1000)
	for i := range items {
		items[i].Draft = engine.Draft{Owner: 1, Target: "https://example.com/", Tags: []string{"b", "a", "c"}}
	}
	items[500].Draft.Tags = []string{"B", "aa", "d"}
	_, err := e.CreateBulk(context.Background(), items)
	expect.OK(t, err)
	all := engine.TagQuery{Owner: 1, Limit: 100}
	for _, c := range []struct {
		q    engine.TagQuery
		want []string
		rows int64
	}{
		{all, []string{"a 999", "aa 1", "b 1000", "c 999", "d 1"}, 20_000},
		{engine.TagQuery{Owner: 1, Limit: 100, TagRows: 50}, []string{"a 50", "aa 1", "b 99", "c 50", "d 1"}, 5 * 50},
		{engine.TagQuery{Owner: 1, Limit: 100, TagRows: 2000}, []string{"a 999", "aa 1", "b 1000", "c 999", "d 1"}, 4000},
		{engine.TagQuery{Owner: 1, Limit: 100, Rows: 20_001, TagRows: 50}, []string{"a 50", "aa 1", "b 99", "c 50", "d 1"}, 5 * 50},
		{engine.TagQuery{Owner: 1, Limit: 2, TagRows: 50}, []string{"a 50", "aa 1"}, 4 * 50},
	} {
		before := e.gate.tagRows.Load()
		page, err := e.ListTagsInTurns(context.Background(), c.q, func(step func() error) error { return step() })
		expect.OK(t, err)
		var got []string
		for _, tag := range page.Tags {
			got = append(got, fmt.Sprint(tag.Name, " ", tag.Links))
		}
		expect.Slices(t, got, c.want, "%+v", c.q)
		rows := e.gate.tagRows.Load() - before
		expect.That(t, rows > 0 && rows <= c.rows, "%+v: %d rows, want at most %d", c.q, rows, c.rows)
	}
}

// retag renames or deletes a tag in both.
func (m *tagModel) retag(rt *rapid.T, tag, name string) {
	found, changed := false, uint64(0)
	for _, code := range m.codes {
		old := m.tags[code]
		if !engine.HasTag(old, tag) {
			continue
		}
		found = true
		var now []string
		for _, has := range old {
			switch {
			case name != "" && (engine.HasTag([]string{has}, tag) || engine.HasTag([]string{has}, name)):
				now = append(now, name)
			case !engine.HasTag([]string{has}, tag):
				now = append(now, has)
			}
		}
		if now = engine.DistinctTags(now); !slices.Equal(now, old) {
			changed++
		}
		m.tags[code] = now
	}
	done, err := m.EditTag(context.Background(), engine.TagEdit{Owner: 1, Tag: tag, Name: name})
	switch {
	case !found && !errors.Is(err, engine.ErrNotFound), found && (err != nil || !done.Complete || done.Links != changed):
		rt.Fatalf("%q to %q: got %+v, %v, want %d links, found %v", tag, name, done, err, changed, found)
	}
}

func TestARenameThatIsCutOffGoesOnWhenItIsRepeated(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for i := range 2500 {
		e.make(t, engine.Draft{Alias: fmt.Sprint("l", i), Tags: []string{"old"}})
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	done, err := e.EditTag(over, engine.TagEdit{Owner: 1, Tag: "old", Name: "new"})
	expect.That(t, !done.Complete && done.Links <= 0, "with its time over: got %+v, %v", done, err)
	x := engine.TagEdit{Owner: 1, Tag: "OLD", Name: "new", Limit: 1000}
	var links []uint64
	for {
		done, err := e.EditTag(context.Background(), x)
		expect.OK(t, err)
		if links = append(links, done.Links); done.Complete {
			break
		}
	}
	expect.Slices(t, links, []uint64{1000, 1000, 500}, "links in turn")
	expect.Slices(t, e.tagList(t, engine.TagQuery{Owner: 1, Limit: 9}), []string{"new 2500"})
	if d, err := e.Read(keyOf("l7")); err != nil || d.Version != 2 {
		t.Errorf("a link has version %d, %v, want 2: it is edited once", d.Version, err)
	}
}

func TestARenameLosesNoEditThatIsMadeMeanwhile(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	const n = 300
	for i := range n {
		e.make(t, engine.Draft{Alias: fmt.Sprint("l", i), Tags: []string{"old"}})
	}
	var editing sync.WaitGroup
	editing.Go(func() {
		for i := range n {
			code := fmt.Sprint("l", i)
			var err error
			if i%3 == 0 {
				err = e.Delete(context.Background(), keyOf(code), engine.Guard{Owner: 1})
			} else {
				_, err = e.Update(context.Background(), keyOf(code), engine.Guard{Owner: 1}, func(rec *engine.Record) error {
					rec.Cold.Title, rec.Cold.Tags = "edited", append(rec.Cold.Tags, "more")
					return nil
				})
			}
			expect.NoError(t, err)
		}
	})
	done, err := e.EditTag(context.Background(), engine.TagEdit{Owner: 1, Tag: "old", Name: "new"})
	expect.That(t, err == nil && done.Complete, "got %+v, %v", done, err)
	editing.Wait()
	expect.Slices(t, e.tagList(t, engine.TagQuery{Owner: 1, Limit: 9}), []string{"more 200", "new 200"})
}

func TestATagThatNoLinkCanHaveIsRefused(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.make(t, engine.Draft{Alias: "x", Tags: []string{"a"}})
	for _, name := range []string{strings.Repeat("x", engine.MaxTagBytes+1), "a\x00b"} {
		var invalid engine.InvalidError
		_, err := e.EditTag(context.Background(), engine.TagEdit{Owner: 1, Tag: "a", Name: name})
		expect.That(t, errors.As(err, &invalid), "%q: got %v", name, err)
		if _, _, err := e.Create(context.Background(), engine.Draft{Owner: 1, Target: "http://a/", Tags: []string{name}}); !errors.As(err, &invalid) {
			t.Errorf("a link with %q: got %v", name, err)
		}
	}
}

// A link whose figures are reset has a new id, which the walk may have passed.
func TestARenameFindsLinksThatAreResetMeanwhile(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	const n = 2500 // several steps
	for i := range n {
		e.make(t, engine.Draft{Alias: fmt.Sprint("l", i), Tags: []string{"old"}})
	}
	var resetting sync.WaitGroup
	resetting.Go(func() {
		for i := range 20 { // the oldest, which come last
			_, err := e.Reset(context.Background(), keyOf(fmt.Sprint("l", i)), engine.Guard{Owner: 1})
			expect.NoError(t, err)
		}
	})
	done, err := e.EditTag(context.Background(), engine.TagEdit{Owner: 1, Tag: "old", Name: "new"})
	if resetting.Wait(); err != nil || !done.Complete || done.Links != n {
		t.Errorf("got %+v, %v", done, err)
	}
	expect.Slices(t, e.tagList(t, engine.TagQuery{Owner: 1, Limit: 9}), []string{fmt.Sprint("new ", n)})
}
