package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/engine/expect"
)

// A visit is a hit of a link with what is told of it.
type placedVisit struct{ code, referrer, country, agent string }

const (
	someFirefox = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"
	someIPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1"
)

// newPlacedSite has links whose hits come from countries that a proxy names.
func newPlacedSite(t *testing.T) *site {
	st := newSite(t, func(o *Options) { o.TrustedProxies, o.CountryHeader = someProxies.Trusted, "CF-IPCountry" })
	st.shorten(`{"url":"https://shop.example/a","alias":"x","tags":["news"]}`)
	st.shorten(`{"url":"https://shop.example/b","alias":"y"}`)
	return st
}

// hits makes n hits of each visit at a time.
func (st *site) hits(at time.Time, n int, visits ...placedVisit) {
	st.t.Helper()
	st.now.Store(at.UnixMilli())
	for _, v := range visits {
		for i := range n {
			headers := []string{"User-Agent: " + v.agent, fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i), "CF-IPCountry: " + v.country}
			if v.referrer != "" {
				headers = append(headers, "Referer: "+v.referrer)
			}
			st.get("/"+v.code, headers...).need(st.t, "", 302)
		}
	}
	expect.OK(st.t, st.engine.Flush())
}

func TestPagesNameCountriesAndSitesAndDrawAMap(t *testing.T) {
	st := newPlacedSite(t)
	now := time.UnixMilli(st.now.Load())
	st.hits(now, 3, placedVisit{"x", "https://l.facebook.com/", "DE", someFirefox}, placedVisit{"x", "https://m.facebook.com/", "DE", someFirefox})
	st.hits(now, 2, placedVisit{"x", "", "FR", someIPhone}, placedVisit{"y", "https://www.google.de/", "", someIPhone})
	b := st.ownFigures()
	for _, path := range []string{"/_/?period=30d", "/_/link/x?period=30d", "/_/tags/figures?tag=news&period=30d"} {
		p := b.open(path)
		p.want("Facebook l.facebook.com 3, m.facebook.com 3 6", "Direct typed, from an app, or not told 2", "Germany 6", "France 2", "Phone", "Desktop 6")
		var shapes []string
		for _, use := range p.uses() {
			address := attribute(use, "href")
			file, code, _ := strings.Cut(address, "#")
			shapes = append(shapes, code+"."+attribute(use, "class"))
			r := st.get(file, b.cookie)
			expect.That(t, r.status == 200 && r.header.Get("Content-Type") == "image/svg+xml" && strings.Contains(r.body, `id="`+code+`"`), "%s: %d %.80s", address, r.status, r.body)
		}
		expect.Equal(t, strings.Join(shapes[:2], " "), "land. DE.step5", path)
		expect.Contains(t, strings.Join(shapes, " "), "FR.step", path)
	}
	b.open("/_/").want("Unknown 2", "Google google.de 2")
}

// uses returns the shapes that a page draws.
func (p *shown) uses() (found []*html.Node) {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "use" {
			found = append(found, n)
		}
	}
	return found
}

func TestWithoutCountriesThereIsNoMap(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x"}`)
	st.visits(time.UnixMilli(st.now.Load()), 1, "x")
	p := st.ownFigures().open("/_/")
	p.want("No country is known.")
	expect.Equal(t, len(p.uses()), 0, "shapes")
}

