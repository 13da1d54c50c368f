package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

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
	email, chosen := "boss@example.com", st.secret(goodPassword)
	admin, err := st.accounts.OldestAdmin()
	if err == nil {
		_, err = st.accounts.EditUser(account.CallerOf(admin), admin.ID, account.UserEdit{Email: &email, Password: &chosen})
	}
	expect.OK(st.t, err)
	return st.browse(email)
}

// hitEachSpan returns a site with two links that have a tag, and hits in different spans before 20 March 2026, 05:00
// UTC.
func hitEachSpan(t *testing.T) (st *site, today time.Time) {
	t.Helper()
	st = newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","tags":["both"]}`)
	st.shorten(`{"url":"https://a.example/","alias":"y","tags":["both"]}`)
	today = time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	for i, at := range []time.Time{
		today.AddDate(0, 0, -59), today.AddDate(0, 0, -45), today.AddDate(0, 0, -30).Add(-time.Second), today.AddDate(0, 0, -29),
		today.AddDate(0, 0, -8), today.AddDate(0, 0, -6), today.Add(-time.Second), today, today.Add(5 * time.Hour),
	} {
		st.visits(at, 1<<i, "x")
		st.visits(at, 1, "y")
	}
	return st, today
}

func TestPagesShowTheFiguresOfTheAPI(t *testing.T) {
	st, _ := hitEachSpan(t)
	b := st.ownFigures()
	for period, at := range map[string]struct{ title, query string }{
		"today":      {"today", "from=2026-03-20&interval=hour"},
		"7d":         {"7 days", "from=2026-03-14&interval=day"},
		"30d":        {"30 days", "from=2026-02-19&interval=day"},
		"month":      {"this month", "from=2026-03-01&interval=day"},
		"last-month": {"last month", "from=2026-02-01&to=2026-02-28&interval=day"},
		"all":        {"all that is kept", "from=2024-01-01&interval=day"},
	} {
		t.Run(period, func(t *testing.T) {
			for path, of := range map[string]string{"/_/?": "?", "/_/link/x?": "/x?", "/_/tags/figures?tag=both&": "?tag=both&"} {
				page, want := b.open(path+"period="+period), st.stats(of+at.query)
				title := at.title
				if path == "/_/?" && period == "today" {
					page.want(fmt.Sprintf("Hits today (UTC) %d", want.Hits), fmt.Sprintf("Visitors today %d", want.Unique))
				} else {
					page.want(fmt.Sprintf("Hits, %s %d", title, want.Hits), fmt.Sprintf("Visitors, %s %d", title, want.Unique))
				}
				var rows []string
				if period == "all" {
					want.Series = want.Series[len(want.Series)-60:] // the first hits were 59 days ago
				}
				for _, bucket := range want.Series {
					rows = append(rows, fmt.Sprintf("%d %d", bucket.Hits, bucket.Unique))
				}
				got := chartOf(page)
				expect.Equal(t, strings.Join(got, ", "), strings.Join(rows, ", "), path)
			}
			for _, l := range st.stats("?" + at.query + "&top=10").Top {
				b.open("/_/?period=" + period).want(fmt.Sprintf("%s %d %d", l.Code, l.Hits, l.Unique))
				b.open("/_/tags/figures?tag=both&period=" + period).want(fmt.Sprintf("%s %d %d", l.Code, l.Hits, l.Unique))
			}
		})
	}
	want := st.stats("?from=2026-03-20")
	b.open("/_/?period=30d").want(fmt.Sprintf("Hits today (UTC) %d %d visitors", want.Hits, want.Unique))
}

