package api

import (
	"strings"
	"testing"
	"time"

	"shunt/api/domain"
	"shunt/engine"
	"shunt/engine/expect"
)

// hitTwoLinks returns a site with two links that have a visitor in common, and one that is another user's.
func hitTwoLinks(t *testing.T) *site {
	st := newSite(t, nil)
	for _, code := range []string{"a1", "-b"} {
		st.call("POST", "/shorten", `{"url":"http://a.example/","alias":"`+code+`"}`).expect(t, code, 201)
	}
	st.hit("a1", 2, engine.Visit{Visitor: 1})
	st.hit("-b", 1, engine.Visit{Visitor: 1})
	st.hit("-b", 1, engine.Visit{Visitor: 2})
	return st
}

func TestLinksAreComparedInOneAnswer(t *testing.T) {
	st := hitTwoLinks(t)
	r := st.call("GET", "/stats?codes=a1,-b&interval=hour&from=2026-01-02T03:00:00Z", "")
	r.expect(t, "two links", 200)
	for _, part := range []string{
		`{"hits":4,"unique":2,`, `"links":[{"code":"a1","hits":2,"unique":1,`, `,{"code":"-b","hits":2,"unique":2,`,
		`"series":[{"from":"2026-01-02T03:00:00Z","hits":4,"unique":2}]`,
	} {
		expect.That(t, strings.Contains(r.body, part), "%s lacks %s", r.body, part)
	}
	for query, fields := range map[string]string{
		"codes=a1": "codes:range", "codes=a1,a1": "codes:duplicate", "codes=a1,none": "codes:invalid", "codes=1,2,3,4,5,6": "codes:range",
		"codes=a1,-b&tag=t": "codes:invalid", "codes=a1,-b&top=3": "codes:invalid",
	} {
		r := st.call("GET", "/stats?"+query, "")
		expect.That(t, r.status == 422 && r.fields() == fields, "%s: got %d %s, want %s", query, r.status, r.body, fields)
	}
}

func TestFiguresAreCSVForThoseWhoPreferIt(t *testing.T) {
	st := hitTwoLinks(t)
	for query, want := range map[string]string{
		"/stats/a1": "part,code,from,to,value,hits,unique\ntotal,,,,,2,1\n",
		"/stats/a1?from=2026-01-02T03:00:00Z&interval=hour&include=devices": "part,code,from,to,value,hits,unique\n" +
			"total,,2026-01-02T03:00:00Z,2026-01-02T04:00:00Z,,2,1\nseries,,2026-01-02T03:00:00Z,2026-01-02T04:00:00Z,,2,1\ndevices,,,,other,2,\n",
		"/stats?from=2026-01-02T03:00:00Z&top=2": "part,code,from,to,value,hits,unique\n" +
			"total,,2026-01-02T03:00:00Z,2026-01-02T04:00:00Z,,4,2\ntop,'-b,,,,2,2\ntop,a1,,,,2,1\n",
	} {
		r := st.call("GET", query, "", "Accept: text/csv")
		expect.Equal(t, r.body, want, query)
		expect.Equal(t, r.header.Get("Content-Type"), "text/csv; charset=utf-8; header=present", query)
	}
	st.call("GET", "/stats/a1", "", "Accept: application/json, text/csv").expect(t, "no strict preference", 200)
}

// TestFiguresOfADomainAreCSV: those of its links alone, and those of a tag in it.
func TestFiguresOfADomainAreCSV(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test"})
	for _, link := range []string{`"alias":"twin","tags":["t"]`, `"alias":"twin","domain":"b.test","tags":["t"]`, `"alias":"-other","domain":"b.test"`} {
		st.shorten(`{"url":"https://a.example/",` + link + `}`)
	}
	dial := doors[0].open(t, st)
	for _, to := range []string{"any.example/twin", "b.test/twin", "b.test/twin", "b.test/-other", "b.test/-other", "b.test/-other"} {
		host, code, _ := strings.Cut(to, "/")
		askAs(t, dial, host, "/"+code).need(t, to, 302)
	}
	const head, window = "part,code,from,to,value,hits,unique\n", "2026-01-02T03:00:00Z,2026-01-02T04:00:00Z"
	const day = "2026-01-02T00:00:00Z,2026-01-03T00:00:00Z"
	for query, want := range map[string]string{
		"domain=b.test&interval=hour&top=5": "total,," + window + ",,5,1\nseries,," + window + ",,5,1\ntop,'-other,,,b.test,3,1\ntop,twin,,,b.test,2,1\n",
		"domain=b.test&tag=t":               "total,," + window + ",,2,1\n",
		"domain=b.test&interval=day&include=bots,scans,referrers,countries,devices,browsers": "total,," + day + ",,5,1\nseries,," + day + ",,5,1\nbots,,,,bots,0,\nbots,,,,prefetches,0,\nbots,,,,heads,0,\nscans,,,,,0,\n" +
			"referrers,,,,direct,5,\ncountries,,,,other,5,\ndevices,,,,other,5,\nbrowsers,,,,other,5,\n",
		"tag=t&interval=day&include=bots,scans,referrers,countries,devices,browsers": "total,," + day + ",,3,1\nseries,," + day + ",,3,1\nbots,,,,bots,0,\nbots,,,,prefetches,0,\nbots,,,,heads,0,\nscans,,,,,0,\n" +
			"referrers,,,,direct,3,\ncountries,,,,other,3,\ndevices,,,,other,3,\nbrowsers,,,,other,3,\n",
		"domain=127.0.0.1&include=referrers": "total,," + window + ",,1,1\nreferrers,,,,direct,1,\n",
	} {
		r := st.call("GET", "/stats?from=2026-01-02T03:00:00Z&"+query, "", "Accept: text/csv")
		expect.Equal(t, r.body, head+want, query)
	}
	r := st.call("GET", "/stats/twin?domain=b.test&from=2026-01-02T03:00:00Z&include=referrers,browsers", "", "Accept: text/csv")
	expect.Equal(t, r.body, head+"total,,"+window+",,2,1\nreferrers,,,,direct,2,\nbrowsers,,,,other,2,\n", "of a link")
	st.call("GET", "/stats?domain=none.test", "", "Accept: text/csv").expect(t, "an unknown domain", 422)
}