// Every line of every list leads to a page with the hits of that line, and says so.
func TestEachLineOfAListLeadsToItsHits(t *testing.T) {
	st := newPlacedSite(t)
	now := time.UnixMilli(st.now.Load())
	st.hits(now.AddDate(0, 0, 1), 2, placedVisit{"x", "https://l.facebook.com/", "DE", someFirefox}, placedVisit{"y", "https://www.facebook.com/", "FR", someIPhone})
	st.hits(now.AddDate(0, 0, 3), 5, placedVisit{"x", "https://blog.example/", "DE", someIPhone}, placedVisit{"y", "", "", someFirefox})
	b := st.ownFigures()
	for path, hits := range map[string]int{"/_/?period=7d": 14, "/_/link/x?period=7d": 7, "/_/tags/figures?tag=news&period=7d": 7} {
		lines := 0
		for _, label := range b.open(path).all("span", "label") {
			link := label.FirstChild
			if link.Data != "a" {
				expect.Equal(t, textOf(link), "Unknown", "%s: what leads nowhere", path)
				continue
			}
			lines++
			num := textOf(label.NextSibling.NextSibling)
			page := b.open(attribute(link, "href"))
			page.want(fmt.Sprintf("%s of %d hits", num, hits), "each by itself")
			sum := 0
			for _, row := range chartOf(page) {
				n := 0
				_, err := fmt.Sscan(row[strings.LastIndex(row, " ")+1:], &n)
				expect.OK(t, err, row)
				sum += n
			}
			expect.Equal(t, fmt.Sprint(sum), num, "the chart of %s", attribute(link, "href"))
		}
		expect.That(t, lines >= 6, "%s: %d lines", path, lines)
	}
}

func TestTheHitsOfAValueAreByDayAndByLink(t *testing.T) {
	st := newPlacedSite(t)
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	st.hits(now, 2, placedVisit{"x", "https://t.co/", "DE", someFirefox}, placedVisit{"y", "https://t.co/", "FR", someFirefox})
	st.hits(now.AddDate(0, 0, 2), 3, placedVisit{"y", "https://twitter.com/", "DE", someIPhone}, placedVisit{"y", "", "FR", someIPhone})
	b := st.ownFigures()
	page := b.open("/_/by?country=DE&period=7d")
	page.want("Country: 🇩🇪 Germany", "5 of 10 hits (50%)", "y 3 8", "x 2 2", "the country of a hit is not known together with its referrer, device or browser, and visitors are counted for all hits only")
	expect.Slices(t, page.days(), []string{"2026-03-10 2", "2026-03-12 (so far) 3"})
	page = b.open("/_/by?site=X&period=7d")
	page.want("Referrer: X", "7 of 10 hits", "t.co 4 57%", "twitter.com 3 43%")
	page = b.open("/_/by?referrer=t.co&code=y&period=7d")
	page.want("The link y.", "2 of 8 hits (25%)")
	expect.Contains(t, page.body, `href="/_/by?referrer=t.co"`, "all links")
	b.open("/_/by?country=DE&from=2026-03-10&to=2026-03-10").want("2 of 4 hits")
	b.open("/_/by?country=JP&period=7d").want("0 of 10 hits (0%)")
}

func TestTheHitsOfAValueAreComparedAndAFile(t *testing.T) {
	st := newPlacedSite(t)
	today := time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
	german, french := placedVisit{"x", "https://t.co/", "DE", someFirefox}, placedVisit{"y", "", "FR", someFirefox}
	st.hits(today.AddDate(0, 0, -9), 4, german)
	st.hits(today.AddDate(0, 0, -9), 9, french)
	st.hits(today.AddDate(0, 0, -2), 6, german)
	st.hits(today, 2, german, french)
	b := st.ownFigures()
	page := b.open("/_/by?country=DE&period=7d")
	page.want("8 of 10 hits (80%)", "▲ 50% more than")
	file := b.get(page.link("CSV"))
	expect.Equal(t, file.header.Get("Content-Disposition"), `attachment; filename="figures-country-2026-03-06-to-2026-03-12.csv"`)
	for _, line := range []string{
		"total,,2026-03-06T00:00:00Z,2026-03-13T00:00:00Z,,10,6", "chosen,,2026-03-06T00:00:00Z,2026-03-13T00:00:00Z,DE,8,",
		"series,,2026-03-10T00:00:00Z,2026-03-11T00:00:00Z,DE,6,", "values,,,,DE,8,", "top,x,,,DE,8,", "top,x,,,,8,",
		"compared,,2026-03-06T00:00:00Z,2026-03-12T00:00:00Z,DE,6,", "before,,2026-02-27T00:00:00Z,2026-03-05T00:00:00Z,DE,4,",
	} {
		expect.Contains(t, file.body, line+"\n")
	}
	file = b.get(b.open("/_/by?referrer=t.co&code=x&period=7d").link("CSV"))
	expect.Contains(t, file.header.Get("Content-Disposition"), `"figures-x-referrer-2026`)
	expect.That(t, strings.Contains(file.body, "chosen,,2026-03-06T00:00:00Z,2026-03-13T00:00:00Z,t.co,8,\n") && !strings.Contains(file.body, "\ntop,"), "of a link: %s", file.body)
	page = b.open("/_/by?country=DE&period=all")
	expect.That(t, len(page.all("p", "delta")) == 0 && page.link("CSV") != "", "all has nothing before it")
	b.get("/_/by.csv?country=DE&from=2026-99-99").expect(t, "dates that are none", 422)
	b.get("/_/by.csv?country=ZZ").expect(t, "no country", 404)
}