// Each day has the same hits, most of them in the evening. In the morning, that is no loss.
func TestARunningDayIsNoLoss(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","tags":["t"]}`)
	st.shorten(`{"url":"https://a.example/","alias":"y","tags":["t"]}`)
	today := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
	for day := -70; day <= 0; day++ {
		st.visits(today.AddDate(0, 0, day).Add(2*time.Hour), 3, "x")
		if day < 0 {
			st.visits(today.AddDate(0, 0, day).Add(20*time.Hour), 7, "x")
		}
	}
	b := st.ownFigures()
	pages := []string{"/_/?", "/_/link/x?", "/_/tags/figures?tag=t&", "/_/compare?codes=x,y&"}
	for _, at := range []struct {
		hour int
		want string
	}{
		{2, "3 none yesterday until 02:00 UTC either"}, {3, "3 as many as yesterday until 03:00 UTC"},
		{20, "3 as many as yesterday until 20:00 UTC"}, {21, "3 ▼ 70% fewer than yesterday until 21:00 UTC"},
	} {
		st.now.Store(today.Add(time.Duration(at.hour)*time.Hour + 30*time.Minute).UnixMilli())
		for _, page := range pages {
			if at.hour == 2 {
				at.want = "3 none before this hour, and none yesterday until 02:00 UTC"
			}
			b.open(page + "period=today").want(at.want)
			b.open(page+"period=7d").want("63 as many as a week earlier", "Compared: 14 to 19 March 2026 with 7 to 12 March 2026, days of UTC. Today is not over, so it is left out.")
			b.open(page + "period=30d").want("293 as many as 30 days earlier")
			b.open(page + "period=month").want("193 as many as in the same days of February")
			b.open(page + "from=2026-03-10&to=2026-03-12").want("30 as many as in the 3 days before")
		}
	}
	st.now.Store(today.Add(10 * time.Minute).UnixMilli())
	for _, page := range pages {
		b.open(page + "period=today").want("Nothing to compare yet: no hour of today is over.")
		b.open(page + "period=all").want("All that is kept has no time before it.")
	}
}

