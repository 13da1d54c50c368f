package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// listAll reads a list to its end and returns its codes and states.
func (st *site) listAll(rt *rapid.T, token, query string) (codes []string, states map[string]string) {
	states = make(map[string]string)
	for cursor := ""; ; {
		page, r := st.list(token, query+"&cursor="+cursor)
		r.need(rt, query, 200)
		for _, o := range page.Data {
			_, twice := states[o.Code]
			expect.MustThat(rt, !twice, "%s: %s is listed twice", query, o.Code)
			codes, states[o.Code] = append(codes, o.Code), string(o.State)
		}
		if page.NextCursor == nil {
			return codes, states
		}
		cursor = *page.NextCursor
	}
}

// A stateModel is a link, as a plain filter needs it.
type stateModel struct {
	code, title, tag, state string
	ann                     bool // the owner; otherwise the admin
}

// makeInStates makes links with random properties, and returns them, the newest first. They have
// their states once two minutes have passed and b.example is blocked.
func (st *site) makeInStates(rt *rapid.T, ann string, run int) (links []stateModel) {
	for i := range rapid.IntRange(0, 25).Draw(rt, "links") {
		l := stateModel{
			code: fmt.Sprintf("r%d-%d", run, i), state: "active", ann: rapid.Bool().Draw(rt, "ann"),
			title: rapid.SampledFrom([]string{"", "One", "oneself", "two"}).Draw(rt, "title"),
			tag:   fmt.Sprint(run, rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "tag")),
		}
		states := statesOf(rapid.IntRange(0, 1<<len(linkStates)-1).Draw(rt, "states"))
		host, fields := "a.example", []string{fmt.Sprintf(`"alias":"%s","title":"%s","tags":["%s"]`, l.code, l.title, l.tag)}
		for _, s := range states {
			if s.field == "" {
				host = "b.example"
			} else if !s.stopsHits() {
				fields = append(fields, s.field)
			}
		}
		token := st.token
		if l.ann {
			token = ann
		}
		st.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
		st.callAs(token, "POST", "/shorten", fmt.Sprintf(`{"url":"http://%s/",%s}`, host, strings.Join(fields, ","))).need(rt, "", 201)
		st.get("/"+l.code, browser)
		for _, s := range states {
			if s.stopsHits() { // after the hit
				st.callAs(token, "PATCH", "/links/"+l.code, "{"+s.field+"}").need(rt, s.name, 200)
			}
		}
		if len(states) > 0 && !states[0].opens {
			l.state = states[0].name
		}
		links = slices.Insert(links, 0, l)
	}
	return links
}

func TestAListByStateIsAPlainFilter(t *testing.T) {
	t.Parallel()
	st := newSite(t, func(o *Options) { blocking(t, o, "") })
	ann, run := st.member("ann@example.com"), 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		expect.OK(rt, expect.Err(st.targets.Blocked.Replace(nil)))
		links := st.makeInStates(rt, ann, run)
		st.now.Add((2 * time.Minute).Milliseconds())
		expect.OK(rt, expect.Err(st.targets.Blocked.Replace([]byte("b.example\n"))))
		for _, state := range engine.States() {
			tag := fmt.Sprint(run, rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "tag"))
			prefix := rapid.SampledFrom([]string{"", "ONE", "two", "b.ex", fmt.Sprintf("R%d-1", run)}).Draw(rt, "q")
			all := rapid.Bool().Draw(rt, "all")
			query := url.Values{"state": {string(state)}, "tag": {tag}, "q": {prefix}, "limit": {fmt.Sprint(rapid.IntRange(1, 5).Draw(rt, "limit"))}}
			token := ann
			if all {
				token = st.token
				query.Set("owner", "all")
			}
			plain := url.Values{"tag": {tag}, "q": {prefix}, "limit": {"1000"}, "owner": query["owner"]}
			listed, states := st.listAll(rt, token, plain.Encode())
			want := slices.DeleteFunc(listed, func(code string) bool { return states[code] != string(state) })
			got, gotStates := st.listAll(rt, token, query.Encode())
			if !slices.Equal(got, want) || len(gotStates) > 0 && !slices.Equal(slices.Compact(slices.Collect(maps.Values(gotStates))), []string{string(state)}) {
				rt.Fatalf("%s: got %q with states %v, want %q", query.Encode(), got, gotStates, want)
			}
			if prefix != "" {
				continue
			}
			var model []string
			for _, l := range links {
				if l.state == string(state) && l.tag == tag && (all || l.ann) {
					model = append(model, l.code)
				}
			}
			expect.MustSlices(rt, got, model, "%s of the model", query.Encode())
		}
	})
}

// TestAStateListedUnderEditsIsTheStateShown disables and enables links while their list is read.
func TestAStateListedUnderEditsIsTheStateShown(t *testing.T) {
	st := newSite(t, nil)
	for i := range 40 {
		st.shorten(fmt.Sprintf(`{"url":"http://a.example/","alias":"l%d","disabled":%v}`, i, i%2 == 0))
	}
	stop := make(chan struct{})
	var editor sync.WaitGroup
	editor.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				st.call("PATCH", fmt.Sprint("/links/l", i%40), fmt.Sprintf(`{"disabled":%v}`, i/40%2 == 1))
			}
		}
	})
	defer editor.Wait()
	defer close(stop)
	for range 50 {
		for _, state := range []string{"active", "disabled"} {
			page, r := st.list(st.token, "limit=1000&state="+state)
			r.need(t, "", 200)
			for _, o := range page.Data {
				expect.That(t, string(o.State) == state, "a list of state %s has %+v", state, o)
			}
		}
	}
}

func TestTheDocumentNamesTheStatesOfTheEngine(t *testing.T) {
	var words []any
	for _, state := range engine.States() {
		words = append(words, string(state))
	}
	words = append(words, string(engine.StateDeleted)) // of the trash alone
	expect.Slices(t, theContract().doc.Components.Schemas["LinkState"].Value.Enum, words)
}
