package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// sentTo is the visit of somebody who was sent to a target.
func sentTo(visitor uint64, target uint8, country string) engine.Visit {
	return engine.Visit{
		Visitor: visitor, Kind: engine.KindOf(engine.ClassHit, target), Values: engine.Values{Country: engine.CountryOf(country)},
	}
}

// hadTargets makes a link that had targets of the numbers up to last, and has one target now.
func (st *site) hadTargets(code string, last int) {
	st.t.Helper()
	st.shorten(`{"url":"http://a/","alias":"` + code + `"}`)
	const rule = `{"url":"http://b/%d","conditions":[{"type":"device","match_value":"ios"}]},`
	for n := 1; n < last; { // 1 is the number of the link's own address
		var rules strings.Builder
		for range min(32, last-n) {
			fmt.Fprintf(&rules, rule, n)
			n++
		}
		st.call("PATCH", "/links/"+code, `{"rules":[`+strings.TrimSuffix(rules.String(), ",")+`]}`).need(st.t, code, 200)
	}
	st.call("PATCH", "/links/"+code, `{"rules":null}`).need(st.t, code, 200)
}

func TestFiguresOfTargets(t *testing.T) {
	st := newSite(t, nil)
	st.hadTargets("x", 255) // at 03:04:05
	st.hadTargets("y", 4)
	st.wantBody("/stats/x?include=targets", `{"hits":0,"unique":0,"targets":[]}`)
	st.hit("x", 2, sentTo(1, 3, "DE"), sentTo(2, 255, "FR"))
	st.hit("y", 1, sentTo(9, 4, "FR"))
	st.wantStats("x", 4, 2) // folds
	expect.NoError(t, st.engine.Flush())
	st.now.Add(time.Hour.Milliseconds())
	st.hit("x", 1, sentTo(1, 255, "DE"), sentTo(4, 0, "DE"), engine.Visit{Visitor: 7, Kind: engine.KindOf(engine.ClassBot, 3)})
	const window = `"from":"2026-01-02T04:00:00Z","to":"2026-01-02T05:00:00Z","time_zone":"UTC"`
	for query, want := range map[string]string{
		"": `{"hits":6,"unique":3}`,
		"?include=targets": `{"hits":6,"unique":3,"targets":[{"target":0,"hits":1},` +
			`{"target":3,"hits":2,"unique":1},{"target":255,"hits":3,"unique":2}]}`,
		"?from=2026-01-02T04:00:00Z&include=targets": `{"hits":2,"unique":2,` + window + `,"targets":[{"target":0,"hits":1},` +
			`{"target":3,"hits":0,"unique":0},{"target":255,"hits":1,"unique":1}]}`,
		"?target=255":                              `{"hits":3,"unique":2}`,
		"?target=3&include=error,bots":             `{"hits":2,"unique":1,"bots":{"bots":0,"prefetches":0,"heads":0},"error":0}`,
		"?target=255&from=2026-01-02T04:00:00Z":    `{"hits":1,"unique":1,` + window + `}`,
		"?target=3&from=2026-01-02T04:00:00Z":      `{"hits":0,"unique":0,` + window + `}`,
		"?target=255&include=countries":            `{"hits":3,"unique":2,"countries":[{"value":"FR","hits":2},{"value":"DE","hits":1}]}`,
		"?target=255&from=2026-01-02&interval=day": `{"hits":3,"unique":2,"from":"2026-01-02T00:00:00Z","to":"2026-01-03T00:00:00Z","time_zone":"UTC","series":[{"from":"2026-01-02T00:00:00Z","hits":3,"unique":2}]}`,
		"?include=bots,referrers,countries,devices,browsers,durability,error,targets&to=2026-01-02T04:00:00Z": `{"hits":4,"unique":2,` +
			`"from":"2026-01-02T03:00:00Z","to":"2026-01-02T04:00:00Z","time_zone":"UTC","bots":{"bots":0,"prefetches":0,"heads":0},` +
			`"referrers":[{"value":"direct","hits":4}],"countries":[{"value":"DE","hits":2},{"value":"FR","hits":2}],` +
			`"devices":[{"value":"other","hits":4}],"browsers":[{"value":"other","hits":4}],` +
			`"durability":{"durable_hits":4,"flushed_at":"2026-01-02T03:04:05Z"},"error":0,` +
			`"targets":[{"target":3,"hits":2,"unique":1},{"target":255,"hits":2,"unique":1}]}`,
	} {
		st.wantBody("/stats/x"+query, want)
	}
	st.wantBody("/stats?from=2026-01-02T04:00:00Z&top=5", `{"hits":2,"unique":2,`+window+`,"top":[{"code":"x","hits":2,"unique":2}]}`)
	r := st.call("GET", "/links?sort=hits", "")
	expect.That(t, strings.Count(r.body, `"code":`) == 2, "the list has targets: %s", r.body)
}

