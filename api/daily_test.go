package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/zone"
	"shunt/storage"
)

// seriesOf returns the hits of the days of a window that have some, and what is beside the window.
func (st *site) seriesOf(target string) string {
	st.t.Helper()
	var answer struct {
		Hits, Unique uint64
		Imported     uint64 `json:"imported_hits"`
		Series       []struct {
			From         time.Time
			Hits, Unique uint64
		}
	}
	r := st.call("GET", target, "")
	r.need(st.t, target, 200)
	expect.OK(st.t, json.Unmarshal([]byte(r.body), &answer))
	text := fmt.Sprintf("%d of %d, %d elsewhere:", answer.Hits, answer.Unique, answer.Imported)
	for _, b := range answer.Series {
		if b.Hits > 0 {
			text += fmt.Sprintf(" %s %d/%d", b.From.Format("01-02T15"), b.Hits, b.Unique)
		}
	}
	return text
}

// wantNoFaults checks the store of a site as shunt check does.
func (st *site) wantNoFaults() {
	st.t.Helper()
	v, faults := st.store.Inspect(), new(engine.Faults)
	_, err := v.Check(st.t.Context(), storage.CheckOptions{Faults: faults})
	expect.OK(st.t, err)
	expect.OK(st.t, v.Close())
	first, total := faults.Found()
	expect.That(st.t, total == 0, "the check finds %v", first)
}

// The clock of a site begins at 2026-01-02T03:04:05Z.
func TestHitsByDayOfAnImportAreInTheFiguresOfTheirDays(t *testing.T) {
	st := newSite(t, nil)
	got, _ := st.importText(`{"code":"old","url":"https://a.example/","tags":["t"],"hits":100,"created_at":"2019-05-04T03:02:01Z","daily":[` +
		`{"day":"2026-01-02","hits":2},{"hits":7,"day":"2025-12-30"},{"day":"2025-12-31","hits":0},{"day":"2020-01-01","hits":50}]}`)
	expect.MustEqual(t, got, "1 0 0: 201")
	st.get("/old")
	for _, target := range []string{"/stats/old?", "/stats?", "/stats?tag=t&"} {
		expect.Equal(t, st.seriesOf(target+"interval=day"), "10 of 1, 91 elsewhere: 12-30T00 7/0 01-02T00 3/1", target)
		expect.Equal(t, st.seriesOf(target+"from=2025-12-30&to=2025-12-31"), "7 of 0, 91 elsewhere:", "%s, of a day", target)
		expect.Equal(t, st.seriesOf(target+"interval=hour"), "1 of 1, 91 elsewhere: 01-02T03 1/1", "%s, by hours", target)
	}
	expect.Equal(t, strings.TrimSpace(st.call("GET", "/stats/old", "").body), `{"hits":101,"unique":1}`)
	st.wantNoFaults()

	st.passTime(26 * 3600_000) // what is rolled up is added to the same days
	expect.OK(t, st.engine.Flush())
	st.get("/old")
	expect.Equal(t, st.seriesOf("/stats/old?interval=day"), "11 of 1, 91 elsewhere: 12-30T00 7/0 01-02T00 3/1 01-03T00 1/1")
	st.wantNoFaults()

	st.call("POST", "/links/old/reset", "").need(t, "", 200)
	expect.Equal(t, st.seriesOf("/stats/old?interval=day"), "0 of 0, 0 elsewhere:", "of the link, after a reset")
	expect.Equal(t, st.seriesOf("/stats?interval=day"), "11 of 1, 91 elsewhere: 12-30T00 7/0 01-02T00 3/1 01-03T00 1/1", "of all links, after a reset")
	st.wantNoFaults()
}

// wantSameHits checks that a link, all links, those with a tag and the most-hit ones have the same hits in a window.
func (st *site) wantSameHits(window string, want uint64) {
	st.t.Helper()
	for _, of := range []string{"/stats/old?", "/stats?top=10&", "/stats?tag=t&top=10&", "/stats?tag=t&"} {
		var answer struct {
			Hits uint64
			Top  []struct{ Hits uint64 } `json:"top"`
		}
		r := st.call("GET", of+window, "")
		r.need(st.t, of+window, 200)
		expect.OK(st.t, json.Unmarshal([]byte(r.body), &answer))
		expect.Equal(st.t, answer.Hits, want, of+window)
		if !strings.Contains(of, "top") {
			continue
		}
		top := uint64(0)
		for _, l := range answer.Top {
			top += l.Hits
		}
		expect.Equal(st.t, top, want, "the list of %s%s", of, window)
	}
}

