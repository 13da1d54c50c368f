package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/chart"
	"shunt/engine"
	"shunt/engine/expect"
)

// visits makes n hits of links, by n visitors, at a time.
func (st *site) visits(at time.Time, n int, codes ...string) {
	st.t.Helper()
	st.now.Store(at.UnixMilli())
	for _, code := range codes {
		for i := range n {
			st.get("/"+code, fmt.Sprintf("User-Agent: Firefox/%d", i), "Referer: https://"+code+".example/").need(st.t, "", 302)
		}
	}
	expect.OK(st.t, st.engine.Flush())
}

// stats returns the figures that the API has.
func (st *site) stats(query string) (f struct {
	Hits, Unique uint64
	Series       []struct{ Hits, Unique uint64 }
	Top          []struct {
		Code         string
		Hits, Unique uint64
	}
}) {
	st.t.Helper()
	r := st.call("GET", "/stats"+query, "")
	err := json.Unmarshal([]byte(r.body), &f)
	expect.MustThat(st.t, err == nil && r.status == 200, "%s: got %d %s, %v", query, r.status, r.body, err)
	return f
}

// chartOf returns the figures of a page's chart, as its table has them.
func chartOf(p *shown) (rows []string) {
	for _, table := range p.all("figure", "chart-box") {
		for n := range table.Descendants() {
			if n.Data == "tr" && n.Parent.Data == "tbody" {
				cells := n.LastChild
				rows = append(rows, strings.TrimSpace(textOf(cells.PrevSibling)+" "+textOf(cells)))
			}
		}
	}
	return rows
}

// ownFigures signs in as the owner of the links that st.token makes.
func (st *site) ownFigures() *plainBrowser {
	st.t.Helper()
	email, chosen := "boss@example.com", st.secret(password)
	admin, err := st.accounts.OldestAdmin()
	if err == nil {
		_, err = st.accounts.EditUser(account.CallerOf(admin), admin.ID, account.UserEdit{Email: &email, Password: &chosen})
	}
	expect.OK(st.t, err)
	return st.browse(email)
}

func TestPagesShowTheFiguresOfTheAPI(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	st.shorten(`{"url":"https://a.example/","alias":"y"}`)
	today := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	for i, at := range []time.Time{
		today.AddDate(0, 0, -45), today.AddDate(0, 0, -30).Add(-time.Second), today.AddDate(0, 0, -29), today.AddDate(0, 0, -8),
		today.AddDate(0, 0, -6), today.Add(-time.Second), today, today.Add(5 * time.Hour),
	} {
		st.visits(at, 1<<i, "x")
		st.visits(at, 1, "y")
	}
	day := func(n int) string { return today.AddDate(0, 0, n).Format(time.RFC3339) }
	for _, at := range []struct {
		name, query string
		page        []string
	}{
		{"today", "?from=" + day(0), []string{"Hits today (UTC) %d", "%d visitors"}},
		{"a week", "?from=" + day(-7) + "&to=" + day(0), []string{"Hits in 7 days, without today %d", "%d visitors,"}},
		{"a month", "?from=" + day(-30) + "&to=" + day(0), []string{"Hits in 30 days, without today %d", "%d visitors,"}},
	} {
		t.Run(at.name, func(t *testing.T) {
			want := st.stats(at.query)
			st.ownFigures().open("/_/").want(fmt.Sprintf(at.page[0], want.Hits), fmt.Sprintf(at.page[1], want.Unique))
		})
	}
	b := st.ownFigures()
	for period, query := range map[string]string{
		"24h": "from=2026-03-19T06:00:00Z&interval=hour", "48h": "from=2026-03-18T06:00:00Z&interval=hour",
		"30d": "from=" + day(-29) + "&interval=day", "400d": "from=" + day(-399) + "&interval=day",
	} {
		t.Run(period, func(t *testing.T) {
			for path, of := range map[string]string{"/_/": "", "/_/link/x": "/x"} {
				asked := query
				if of != "" && period == "400d" { // the chart of a link begins with the link
					asked = "from=2026-01-02&interval=day"
				}
				page, want := b.open(path+"?period="+period), st.stats(of+"?"+asked)
				var rows []string
				if period == "400d" {
					want.Series = want.Series[len(want.Series)-46:] // the first hits were 45 days ago
				}
				for _, bucket := range want.Series {
					rows = append(rows, fmt.Sprintf("%d %d", bucket.Hits, bucket.Unique))
				}
				got := chartOf(page)
				expect.Equal(t, strings.Join(got, ", "), strings.Join(rows, ", "), "%s: the chart has %q, want %q", path, got, rows)
			}
			for _, l := range st.stats("?" + query + "&top=10").Top {
				b.open("/_/?period=" + period).want(fmt.Sprintf("%s %d %d", l.Code, l.Hits, l.Unique))
			}
		})
	}
}