// days returns the days of a page's chart that have hits.
func (p *shown) days() (rows []string) {
	for _, table := range p.all("figure", "chart-box") {
		for n := range table.Descendants() {
			if n.Data == "tr" && n.Parent.Data == "tbody" {
				if text := strings.Join(strings.Fields(textOf(n.FirstChild)+" "+textOf(n.LastChild)), " "); !strings.HasSuffix(text, " 0") {
					rows = append(rows, text)
				}
			}
		}
	}
	return rows
}

func TestADayOfAChartLeadsToItsFigures(t *testing.T) {
	st := newPlacedSite(t)
	day := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	st.hits(day, 4, placedVisit{"x", "", "DE", someFirefox})
	st.hits(day.AddDate(0, 0, 2), 3, placedVisit{"x", "", "DE", someFirefox}, placedVisit{"y", "", "DE", someFirefox})
	b := st.ownFigures()
	for path, want := range map[string]string{
		"/_/?period=30d": "4 hits", "/_/link/x?period=30d": "4", "/_/tags/figures?tag=news&period=30d": "4", "/_/by?country=DE&period=30d": "4 of 4 hits",
	} {
		address := b.open(path).link("2026-03-10")
		expect.MustThat(t, strings.Contains(address, "from=2026-03-10") && strings.Contains(address, "to=2026-03-10"), "%s: %s", path, address)
		page := b.open(address)
		page.want("10 March 2026")
		expect.Contains(t, page.text(), strings.TrimSuffix(want, " hits"), address)
	}
}

func TestATargetLeadsToTheLinksToItsHost(t *testing.T) {
	st := newPlacedSite(t)
	st.shorten(`{"url":"https://other.example/","alias":"z"}`)
	b := st.ownFigures()
	address := b.open("/_/link/x").link("Links to shop.example")
	found := strings.Fields(listedOn(b.open(address)))
	expect.Equal(t, len(found), 2, "%s: %v", address, found)
}

func TestOnlyWhoMaySeeALinkSeesItsHitsByValue(t *testing.T) {
	st := newPlacedSite(t)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	for path, status := range map[string]int{
		"/_/by?country=DE": 200, "/_/by?country=DE&code=x": 404, "/_/by?country=DE&owner=all": 403, "/_/by?country=DE&code=x&owner=1": 403,
		"/_/by": 404, "/_/by?country=ZZ": 404, "/_/by?country=DE&device=tv": 404, "/_/by?site=Unknown": 404, "/_/by?country=DE&code=x&tag=news": 404,
		"/_/by?country=DE&code=%00": 404, "/_/by?country=DE&from=2026-99-99": 422,
	} {
		b.get(path).expect(t, path, status)
	}
}