func TestDaysAreThoseOfTheZoneThatIsAskedFor(t *testing.T) {
	st := hitTwoLinks(t) // at 03:04 UTC, which is the day before in New York
	for zone, want := range map[string]string{
		"America/New_York": `"to":"2026-01-02T05:00:00Z","time_zone":"America/New_York","series":[{"from":"2026-01-01T05:00:00Z","hits":2,"unique":1}]`,
		"Asia/Tokyo":       `"to":"2026-01-02T15:00:00Z","time_zone":"Asia/Tokyo","series":[{"from":"2026-01-01T15:00:00Z","hits":2,"unique":1}]`,
		"Asia/Kolkata":     `"to":"2026-01-03T00:00:00Z","time_zone":"UTC","series":[{"from":"2026-01-02T00:00:00Z","hits":2,"unique":1}]`,
	} {
		r := st.call("GET", "/stats/a1?interval=day&from=2026-01-02T03:00:00Z&time_zone="+zone, "")
		expect.That(t, r.status == 200 && strings.Contains(r.body, want), "%s: got %s, want %s", zone, r.body, want)
	}
	r := st.call("GET", "/stats/a1?from=2026-01-02&interval=day&time_zone=Asia/Tokyo", "")
	expect.That(t, strings.Contains(r.body, `"from":"2026-01-01T15:00:00Z"`), "a date: got %s", r.body)
	r = st.call("GET", "/stats/a1?time_zone=Mars", "")
	expect.That(t, r.status == 422 && r.fields() == "time_zone:range", "Mars: got %d %s", r.status, r.body)
}

// The hours of the first day are not kept any more, so its days can only be those of the store: the dates, too.
func TestDatesAreDaysOfTheZoneInUse(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	for _, on := range []struct{ day, hits int }{{1, 1}, {12, 2}, {20, 4}} {
		st.visits(time.Date(2026, 3, on.day, 20, 0, 0, 0, time.UTC), on.hits, "x") // the next day in Tokyo
	}
	for query, want := range map[string]string{
		"from=2026-03-12&to=2026-03-12&interval=day&time_zone=Asia/Tokyo": `{"hits":2,"unique":2,"from":"2026-03-12T00:00:00Z","to":"2026-03-13T00:00:00Z","time_zone":"UTC"`,
		"from=2026-03-12&to=2026-03-12&time_zone=Asia/Tokyo":              `{"hits":2,"unique":2,"from":"2026-03-12T00:00:00Z","to":"2026-03-13T00:00:00Z","time_zone":"UTC"`,
		"from=2026-03-21&to=2026-03-21&interval=day&time_zone=Asia/Tokyo": `{"hits":4,"unique":4,"from":"2026-03-20T15:00:00Z","to":"2026-03-21T15:00:00Z","time_zone":"Asia/Tokyo"`,
		"from=2026-03-21&time_zone=Asia/Tokyo":                            `{"hits":4,"unique":4,"from":"2026-03-20T15:00:00Z","to":"2026-03-20T21:00:00Z","time_zone":"Asia/Tokyo"`,
		"from=2026-03-20&to=2026-03-20&interval=day&time_zone=Asia/Tokyo": `{"hits":0,"unique":0,"from":"2026-03-19T15:00:00Z","to":"2026-03-20T15:00:00Z","time_zone":"Asia/Tokyo"`,
	} {
		for _, path := range []string{"/stats/x?", "/stats?"} {
			r := st.call("GET", path+query, "")
			expect.That(t, r.status == 200 && strings.HasPrefix(r.body, want), "%s%s: got %s, want %s", path, query, r.body, want)
		}
	}
}