// Each day has the same hits, most of them in the evening. In the morning, that is no loss.
func TestARunningDayIsNoLoss(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	today := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	for day := -60; day <= 0; day++ {
		st.visits(today.AddDate(0, 0, day).Add(2*time.Hour), 3, "x")
		if day < 0 {
			st.visits(today.AddDate(0, 0, day).Add(20*time.Hour), 7, "x")
		}
	}
	b := st.ownFigures()
	for _, at := range []struct {
		hour int
		want string
	}{
		{2, "Hits today (UTC) 3 none yesterday until 02:00 UTC either"},
		{3, "Hits today (UTC) 3 as many as yesterday until 03:00 UTC"},
		{20, "Hits today (UTC) 3 as many as yesterday until 20:00 UTC"},
		{21, "Hits today (UTC) 3 ▼ 70% fewer than yesterday until 21:00 UTC"},
	} {
		st.now.Store(today.Add(time.Duration(at.hour)*time.Hour + 30*time.Minute).UnixMilli())
		b.open("/_/").want(at.want, "Hits in 7 days, without today 70 as many as in the 7 days before",
			"Hits in 30 days, without today 300 as many as in the 30 days before")
	}
	st.now.Store(today.Add(10 * time.Minute).UnixMilli())
	page := b.open("/_/")
	expect.That(t, !strings.Contains(page.text(), "yesterday"), "nothing of the day is over, and it is compared: %s", page.text())
}

func TestPagesOfferThePeriodsThatAreKept(t *testing.T) {
	for _, kept := range []struct {
		hours, days int
		titles      string
		compared    string
	}{
		{48, 400, "24 hours, 48 hours, 30 days, 400 days", "yesterday, the 7 days before, the 30 days before"},
		{24, 10, "24 hours, 10 days", ""},
		{1, 1, "1 hour, 1 day", ""},
		{36, 14, "24 hours, 36 hours, 14 days", "yesterday, the 7 days before"},
		{36, 13, "24 hours, 36 hours, 13 days", "yesterday"},
		{744, 3660, "24 hours, 48 hours, 30 days, 400 days", "yesterday, the 7 days before, the 30 days before"},
	} {
		t.Run(fmt.Sprintf("%d hours and %d days", kept.hours, kept.days), func(t *testing.T) {
			st := newSiteOn(t, func(o *engine.Options) { o.KeptHours, o.KeptDays = kept.hours, kept.days }, nil)
			st.shorten(`{"url":"https://a.example/","alias":"x"}`)
			st.visits(time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC), 1, "x")
			b := st.ownFigures()
			for _, path := range []string{"/_/", "/_/link/x"} {
				for _, period := range []string{"", "24h", "48h", "30d", "400d"} {
					var titles []string
					for _, tabs := range b.open(path+"?period="+period).all("nav", "tabs") {
						for n := range tabs.ChildNodes() {
							titles = append(titles, textOf(n))
						}
					}
					expect.Equal(t, strings.Join(titles, ", "), kept.titles, path)
				}
			}
			overview := b.open("/_/")
			for _, text := range []string{"yesterday", "the 7 days before", "the 30 days before"} {
				expect.Equal(t, strings.Contains(overview.text(), text), strings.Contains(kept.compared, text), "compared with %s", text)
			}
			for _, from := range []string{"2026-03-19", "2026-03-20"} {
				b.open("/_/link/x?from=" + from).want("1 hit and 1 visitor")
			}
		})
	}
}