// All ways to ask about a window have the same hits, whether its hours are kept or not; series of hours have none of an
// import.
func TestHitsByDayOfAnImportAreInEveryWindowOfTheirDays(t *testing.T) {
	st := newSite(t, nil)
	hour, _ := st.engine.KeptSince()
	kept, before := hour.AddDate(0, 0, 2).Format(time.DateOnly), hour.AddDate(0, 0, -2).Format(time.DateOnly)
	got, _ := st.importText(`{"code":"old","url":"https://a.example/","tags":["t"],"hits":100,"created_at":"2019-05-04T03:02:01Z","daily":[` +
		`{"day":"2026-01-02","hits":2},{"day":"2025-12-30","hits":7},{"day":"` + kept + `","hits":10},{"day":"` + before + `","hits":20}]}`)
	expect.MustEqual(t, got, "1 0 0: 201")
	st.get("/old")
	for window, want := range map[string]uint64{
		"from=2026-01-02": 3, "from=2025-12-30": 10, "from=2025-12-29T05:00:00Z": 10, "from=2025-12-30&to=2026-01-01": 7,
		"from=2025-12-29T05:00:00Z&to=2026-01-01T02:00:00Z": 7, "from=2025-12-30T05:00:00Z": 3, "from=2026-01-02T01:00:00Z&to=2026-01-02T03:00:00Z": 0,
		"from=" + kept: 20, "from=" + before: 40, "from=" + before + "&to=" + kept: 30,
	} {
		st.wantSameHits(window, want)
		if !strings.Contains(window, "T") {
			st.wantSameHits(window+"&interval=day", want)
		}
	}
	st.wantSameHits("interval=hour", 1)
	st.wantSameHits("interval=hour&from=2026-01-01&to=2026-01-01", 0)
}

// A window that begins with its link has the days before the link was made here, too.
func TestHitsByDayBeforeTheirLinkWasMadeAreInItsFirstWindow(t *testing.T) {
	st := newSite(t, nil)
	for code, more := range map[string]string{"a": `"created_at":"2026-01-02T02:00:00Z",`, "b": "", "c": `"created_at":"2019-01-01T00:00:00Z",`} {
		got, _ := st.importText(`{"code":"` + code + `","url":"https://a.example/",` + more + `"hits":20,"daily":[` +
			`{"day":"2025-12-30","hits":7},{"day":"2026-01-02","hits":3}]}`)
		expect.MustEqual(t, got, "1 0 0: 201", code)
		for _, window := range []string{"to=2026-01-02", "from=2025-01-01"} {
			expect.Equal(t, st.seriesOf("/stats/"+code+"?"+window), "10 of 0, 10 elsewhere:", "%s, %s", code, window)
		}
	}
	st.call("GET", "/links/a", "").expect(t, "the link itself", 200, `"created_at":"2026-01-02T02:00:00Z"`)
	st.call("GET", "/links/b", "").expect(t, "without created_at", 200, `"created_at":"2025-12-30T00:00:00Z"`)
}

func TestHitsByDayThatCannotBeTrueAreRefused(t *testing.T) {
	st := newSite(t, nil)
	many := strings.Repeat(`{"day":"2025-01-01","hits":1},`, 1200)
	for daily, want := range map[string]string{
		`7`: "daily:type", `[7]`: "daily[0]:type", `[{"day":"2025-01-01"}]`: "daily[0]:required", `[{"hits":1}]`: "daily[0]:required",
		`[{"day":"2025-01-01","hits":null}]`: "daily[0]:required", `[{"day":"2025-01-01","hits":1},{"day":"2025-13-01","hits":1}]`: "daily[1].day:format",
		`[{"day":"1970-01-01","hits":1}]`: "daily[0].day:format", `[{"day":"2026-01-03","hits":1}]`: "daily[0].day:in_future", `[{"day":20250101,"hits":1}]`: "daily[0].day:type",
		`[{"day":"2025-01-01","hits":-1}]`: "daily[0].hits:range", `[{"day":"2025-01-01","hits":"1"}]`: "daily[0].hits:type", `[{"day":"2025-01-01","hits":1,"more":2}]`: "daily[0].more:unknown",
		`[{"day":"2025-01-01","hits":1},{"day":"2025-01-02","hits":1},{"day":"2025-01-01","hits":1}]`: "daily:duplicate",
		`[{"day":"2025-01-01","hits":6},{"day":"2019-01-01","hits":5}]`:                               "daily:range", // together 11 of 10
		`[` + many + `{"day":"2025-01-01","hits":1}]`:                                                 "daily:too_many",
	} {
		_, answer := st.importText(`{"code":"x","url":"https://a.example/","hits":10,"daily":` + daily + `}`)
		expect.MustEqual(t, answer.Failed, 1, "%.80s", daily)
		wrong := answer.Results[0].Problem.Errors
		expect.That(t, len(wrong) == 1 && wrong[0].Field+":"+wrong[0].Code == want, "%.80s: got %+v, want %s", daily, wrong, want)
	}
	for _, daily := range []string{`null`, `[]`, `[{"day":"2025-01-01","hits":10}]`} {
		got, _ := st.importText(`{"code":"` + fmt.Sprint(len(daily)) + `","url":"https://a.example/","hits":10,"daily":` + daily + `}`)
		expect.Equal(t, got, "1 0 0: 201", daily)
	}
	st.call("POST", "/shorten", `{"url":"https://a.example/","daily":[]}`).expect(t, "a new link", fieldsOf("daily:unknown"))
	st.call("PATCH", "/links/4", `{"daily":[{"day":"2025-01-01","hits":1}]}`).expect(t, "a patch", 422)
}

