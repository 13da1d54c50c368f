package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
)

// hit records each visit of a link n times, directly in the engine.
func (st *site) hit(code string, n int, visits ...engine.Visit) {
	st.t.Helper()
	l, ok := st.engine.Resolve(keyOf(code).View())
	expect.MustThat(st.t, ok, "%s: no such link", code)
	for _, v := range visits {
		if v.NowMs == 0 {
			v.NowMs = st.now.Load()
		}
		for range n {
			expect.MustThat(st.t, st.engine.Hit(l, v), "%s is used up", code)
		}
	}
	l.Release()
}

// wantBody checks the answer to a GET of the API.
func (st *site) wantBody(path, want string) {
	st.t.Helper()
	st.call("GET", path, "").expect(st.t, path, 200, bodyOf(want+"\n"))
}

func TestAnsweredHitsAreInEveryWindowAtOnce(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for n := 1; n <= 3; n++ {
		st.get("/x", browser)
		figures := fmt.Sprintf(`"hits":%d,"unique":1`, n)
		for _, path := range []string{
			"/stats/x", "/stats/x?from=2026-01-02", "/stats/x?interval=hour", "/stats/x?interval=day", "/stats/x?include=bots",
			"/stats", "/stats?interval=hour", "/stats?top=1",
		} {
			r := st.call("GET", path, "")
			expect.That(t, r.status == 200 && strings.HasPrefix(r.body, "{"+figures), "%s: got %d %s, want %s", path, r.status, r.body, figures)
			expect.That(t, (!strings.Contains(path, "interval") || strings.Contains(r.body, figures+"}]")) &&
				(!strings.Contains(path, "top") || strings.Contains(r.body, `[{"code":"x",`+figures+"}]")), "%s: got %s, want %s at its end", path, r.body, figures)
		}
	}
}