// The clock may have been set back since a link was made, and it may be midnight exactly.
func TestPagesOfFiguresBearAnyTime(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	b := st.ownFigures()
	for _, now := range []string{"2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z", "2026-01-01T12:00:00Z", "2026-01-02T00:00:00Z"} {
		at, err := time.Parse(time.RFC3339Nano, now)
		expect.OK(t, err)
		st.now.Store(at.UnixMilli())
		for _, path := range []string{"/_/", "/_/link/x"} {
			for _, period := range []string{"24h", "48h", "30d", "400d"} {
				rows := chartOf(b.open(path + "?period=" + period))
				expect.That(t, len(rows) >= 24, "%s: %s has a chart of %d", now, path, len(rows))
			}
		}
	}
	for query, want := range map[string]string{
		"from=2026-01-03": "From: must not be in the future", "from=x": "From: must be a time such as", "to=0000-01-01": "To: must be after",
		"from=2026-01-01&to=2025-01-01": "From: must be before to", "to=9999-12-31": "0 hits and 0 visitors", "from=0001-01-01": "0 hits and 0 visitors",
	} {
		b.open("/_/link/x?" + query).want(want)
	}
}

func TestALongWindowIsShownWithoutAChart(t *testing.T) {
	st := newSiteOn(t, func(o *engine.Options) { o.KeptDays = engine.MaxKeptDays }, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	start := time.UnixMilli(st.now.Load())
	st.visits(start, 1, "x")
	st.visits(start.AddDate(2, 8, 0), 1, "x")
	expect.Equal(t, len(chartOf(st.ownFigures().open("/_/link/x?from=2019-01-01"))) < chart.MaxBuckets, true, "a chart begins with the first hits")
	st.visits(start.AddDate(3, 0, 0), 1, "x")
	page := st.ownFigures().open("/_/link/x?from=2019-01-01")
	page.want("A chart shows at most 1,000 days.", "3 hits and 1 visitor", "x.example")
	rows := chartOf(page)
	expect.That(t, len(rows) == 0 && chart.MaxBuckets == 1000, "got a chart of %d days; a chart has at most %d", len(rows), chart.MaxBuckets)
}

func TestThePageCanSayThatTheChartIsBehind(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	b := st.ownFigures()
	for _, path := range []string{"/_/", "/_/link/x?period=24h"} {
		b.open(path).expect(t, path, `data-newer hidden>Newer hits are not in the chart yet. <a class="underlined" href="`+path+`">Show them</a>`)
	}
}

func TestTheOverviewSaysWhereToBeginUntilALinkIsHit(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	const hint = "Begin here"
	p := st.ownFigures().open("/_/")
	expect.Contains(t, p.text(), hint, "without hits")
	st.visits(time.UnixMilli(st.now.Load()), 1, "x")
	p = st.ownFigures().open("/_/")
	expect.That(t, !strings.Contains(p.text(), hint), "with a hit: got %s", p.text())
}

func TestALongBreakdownIsFoldedWhole(t *testing.T) {
	st := newSite(t, nil)
	codes := make([]string, 20)
	for i := range codes {
		codes[i] = fmt.Sprintf("site-%02d", i)
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":%q}`, codes[i]))
	}
	st.visits(time.UnixMilli(st.now.Load()), 1, codes...)
	page := st.ownFigures().open("/_/")
	page.want("10 more")
	for _, code := range codes {
		page.want(code + ".example 1 5%")
	}
}