// Days are those of the store's time zone, also the one that has begun there only.
func TestDaysOfAnImportAreThoseOfTheStore(t *testing.T) {
	st := newSite(t, nil)
	apia, err := zone.Load("Pacific/Apia")
	expect.OK(t, err)
	expect.OK(t, st.store.FixZone(apia))
	st.passTime(8 * 3600_000) // 11:04 UTC, 00:04 of the next day there
	got, _ := st.importText(`{"code":"a","url":"https://a.example/","hits":10,"daily":[{"day":"2026-01-03","hits":2},{"day":"2026-01-02","hits":1}]}`)
	expect.MustEqual(t, got, "1 0 0: 201")
	got, _ = st.importText(`{"code":"b","url":"https://a.example/","hits":10,"daily":[{"day":"2026-01-04","hits":2}]}`)
	expect.Equal(t, got, "0 0 1: 422")
	expect.Equal(t, st.seriesOf("/stats/a?interval=day"), "3 of 0, 7 elsewhere: 01-01T11 1/0 01-02T11 2/0")
}

// An export with hits by day comes back with the same figures by day, those of the first server's own hits included.
func TestAnExportWithHitsByDayComesBackEqual(t *testing.T) {
	from, to := newSite(t, nil), newSite(t, nil)
	from.shorten(`{"url":"https://a.example/","alias":"made"}`)
	from.shorten(`{"url":"https://a.example/","alias":"none"}`)
	got, _ := from.importText(`{"code":"old","url":"https://b.example/","hits":10,"daily":[{"day":"2025-12-30","hits":7}]}`)
	expect.MustEqual(t, got, "1 0 0: 201")
	for range 2 {
		from.get("/made")
		from.get("/old")
	}
	from.passTime(30 * 3600_000)
	to.passTime(30 * 3600_000)
	expect.OK(t, from.engine.Flush())
	from.get("/made")
	text := from.call("GET", "/export?include=daily", "").body
	for _, want := range []string{`"hits":12,"daily":[{"day":"2025-12-30","hits":7},{"day":"2026-01-02","hits":2}]}`,
		`"hits":3,"daily":[{"day":"2026-01-02","hits":2},{"day":"2026-01-03","hits":1}]}`, `"hits":0,"daily":[]}`} {
		expect.That(t, strings.Contains(text, want), "%s is not in %s", want, text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	got, _ = to.importText(lines[2], lines[1], lines[0])
	expect.MustEqual(t, got, "3 0 0: 201 201 201")
	again := to.call("GET", "/export?include=daily", "").body
	expect.Equal(t, again, text, "the second export")
	for _, code := range []string{"made", "old", "none"} {
		was, is := from.seriesOf("/stats/"+code+"?interval=day"), to.seriesOf("/stats/"+code+"?interval=day")
		_, was, _ = strings.Cut(was, ":")
		_, is, _ = strings.Cut(is, ":")
		expect.Equal(t, daysAlone(is), daysAlone(was), code)
	}
	from.call("GET", "/export?include=days", "").expect(t, "an unknown part", fieldsOf("include:range"))
	from.wantNoFaults()
	to.wantNoFaults()
}

// daysAlone leaves out the visitors of days.
func daysAlone(series string) string {
	words := strings.Fields(series)
	for i, word := range words {
		words[i], _, _ = strings.Cut(word, "/")
	}
	return strings.Join(words, " ")
}