func TestPagesOfferTheSpansThatAreKept(t *testing.T) {
	for _, kept := range []struct {
		hours, days int
		titles      string
	}{
		{48, 400, "Today, 7 days, 30 days, 90 days, This month, Last month, All"}, {24, 10, "Today, 7 days, This month, All"},
		{1, 1, "Today, This month, All"}, {744, 3660, "Today, 7 days, 30 days, 90 days, This month, Last month, All"},
	} {
		t.Run(fmt.Sprintf("%d hours and %d days", kept.hours, kept.days), func(t *testing.T) {
			st := newSiteOn(t, func(o *engine.Options) { o.KeptHours, o.KeptDays = kept.hours, kept.days }, nil)
			st.shorten(`{"url":"https://a.example/","alias":"x","tags":["t"]}`)
			st.shorten(`{"url":"https://a.example/","alias":"y"}`)
			st.visits(time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC), 1, "x")
			b := st.ownFigures()
			for _, path := range []string{"/_/?", "/_/link/x?", "/_/tags/figures?tag=t&", "/_/compare?codes=x,y&"} {
				for _, period := range []string{"today", "7d", "30d", "90d", "month", "last-month", "all", "24h", "400d", "nothing"} {
					var titles []string
					page := b.open(path + "period=" + period)
					for _, tabs := range page.all("nav", "tabs") {
						for n := range tabs.ChildNodes() {
							titles = append(titles, textOf(n))
						}
					}
					expect.Equal(t, strings.Join(titles, ", "), kept.titles, path)
					if period != "last-month" || len(titles) < 7 {
						expect.Equal(t, page.firstFigure(), "1", "%s%s: hits, which no choice leaves out", path, period)
					}
				}
			}
			for _, from := range []string{"2026-03-19", "2026-03-20"} {
				b.open("/_/link/x?from=" + from).want(" 2026 1 ")
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
			for period, rows := range map[string]int{"today": at.Hour() + 1, "7d": 7, "30d": 30, "90d": 90, "month": at.Day(), "last-month": 31, "all": 0} {
				switch {
				case at.Month() == 12 && period == "last-month":
					rows = 30
				case at.Day() <= 2 && period == "month": // by the hour
					rows = 24*(at.Day()-1) + at.Hour() + 1
				}
				page := b.open(path + "?period=" + period)
				expect.Equal(t, len(chartOf(page)), rows, "%s: %s, %s", now, path, period)
				expect.Equal(t, strings.Contains(page.text(), "No hits counted yet."), rows == 0, "%s: %s, %s says so", now, path, period)
			}
		}
	}
}

func TestDatesThatAreNoneAreClearErrors(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","tags":["t"]}`)
	st.shorten(`{"url":"https://a.example/","alias":"y"}`)
	b := st.ownFigures()
	for _, path := range []string{"/_/?", "/_/link/x?", "/_/tags/figures?tag=t&", "/_/compare?codes=x,y&", "/_/figures.csv?code=x&"} {
		for query, want := range map[string]string{
			"from=2026-01-03": "“From” must not be in the future.", "from=x": "“From” must be a date such as 2026-11-21.", "to=0000-01-01": "No figures are kept of days before",
			"from=2026-01-01&to=2025-12-31": "“To” must not be before “From”.", "period=7d&to=2026-02-30": "“To” must be a date",
		} {
			page := b.get(path + query)
			expect.Equal(t, page.status, 422, path+query)
			page.want(want)
			expect.Equal(t, len(chartOf(page)), 0, "there are figures of %s%s", path, query)
		}
		if path != "/_/figures.csv?code=x&" {
			b.open(path+"to=9999-12-31").want("2 January 2026", " 0 ")
			b.open(path+"from=0001-01-01").want("Figures of earlier days are not kept.", "days are kept since")
		}
	}
	expect.Equal(t, b.remembered["shunt_span"], "0001-01-01_", "what is remembered is no error")
}

func TestTheSpanIsRememberedOnAllPages(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","tags":["t"]}`)
	st.shorten(`{"url":"https://a.example/","alias":"y"}`)
	b := st.ownFigures()
	pages := []string{"/_/", "/_/link/x", "/_/tags/figures?tag=t", "/_/compare?codes=x,y"}
	current := func(p *shown) (titles string) {
		for _, tabs := range p.all("nav", "tabs") {
			for n := range tabs.ChildNodes() {
				if has(n, "aria-current") {
					titles += textOf(n)
				}
			}
		}
		return titles
	}
	for _, page := range pages {
		expect.Equal(t, current(b.open(page)), "30 days", page)
	}
	b.open("/_/link/x?period=last-month")
	for _, page := range pages {
		expect.Equal(t, current(b.open(page)), "Last month", page)
	}
	b.open("/_/?from=2025-12-24&to=2025-12-26")
	for _, page := range pages {
		b.open(page).want("24 to 26 December 2025, days of UTC")
	}
	expect.Equal(t, current(b.open("/_/?period=today")), "Today", "one that is chosen")
	other := st.browse("boss@example.com")
	expect.Equal(t, current(other.open("/_/")), "30 days", "another browser")
	b.remembered["shunt_span"] = "2026-01-02_%22x"
	expect.Equal(t, current(b.open("/_/")), "30 days", "what nobody has set")
	p := b.open("/_/?owner=all&period=7d")
	expect.Contains(t, p.link("Today"), "owner=all&period=today", "the address keeps its other parameters")
	expect.Equal(t, p.form("/_/").values.Get("owner"), "all", "so does the form")
}

// At 16:30 UTC, it is 01:30 of the next day in Tokyo.
func TestDaysAreTheViewersWhereHoursAreKept(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","tags":["t"]}`)
	st.shorten(`{"url":"https://a.example/","alias":"y"}`)
	now := time.Date(2026, 3, 20, 16, 30, 0, 0, time.UTC)
	st.visits(now.Add(-2*time.Hour), 1, "x") // 23:30, yesterday in Tokyo
	st.visits(now, 2, "x")
	b := st.ownFigures()
	pages := []string{"/_/?", "/_/link/x?", "/_/tags/figures?tag=t&", "/_/compare?codes=x,y&"}
	check := func(b *plainBrowser, zone string, today uint64, day, line string) {
		t.Helper()
		for _, page := range pages {
			p := b.open(page + "period=today")
			p.want(day+", hours of "+zone, fmt.Sprintf(" %d ", today), "("+zone+")", line)
			b.open(page + "period=7d").want("days of " + zone)
			b.open(page+"period=30d").want("19 February to 20 March 2026, days of UTC.", "Hits and visitors by day (UTC)"[:4])
		}
		file := b.get("/_/figures.csv?code=x&period=today")
		from := time.Date(2026, 3, 20, 15, 0, 0, 0, time.UTC)
		if zone == "UTC" {
			from = time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
		}
		place, err := time.LoadLocation(zone)
		expect.OK(t, err)
		expect.Contains(t, file.body, fmt.Sprintf("total,,%s,", from.In(place).Format(time.RFC3339)), "the file")
	}
	check(b, "UTC", 3, "20 March 2026", "2026-03-20 14:00")
	b.remembered = map[string]string{"shunt_zone": "Asia/Tokyo"} // as the script tells it
	check(b, "Asia/Tokyo", 2, "21 March 2026", "2026-03-21 01:00")
	b.remembered["shunt_zone"] = "Asia/Kolkata" // days that do not begin on the hour
	check(b, "UTC", 3, "20 March 2026", "2026-03-20 14:00")
	b.remembered["shunt_zone"] = "../../etc/passwd"
	check(b, "UTC", 3, "20 March 2026", "2026-03-20 14:00")

	// Without script it is chosen, and what is chosen comes first.
	b.remembered["shunt_zone"] = "America/New_York"
	account := b.open("/_/account")
	account.want("Figures have days of America/New_York as long as their hours are kept. Older figures have days of UTC.")
	for typed, want := range map[string]string{"Mars": "This is not the name of a time zone.", "Asia/Kolkata": "do not begin on the hour"} {
		page := b.submit(account.form("/_/account/zone").with("zone", typed))
		expect.Equal(t, page.status, 422, typed)
		page.want(want)
	}
	b.fill(account, "/_/account/zone", "zone", " Asia/Tokyo ").want("Figures have days of Asia/Tokyo now")
	check(b, "Asia/Tokyo", 2, "21 March 2026", "2026-03-21 01:00")
	b.fill(b.open("/_/account"), "/_/account/zone", "zone", "").want("Days are those of the browser's time zone again.")
	b.open("/_/?period=today").want("20 March 2026, hours of America/New_York")
}

func TestLinksAreComparedOnAPage(t *testing.T) {
	st, _ := hitEachSpan(t)
	st.shorten(`{"url":"https://a.example/","alias":"z"}`)
	b := st.ownFigures()
	page := b.open("/_/compare?codes=x,y,z&period=7d")
	for _, code := range []string{"x", "y", "z"} {
		f := st.stats("/" + code + "?from=2026-03-14&interval=day")
		page.want(fmt.Sprintf("%s %d", code, f.Hits))
		if code == "y" {
			for i, row := range chartOf(page) { // of y and z, the last columns
				expect.Equal(t, row, fmt.Sprintf("%d 0", f.Series[i].Hits), "row %d", i)
			}
		}
	}
	expect.Equal(t, len(chartOf(page)), 7, "days in the table")
	whole := st.stats("?from=2026-03-14")
	page.want(fmt.Sprintf("Together %d", whole.Hits), "z 0 the link was made later")
	expect.Equal(t, len(page.all("svg", "sample")), 6, "each line has a name in the legend and in the table")
	expect.Contains(t, page.body, `href="/_/compare?codes=x%2Cz"`, "the address without y")
	b.open("/_/compare?" + page.form("/_/compare").with("codes", " http://127.0.0.1:8080/x, y ").values.Encode()).want("Together")
	b.open("/_/compare?codes=x").want("Two to five links in one chart.")
	expect.Equal(t, b.open("/_/compare?codes=x").form("/_/compare").values.Get("codes"), "x", "a link's page leads there")
	for codes, want := range map[string]string{"x,nothing": "no link of yours has the code nothing", "x,x": "must not have a code twice", "a,b,c,d,e,f": "must be 2 to 5 codes"} {
		page := b.get("/_/compare?codes=" + codes)
		expect.Equal(t, page.status, 422, codes)
		page.want(want)
	}
	other := st.browseAs("ann@example.com", account.RoleMember)
	expect.Equal(t, other.get("/_/compare?codes=x,y").status, 422, "links of somebody else")
	expect.Equal(t, other.get("/_/compare?codes=x,y&owner=all").status, 403, "links of all users")
}

func TestAFileHasWhatAPageShows(t *testing.T) {
	st, _ := hitEachSpan(t)
	b := st.ownFigures()
	for path, of := range map[string]string{"/_/?": "?", "/_/link/x?": "/x?", "/_/tags/figures?tag=both&": "?tag=both&", "/_/compare?codes=x,y&": "?codes=x,y&"} {
		for period, query := range map[string]string{
			"period=today": "from=2026-03-20&interval=hour", "period=7d": "from=2026-03-14&interval=day",
			"from=2026-02-01&to=2026-02-10": "from=2026-02-01&to=2026-02-10&interval=day", "period=last-month": "from=2026-02-01&to=2026-02-28&interval=day",
		} {
			if !strings.Contains(of, "codes") && of != "/x?" {
				query += "&top=10"
			}
			want := st.call("GET", "/stats"+of+query+"&include=bots,scans,referrers,countries,devices,browsers,error", "", "Accept: text/csv").body
			file := b.get(b.open(path + period).link("CSV"))
			expect.Equal(t, file.header.Get("Content-Type"), "text/csv; charset=utf-8", path)
			expect.That(t, strings.HasPrefix(file.header.Get("Content-Disposition"), `attachment; filename="figures-`), "%s: %s", path, file.header.Get("Content-Disposition"))
			got, before, compared := strings.Cut(file.body, "before,")
			got, part, _ := strings.Cut(got, "compared,")
			expect.Equal(t, got, want, "%s%s", path, period)
			expect.That(t, compared && strings.Contains(before, "2026-"), "%s%s has no time before: %s", path, period, file.body)
			expect.Equal(t, part != "", strings.HasPrefix(period, "period=7d") || period == "period=today", "%s%s: the part that is compared", path, period)
		}
	}
	stranger := st.browseAs("ann@example.com", account.RoleMember)
	expect.Equal(t, stranger.get("/_/figures.csv?code=x").status, 404, "a link of somebody else")
	expect.Equal(t, stranger.get("/_/figures.csv?owner=all").status, 403, "links of all users")
}

func TestALinkThatIsYoungerIsComparedWithNothing(t *testing.T) {
	st := newSite(t, nil)
	st.now.Store(time.Date(2026, 3, 20, 5, 0, 0, 0, time.UTC).UnixMilli())
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	page := st.ownFigures().open("/_/link/x?period=7d")
	page.want("No figures before: the link was made later.")
	expect.That(t, !strings.Contains(page.text(), "earlier"), "it is compared: %s", page.text())
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
	page.want("A chart shows at most 1,000 days.", "2029 3 Visitors,", "x.example")
	rows := chartOf(page)
	expect.That(t, len(rows) == 0 && chart.MaxBuckets == 1000, "got a chart of %d days; a chart has at most %d", len(rows), chart.MaxBuckets)
}

func TestThePageCanSayThatTheChartIsBehind(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	b := st.ownFigures()
	for _, path := range []string{"/_/", "/_/link/x?period=7d"} {
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

// firstFigure returns the first figure of the span that a page shows: its hits, of compared links together.
func (p *shown) firstFigure() string {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "dd" {
			return strings.TrimSpace(textOf(n))
		}
	}
	hits := "none"
	for n := range p.doc.Descendants() {
		if n.Data == "td" && attribute(n, "data-label") == "Hits" {
			hits = strings.TrimSpace(textOf(n.FirstChild)) // of the last row
		}
	}
	return hits
}

// TestAListOfTheMostHitSaysHowSureItIs: of more links than a query reads, each with a hit or two, no list by a country
// can be certain, so it says how many hits a link has at most that is not in it. Nor can a list of a later time, for
// which the links with the most hits of all time are read, and have none.
func TestAListOfTheMostHitSaysHowSureItIs(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	st.linksOf(token, engine.MaxScannedLinks+1)
	for i := range engine.MaxScannedLinks + 1 {
		st.hit(fmt.Sprintf("l%d", i), 1+i%2, engine.Visit{Visitor: uint64(i+1) << 32, Values: engine.Values{Country: engine.CountryOf("DE")}})
	}
	page := st.browse("ann@example.com").open("/_/by?country=DE")
	page.want("15,001 of 15,001 hits", "Links with the most of these hits", "A link that is not shown has at most 2 of these hits.")

	st.passTime(60 * 24 * 3600_000)
	known(t, func() reply {
		return st.callAs(token, "POST", "/shorten", `{"url":"https://a.example/","alias":"late"}`)
	}).need(t, "", 201)
	st.hit("late", 1, engine.Visit{Visitor: 1 << 32})
	page = st.browse("ann@example.com").open("/_/?period=30d")
	page.want("Hits, 30 days 1", "Most-hit links, 30 days", "A link that is not shown has at most 1 hit in this time.")
	expect.That(t, !strings.Contains(page.text(), "No link was hit") && page.link("late") == "", "it shows %s", page.text())
}