func TestAWindowAddsUpItsBuckets(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`) // at 03:04:05
	st.hit("x", 2, engine.Visit{Visitor: 1})
	st.now.Add(time.Hour.Milliseconds())
	st.hit("x", 1, engine.Visit{Visitor: 1}, engine.Visit{Visitor: 2}, engine.Visit{Visitor: 3, Kind: engine.Kind(engine.ClassBot)})
	st.now.Add(2 * time.Hour.Milliseconds())
	const hours = `"series":[{"from":"2026-01-02T03:00:00Z","hits":2,"unique":1},{"from":"2026-01-02T04:00:00Z","hits":2,"unique":2},` +
		`{"from":"2026-01-02T05:00:00Z","hits":0,"unique":0},{"from":"2026-01-02T06:00:00Z","hits":0,"unique":0}]`
	for query, want := range map[string]string{
		"": `{"hits":4,"unique":2}`,
		"?from=2026-01-02T03:00:00Z&interval=hour":            `{"hits":4,"unique":2,"from":"2026-01-02T03:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC",` + hours + `}`,
		"?interval=hour&from=2026-01-02T04%3A59%3A59%2B01:00": `{"hits":4,"unique":2,"from":"2026-01-02T03:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC",` + hours + `}`,
		"?from=2026-01-02T04:00:00Z&to=2026-01-02T04:00:01Z":  `{"hits":2,"unique":2,"from":"2026-01-02T04:00:00Z","to":"2026-01-02T05:00:00Z","time_zone":"UTC"}`,
		"?from=2026-01-02T06:00:00+02:00":                     `{"hits":2,"unique":2,"from":"2026-01-02T04:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC"}`, // + is a space
		"?from=2026-01-02T03:00:00.999999999-00:00":           `{"hits":4,"unique":2,"from":"2026-01-02T03:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC"}`,
		"?from=2026-01-02&to=2026-01-02T04:00:00Z":            `{"hits":2,"unique":1,"from":"2026-01-02T00:00:00Z","to":"2026-01-02T04:00:00Z","time_zone":"UTC"}`,
		"?to=9999-12-31T23:59:59Z":                            `{"hits":4,"unique":2,"from":"2026-01-02T03:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC"}`,
		"?from=0000-01-01":                                    `{"hits":4,"unique":2,"from":"2024-11-28T00:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC"}`,
		"?from=2026-01-02&interval=day": `{"hits":4,"unique":2,"from":"2026-01-02T00:00:00Z","to":"2026-01-03T00:00:00Z","time_zone":"UTC",` +
			`"series":[{"from":"2026-01-02T00:00:00Z","hits":4,"unique":2}]}`,
		"?from=2026-01-02T05:00:00Z&include=bots,error": `{"hits":0,"unique":0,"from":"2026-01-02T05:00:00Z","to":"2026-01-02T07:00:00Z","time_zone":"UTC","bots":{"bots":0,"prefetches":0,"heads":0},"error":0}`,
	} {
		st.wantBody("/stats/x"+query, want)
	}
}

func TestWhatIsIncludedIsAddedToTheFigures(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","max_hits":100}`)
	nothing := `"bots":{"bots":0,"prefetches":0,"heads":0},"referrers":[],"countries":[],"devices":[],"browsers":[],"durability":{"durable_hits":0,`
	const all = "bots,referrers,countries,devices,browsers,durability,error"
	r := st.call("GET", "/stats/x?include="+all, "")
	expect.That(t, strings.HasPrefix(r.body, `{"hits":0,"unique":0,`+nothing) && strings.HasSuffix(r.body, `},"error":0}`+"\n"), "without hits: got %s", r.body)
	news := st.engine.Referrer([]byte("news.example"))
	st.hit("x", 2,
		engine.Visit{Visitor: 1, Values: engine.Values{Country: engine.CountryOf("DE"), Agent: engine.AgentOf(engine.Mobile, engine.Safari), Referrer: news}},
		engine.Visit{Kind: engine.Kind(engine.ClassBot)}, engine.Visit{Kind: engine.Kind(engine.ClassPrefetch)}, engine.Visit{Kind: engine.Kind(engine.ClassHead)})
	st.hit("x", 1,
		engine.Visit{Visitor: 2, Values: engine.Values{Country: engine.CountryOf("FR"), Agent: engine.AgentOf(engine.Desktop, engine.Edge)}},
		engine.Visit{Visitor: 3}, engine.Visit{Kind: engine.Kind(engine.ClassHead)},
		engine.Visit{Visitor: 4, Values: engine.Values{Referrer: st.engine.Referrer([]byte("other"))}}, engine.Visit{Visitor: 5, Values: engine.Values{Referrer: st.engine.Referrer([]byte("direct"))}})
	st.wantStats("x", 6, 5) // folds
	expect.NoError(t, st.engine.Flush())
	st.hit("x", 1, engine.Visit{Visitor: 3})
	lists := `"referrers":[{"value":"direct","hits":3},{"value":"news.example","hits":2},{"value":"other","hits":2}],` +
		`"countries":[{"value":"DE","hits":2},{"value":"FR","hits":1},{"value":"other","hits":4}],` +
		`"devices":[{"value":"mobile","hits":2},{"value":"desktop","hits":1},{"value":"other","hits":4}],` +
		`"browsers":[{"value":"Safari","hits":2},{"value":"Edge","hits":1},{"value":"other","hits":4}]`
	const counts, window = `{"hits":7,"unique":5`, `,"from":"2026-01-02T03:00:00Z","to":"2026-01-02T04:00:00Z","time_zone":"UTC"`
	const bots = `,"bots":{"bots":2,"prefetches":2,"heads":3},`
	const durable = `,"durability":{"durable_hits":6,"flushed_at":"2026-01-02T03:04:05Z"},"error":0}`
	st.wantBody("/stats/x?include="+all, counts+bots+lists+durable)
	st.wantBody("/stats/x?include=error&include=bots,durability&include=devices,browsers,devices&include=referrers,countries", counts+bots+lists+durable)
	st.wantBody("/stats/x?from=2026-01-02T03:00:01Z&include="+all, counts+window+bots+lists+durable)
	st.wantBody("/stats?from=2026-01-02T03:00:00Z&include="+all, counts+window+bots+lists+durable)
	st.wantBody("/stats/x?include=error", counts+`,"error":0}`)
}