func TestFiguresOfTargetsAreCSV(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x","split":[{"url":"http://b/?a=1,2","weight":1},{"url":"http://c/","weight":1}]}`)
	st.call("PATCH", "/links/x", `{"split":[{"url":"http://b/?a=1,2","weight":1},{"url":"http://d/","weight":1}]}`).need(t, "", 200)
	st.hit("x", 2, sentTo(1, 2, "DE"), sentTo(2, 3, "FR"))
	st.hit("x", 1, sentTo(3, 0, "FR"))
	r := st.call("GET", "/stats/x?include=targets", "", "Accept: text/csv")
	expect.Equal(t, r.body, "part,code,from,to,value,hits,unique\ntotal,,,,,5,3\ntargets,,,,0,1,\ntargets,,,,1 http://a/,0,0\n"+
		"targets,,,,\"2 http://b/?a=1,2\",2,1\ntargets,,,,3,2,1\ntargets,,,,4 http://d/,0,0\n")
	st.now.Add(2 * time.Hour.Milliseconds())
	r = st.call("GET", "/stats/x?include=targets&from=2026-01-02T04:00:00Z&to=2026-01-02T05:00:00Z", "", "Accept: text/csv")
	expect.That(t, strings.Count(r.body, "\ntargets,") == 4, "another hour: got %s", r.body)
}

func TestABadTargetOfFiguresIsRefused(t *testing.T) {
	st := newSite(t, nil)
	st.hadTargets("x", 3)
	st.hit("x", 1, sentTo(1, 3, "DE"))
	for number, want := range map[string]string{"1": `{"hits":0,"unique":0}`, "2": `{"hits":0,"unique":0}`, "3": `{"hits":1,"unique":1}`} {
		st.wantBody("/stats/x?target="+number, want)
	}
	for query, fields := range map[string]string{
		"target=0": "target:range", "target=256": "target:range", "target=-1": "target:range", "target=%2B3": "target:range", "target=": "target:range",
		"target=x": "target:range", "target=3&target=3": "target:duplicate", "target=4": "target:unknown", "target=255&interval=day": "target:unknown",
		"target=3&include=targets": "target:conflict", "include=target": "include:range",
	} {
		st.call("GET", "/stats/x?"+query, "").expect(t, query, 422, problemOf("invalid"), fieldsOf(fields))
	}
	for query, fields := range map[string]string{"target=3": "target:unknown", "include=targets": "include:range"} {
		st.call("GET", "/stats?"+query, "").expect(t, "of all links: "+query, 422, fieldsOf(fields))
	}
	st.call("GET", "/stats/none?target=3", "").expect(t, "no link", 404)
}

// TestAResetLinkHasNoTargetsWithHits resets figures: the link has another id then, and other tallies.
func TestAResetLinkHasNoTargetsWithHits(t *testing.T) {
	st := newSite(t, nil)
	st.hadTargets("x", 4)
	st.hit("x", 3, sentTo(1, 3, "DE"))
	st.call("POST", "/links/x/reset", "").need(t, "reset", 200)
	st.wantBody("/stats/x?include=targets", `{"hits":0,"unique":0,"targets":[]}`)
	st.hit("x", 1, sentTo(1, 4, "DE"))
	st.wantBody("/stats/x?include=targets", `{"hits":1,"unique":1,"targets":[{"target":4,"hits":1,"unique":1}]}`)
}
