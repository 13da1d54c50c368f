package browser

import (
	"fmt"
	"net/http"
	"time"

	"shunt/api/client"
)

// Codes of the demo, for rows of the table of pages.
const (
	demoCode     = "spring-sale" // the most followed
	demoDomain   = "go.example"  // has no link
	disabledCode = "old-menu"
	usedUpCode   = "first-guests"
	lockedCode   = "wifi"      // has a password
	memberCode   = "bens-talk" // the member's
	longCode     = "long"      // with a long target
	deletedCode  = "winter-sale"
	missedCode   = "spring-sail"
)

// demoLinks are the admin's links, the newest last: alias, target, title, tags, and how often they
// are followed.
var demoLinks = []struct {
	alias, url, title string
	tags              []string
	hits              int
}{
	{"handbook", "https://handbook.example.org/welcome", "Handbook for new colleagues", []string{"staff"}, 14},
	{lockedCode, "https://help.example.org/guests/wi-fi?lang=en", "Wi-Fi for guests", []string{"office", "help"}, 9},
	{"map", "https://maps.example.net/?q=Market+Square+4", "How to find us", []string{"office"}, 22},
	{"press", "https://example.org/press/2026", "Press kit 2026", []string{"press"}, 6},
	{"jobs", "https://jobs.example.org/open", "Open positions", []string{"staff", "press"}, 31},
	{"nl-41", "https://news.example.org/issues/41?utm_source=newsletter&utm_medium=email", "Newsletter 41", []string{"newsletter"}, 18},
	{"nl-42", "https://news.example.org/issues/42?utm_source=newsletter&utm_medium=email", "Newsletter 42", []string{"newsletter"}, 25},
	{"survey", "https://forms.example.com/s/2f81c0a9-6d1b-4f1e-9d6a-9e7f2a44b0c1", "Survey after the autumn fair", []string{"events", "autumn"}, 12},
	{"tickets", "https://tickets.example.com/concert/summer?ref=poster", "Tickets for the summer concert", []string{"events", "summer"}, 40},
	{"programme", "https://example.org/files/programme-summer-2026.pdf", "Programme as PDF", []string{"events", "summer"}, 17},
	{"donate", "https://example.org/donate", "Donations", nil, 8},
	{"photos", "https://photos.example.net/albums/open-day", "Photos of the open day", []string{"events"}, 11},
	{"ferien", "https://example.org/de/ferienprogramm", "Ferienprogramm für Kinder", []string{"de", "summer"}, 5},
	{"otoiawase", "https://example.org/ja/contact", "お問い合わせ", []string{"ja"}, 3},
	{longCode, "https://archive.example.org/collections/maps-and-plans/nineteenth-century/town-plan-of-the-old-harbour-with-all-its-warehouses?sheet=12&zoom=4",
		"Town plan of the old harbour with all of its warehouses, quays and customs houses, sheet twelve", []string{"archive", "maps", "harbour", "exhibition"}, 7},
	{"slides", "https://slides.example.com/d/1x9", "", nil, 2},
	{"", "https://shop.example.com/products/4711?colour=blue", "", []string{"shop"}, 4},
	{"", "https://shop.example.com/products/4712?colour=green", "", []string{"shop"}, 0},
	{"", "https://www.example.com/", "", nil, 1},
	{"", "https://blog.example.org/2026/11/why-we-moved", "Why we moved", []string{"blog"}, 13},
	{"", "https://blog.example.org/2026/10/harvest", "Harvest", []string{"blog"}, 6},
	{"volunteers", "https://example.org/volunteers?form=short", "Volunteers wanted", []string{"events"}, 10},
	{disabledCode, "https://example.org/menu/2025", "Menu of last year", []string{"office"}, 0},
	{usedUpCode, "https://example.org/guests/first", "For the first ten guests", []string{"events"}, 10},
	{demoCode, "https://shop.example.com/sale/spring?utm_source=poster&utm_campaign=spring", "Spring sale", []string{"shop", "poster"}, 64},
}