func TestAListShowsFiftyValuesAndTheRestAsOther(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	total := uint64(0)
	for i := range 300 { // more than are kept
		n := 1 + i/10
		st.hit("x", n, engine.Visit{Visitor: uint64(i), Values: engine.Values{Referrer: st.engine.Referrer(fmt.Appendf(nil, "h%03d.example", i))}})
		total += uint64(n)
	}
	st.hit("x", 5000, engine.Visit{Visitor: 1000}, engine.Visit{Visitor: 1001, Values: engine.Values{Agent: engine.AgentOf(0, engine.Chrome)}})
	total += 10_000
	for _, path := range []string{"/stats/x?include=referrers,browsers", "/stats/x?include=referrers,browsers&from=2026-01-02", "/stats?include=referrers,browsers"} {
		var o ops.Figures
		r := st.call("GET", path, "")
		expect.MustThat(t, json.Unmarshal([]byte(r.body), &o) == nil && o.Hits == total && o.Error == nil, "%s: got %+v, want %d hits", path, r, total)
		if n := len(o.Referrers); n != engine.ShownValues+1 || o.Referrers[0].Value != "direct" || o.Referrers[0].Hits < 10_000-total/engine.MaxValues || o.Referrers[n-1].Value != "other" {
			t.Errorf("%s: got %+v", path, o.Referrers)
		}
		expect.That(t, len(o.Browsers) == 2 && o.Browsers[0] == (ops.ValueFigures{Value: "Chrome", Hits: 5000}) && o.Countries == nil,
			"%s: got %+v", path, o)
		for _, list := range [][]ops.ValueFigures{o.Referrers, o.Browsers} {
			sum := uint64(0)
			for i, v := range list {
				sum += v.Hits
				expect.That(t, (i <= 0 || v.Value == "other" || v.Hits <= list[i-1].Hits) && v.Hits != 0, "%s: %+v does not descend", path, v)
			}
			expect.Equal(t, sum, total, "%s: values add up to", path)
		}
	}
}

func TestUniqueIsExactUpToALimitThenEstimated(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for i := range uint64(engine.MaxExactVisitors) {
		st.hit("x", 1, engine.Visit{Visitor: i * 0x9e3779b97f4a7c15})
	}
	st.wantBody("/stats/x?include=error", `{"hits":1024,"unique":1024,"error":0}`)
	st.hit("x", 1, engine.Visit{Visitor: 5})
	for _, path := range []string{"/stats/x?include=error", "/stats?include=error"} {
		st.call("GET", path, "").expect(t, path, `"error":0.008125}`)
	}
}

var badStatsQueries = map[string]string{ // query: fields
	"colour=red": "colour:unknown", "From=2026-01-01": "From:unknown",
	"from=": "from:format", "from": "from:format", "from=yesterday": "from:format", "from=2026-13-01": "from:format", "from=2026-1-1": "from:format",
	"from=2026-02-30": "from:format", "from=1767322800": "from:format", "from=2026-01-02T03:00:00": "from:format", "from=2026-01-02T3:00:00Z": "from:format",
	"from=2026-01-02T03:00:00,5Z": "from:format", "from=2026-01-02T24:00:00Z": "from:format", "from=2026-01-02T03:00:60Z": "from:format",
	"from=2026-01-02 03:00:00Z": "from:format", "from=12026-01-02": "from:format", "from=2026-01-02%00": "from:format", "from=%ff": "from:format",
	"from=2026-01-02T03:00:00%2B25:00": "from:format", "from=0000-01-01T00:00:00%2B01:00": "from:format", "to=9999-12-31T23:59:59-01:00": "to:format",
	"from=2026-01-02T03:00:00." + strings.Repeat("0", 64) + "Z": "from:too_long", "interval=" + strings.Repeat("hour", 20): "interval:too_long",
	"from=2026-01-01&from=2026-01-01": "from:duplicate", "to=2026-01-01&to=x": "to:duplicate", "interval=day&interval=day": "interval:duplicate",
	"interval=": "interval:range", "interval=week": "interval:range", "interval=Hour": "interval:range", "interval=hour,day": "interval:range",
	"include=": "include:range", "include=hits": "include:range", "include=bots,": "include:range", "include=bots,%20error": "include:range",
	"include=bots&include=x": "include:range", "include=" + strings.Repeat("bots,", 20) + "bots": "include:too_long",
	"from=2026-01-02T03:05:00Z": "from:in_future", "from=2027-01-01": "from:in_future",
	"from=2026-01-02&to=2026-01-01": "from:reversed", "from=2026-01-02T01:00:00Z&to=2026-01-02T03:00:00%2B02:00": "from:reversed",
	"from=0001-01-01T00:00:00Z&to=1960-01-01": "to:reversed",
	"interval=hour&from=2025-12-25T02:59:59Z": "from:not_kept", "from=2020-01-01&to=2020-02-01": "to:reversed",
	"from=x&to=y&interval=z&include=a&b=c": "from:format to:format interval:range include:range b:unknown",
}