// demoRules and demoSplit are the targets of demoCode beside its own.
var (
	demoRules = []client.Rule{{
		URL:        "https://apps.example.com/store?from=spring-sale&campaign=a-long-name-of-a-campaign-that-does-not-end",
		Conditions: []client.Condition{{Type: "device", MatchValue: "ios"}, {Type: "query-param", MatchKey: "utm_source", MatchValue: "poster"}},
	}}
	demoSplit = []client.Share{{URL: "https://shop.example.com/sale/spring?page=a", Weight: 70}, {URL: "https://shop.example.com/sale/spring?page=b", Weight: 30}}
)

// demoVisitors follow the demo's links in turn.
var demoVisitors = []visitor{
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36", "https://news.example.org/", "DE"},
	{"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1", "", "US"},
	{"Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Mobile Safari/537.36", "https://l.facebook.com/", "US"},
	{"Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0", "https://www.google.de/", "GB"},
	{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15", "https://mail.example.com/", "FR"},
	{"Mozilla/5.0 (iPad; CPU OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1", "", "SG"},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36 Edg/148.0.0.0", "https://search.example.com/", "GI"},
	{"curl/8.14.1", "", ""},
	{"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "", "US"},
}

// demoTurns is the order in which they do, some more often than others.
var demoTurns = []int{0, 1, 2, 0, 3, 1, 4, 0, 2, 5, 6, 1, 7, 0, 8, 2, 3}

// fillDemo makes accounts, links, tokens, hits and misses.
func (d *demo) fillDemo() {
	d.t.Helper()
	root := d.token()
	d.addUser(root, emails[admin], "admin")
	d.addUser(root, emails[member], "member")
	d.addUser(root, emails[newcomer], "member")
	d.addUser(root, emails[leaver], "member")
	answerOf[any](d.server, root, http.MethodPost, "/users", map[string]any{"email": emails[invited], "role": "member"})
	ann := d.run("", "token", "add", "--user", emails[admin], "--name", "laptop")
	d.run("", "token", "add", "--user", emails[admin], "--name", "website", "--scopes", "links:read,stats:read", "--expires", "90d")
	d.run("", "token", "add", "--user", emails[admin], "--edge", "oslo")
	d.run("", "domain", "add", demoDomain, "--alias", "www."+demoDomain, "--root-url", "https://www.example.org/", "--not-found-url", "https://www.example.org/find?q={path}")
	ben := d.run("", "token", "add", "--user", emails[member], "--name", "phone")
	d.create(ben, map[string]any{"url": "https://talks.example.com/2026/ben", "alias": memberCode, "title": "Ben's talk"})
	d.fillLinks(ann)
	for i := range 7 {
		d.hit(missedCode, 7-i, demoVisitors[i])
		d.hit(fmt.Sprintf("old-%d", i), 7-i, demoVisitors[i])
	}
}

func (d *demo) fillLinks(token string) {
	d.t.Helper()
	for i, l := range demoLinks {
		fields := map[string]any{"url": l.url, "title": l.title, "tags": l.tags}
		switch l.alias {
		case "":
		case usedUpCode:
			fields["max_hits"] = l.hits / 2 // bots use up none
			fallthrough
		default:
			fields["alias"] = l.alias
		}
		if l.alias == demoCode {
			fields["rules"], fields["split"] = demoRules, demoSplit
		}
		if l.alias == "tickets" {
			fields["expires_at"] = time.Now().Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339)
		}
		code := d.create(token, fields).Code
		for n := range l.hits {
			d.hit(code, 1, demoVisitors[demoTurns[(n+i)%len(demoTurns)]])
		}
	}
	answerOf[any](d.server, token, http.MethodPatch, "/links/"+disabledCode, map[string]any{"disabled": true})
	for _, code := range []string{"a-code-that-is-long-as-some-people-like-them-to-be-for-search", deletedCode} {
		d.create(token, map[string]any{"url": "https://shop.example.com/sale/winter?utm_source=poster", "alias": code, "title": "Winter sale", "tags": []string{"shop"}})
		answerOf[any](d.server, token, http.MethodDelete, "/links/"+code, nil)
	}
	answerOf[any](d.server, token, http.MethodPatch, "/links/"+lockedCode, map[string]any{"password": "open sesame"})
}