func TestABadStatsQueryIsRefusedNamingWrongFields(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for query, fields := range badStatsQueries {
		for _, path := range []string{"/stats/x?", "/stats?"} {
			st.call("GET", path+strings.ReplaceAll(query, " ", "%20"), "").expect(t, fmt.Sprintf("%s%s", path, query), 422, problemOf("invalid"), fieldsOf(fields))
		}
	}
	for query, fields := range map[string]string{
		"top=": "top:range", "top=0": "top:range", "top=1001": "top:range", "top=-1": "top:range", "top=%2B1": "top:range", "top=x": "top:range",
		"top=1&top=2": "top:duplicate", "tag=": "tag:required", "tag=a%0ab": "tag:characters", "tag=%ff": "tag:characters",
		"tag=" + strings.Repeat("x", 65): "tag:too_long", "tag=a&tag=b": "tag:duplicate", "owner=-1": "owner:range",
	} {
		st.call("GET", "/stats?"+query, "").expect(t, "/stats?"+query, 422, fieldsOf(fields))
	}
	for _, query := range []string{"top=5", "tag=a"} {
		st.call("GET", "/stats/x?"+query, "").expect(t, fmt.Sprintf("/stats/x?%s", query), 422, fieldsOf(query[:3]+":unknown"))
	}
	// A window before 1970 must not become one of 4,294,967,295 hours.
	for _, query := range []string{"to=1960-01-01&interval=hour", "to=0001-01-01T00:00:00Z&interval=day", "from=0001-01-01T00:00:00Z&to=1969-12-31"} {
		for _, path := range []string{"/stats/x?", "/stats?top=1&"} {
			if r := st.call("GET", path+query, ""); r.status != 422 && (r.status != 200 || !strings.Contains(r.body, `"hits":0,`) || len(r.body) > 1000) {
				t.Errorf("%s%s: got %d %.500s", path, query, r.status, r.body)
			}
		}
	}
}

func TestStatsOfAllOwnersNeedAnAdminAndABound(t *testing.T) {
	st := newSite(t, nil)
	st.callAs(st.member("ann@example.com"), "GET", "/stats?owner=all", "").expect(t, "a member", problemOf("forbidden"))
	made := uint32(0)
	for users, want := range []int{1000: 200, 2000: 200, 2001: 422} {
		if want == 0 {
			continue
		}
		items := make([]engine.BulkItem, uint32(users)-made)
		for i := range items {
			made++
			items[i].Draft = engine.Draft{Owner: made, Target: "https://a.example/"}
		}
		expect.NoError(t, expect.Err(st.engine.CreateBulk(t.Context(), items)))
		r := st.call("GET", "/stats?owner=all", "")
		expect.That(t, r.status == want && (want != 422 || r.fields() == "owner:too_many"), "%d users: got %d %s", users, r.status, r.body)
	}
}

func TestOwnerStatsCoverAllLinksOfTheOwners(t *testing.T) {
	st := newSite(t, nil)
	ann, ben := st.member("ann@example.com"), st.member("ben@example.com") // 2 and 3
	for _, c := range []struct{ token, link string }{
		{ann, `{"url":"http://a/","alias":"a1","tags":["t","ü n"]}`}, {ann, `{"url":"http://a/","alias":"a2","tags":["t"]}`},
		{ann, `{"url":"http://a/","alias":"a3"}`}, {ben, `{"url":"http://b/","alias":"b1","tags":["t"]}`},
	} {
		st.callAs(c.token, "POST", "/shorten", c.link).need(t, "", 201)
	}
	st.hit("a1", 1, engine.Visit{Visitor: 1})
	st.hit("a2", 2, engine.Visit{Visitor: 1}, engine.Visit{Visitor: 2})
	st.hit("b1", 7, engine.Visit{Visitor: 3})
	const window, kept = `"from":"2026-01-02T03:00:00Z","to":"2026-01-02T04:00:00Z","time_zone":"UTC"`, `"from":"2024-11-28T00:00:00Z","to":"2026-01-02T04:00:00Z","time_zone":"UTC"`
	const a1, a2 = `{"code":"a1","hits":1,"unique":1}`, `{"code":"a2","hits":4,"unique":2}`
	for _, c := range []struct{ token, query, want string }{
		{ann, "", `{"hits":5,"unique":2,` + kept + `}`},
		{ann, "?top=1000", `{"hits":5,"unique":2,` + kept + `,"top":[` + a2 + `,` + a1 + `]}`},
		{ann, "?top=1&from=2026-01-02T03:00:00Z", `{"hits":5,"unique":2,` + window + `,"top":[` + a2 + `]}`},
		{ann, "?tag=%C3%BC+n&top=9", `{"hits":1,"unique":1,` + kept + `,"top":[` + a1 + `]}`},
		{ann, "?tag=t", `{"hits":5,"unique":2,` + kept + `}`},
		{ann, "?tag=none&top=3&include=referrers", `{"hits":0,"unique":0,` + kept + `,"referrers":[],"top":[]}`},
		{ann, "?from=2026-01-02T03:00:00Z&interval=hour&top=1", `{"hits":5,"unique":2,` + window + `,"series":[{"from":"2026-01-02T03:00:00Z","hits":5,"unique":2}],"top":[` + a2 + `]}`},
		{ben, "?top=2", `{"hits":7,"unique":1,` + kept + `,"top":[{"code":"b1","hits":7,"unique":1}]}`},
		{st.token, "?top=2", `{"hits":0,"unique":0,` + kept + `,"top":[]}`},
		{st.token, "?owner=3", `{"hits":7,"unique":1,` + kept + `}`},
		{st.token, "?owner=all&top=2", `{"hits":12,"unique":3,` + kept + `,"top":[{"code":"b1","hits":7,"unique":1},` + a2 + `]}`},
		{st.token, "?owner=all&tag=t&top=9", `{"hits":12,"unique":3,` + kept + `,"top":[{"code":"b1","hits":7,"unique":1},` + a2 + `,` + a1 + `]}`},
		{st.token, "?owner=all&tag=%C3%BC+n", `{"hits":1,"unique":1,` + kept + `}`},
		{st.token, "?owner=99", `{"hits":0,"unique":0,` + kept + `}`},
	} {
		st.callAs(c.token, "GET", "/stats"+c.query, "").expect(t, c.query, 200, bodyOf(c.want+"\n"))
	}
	for _, owner := range []string{"all", "2", "3", "x"} {
		st.callAs(ann, "GET", "/stats?owner="+owner, "").expect(t, fmt.Sprintf("owner=%s without scope admin", owner), problemOf("forbidden"))
	}
	st.callAs(ann, "DELETE", "/links/a2", "")
	st.callAs(ann, "GET", "/stats?top=5", "").expect(t, "after a delete", bodyOf(`{"hits":5,"unique":2,`+kept+`,"top":[`+a1+`]}`+"\n"))
}

func TestAForeignLinkHasNoFigures(t *testing.T) {
	st := newSite(t, nil)
	ann := st.member("ann@example.com")
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	for _, path := range []string{"?include=bots", "?from=2026-01-01", "?from=2030-01-01", "?interval=hour", "/live"} {
		missing, foreign := st.callAs(ann, "GET", "/stats/y"+path, ""), st.callAs(ann, "GET", "/stats/x"+path, "")
		expect.That(t, foreign.status == 404 && foreign.whole() == missing.whole(), "%s: foreign %+v, missing %+v", path, foreign, missing)
	}
	st.call("GET", "/stats/x?from=2026-01-01&owner=2", "").expect(t, "owner=2 as admin, another's link", 404)
	st.call("GET", "/stats/x?from=2026-01-01&owner=all", "").expect(t, "owner=all as admin", 200)
}

func TestAnyNumberOfLinksIsChosenFrom(t *testing.T) {
	st := newSite(t, nil)
	hitBefore := &engine.Import{Hits: 5} // more than the most-hit link will have in the window
	var making sync.WaitGroup
	for g := range 64 {
		making.Go(func() {
			for i := g; i <= engine.MaxScannedLinks; i += 64 {
				_, _, err := st.engine.Create(context.Background(), engine.Draft{
					Target: "http://a/", Alias: "c" + strconv.Itoa(i), Owner: 1, RedirectStatus: 302, Tags: []string{"all", "t" + strconv.Itoa(i%2)},
					Import: hitBefore,
				})
				expect.NoError(t, err)
			}
		})
	}
	making.Wait()
	st.hit("c7", 1, engine.Visit{Visitor: 1})
	for _, query := range []string{"top=1", "tag=all", "tag=all&top=1", "tag=t1&top=3", ""} {
		r := st.call("GET", "/stats?"+query, "")
		top := !strings.Contains(query, "top") || strings.Contains(r.body, `"top":[{"code":"c7","hits":1,"unique":1}]`)
		expect.That(t, r.status == 200 && top && strings.HasPrefix(r.body, `{"hits":1,`), "%s: got %d %s", query, r.status, r.body)
	}
}

// A date alone is a whole day, where a window begins and where it ends.
func TestAWindowOfDatesHasItsLastDay(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x")
	for query, want := range map[string]string{
		"from=2026-01-02&to=2026-01-02":        `{"hits":1,`,
		"from=2026-01-02t00:00z&to=2026-01-02": `{"hits":1,`,
		"from=2026-01-01&to=2026-01-01":        `{"hits":0,`,
	} {
		st.call("GET", "/stats/x?"+query, "").expect(t, query, want)
	}
}
