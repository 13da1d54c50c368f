package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"shunt/bench"
	"shunt/engine/expect"
)

// A timedPage is a line of the table: a path, whose words in braces are replaced (see words), and
// the limit of its p99.
type timedPage struct {
	path     string
	limit    time.Duration
	form     string // sent by POST; "": a GET
	stranger bool   // without a session
	status   int    // of the answer; 0: 200
}

const (
	pageLimit     = 50 * time.Millisecond
	pageLongLimit = 2 * time.Second        // windows over 90 days over all links
	signInLimit   = 200 * time.Millisecond // a password takes 30 ms of processor on purpose
)

// timedPages are all pages that people look at, and the calls that programs make most. One that is added here is
// measured in every way. {own} is the parameter by which people other than the owner see the links.
var timedPages = []timedPage{
	page("/_/?{own}"),
	page("/_/?{own}period=today"),
	page("/_/?{own}period=7d"),
	longPage("/_/?{own}period=90d"), // with the 90 days before
	longPage("/_/?{own}period=all"),
	page("/_/?owner=all"),
	page("/_/?owner=all&period=today"),
	longPage("/_/?owner=all&period=all"),
	page("/_/?owner=2"),
	page("/_/links?{own}"),
	page("/_/links?{own}cursor={cursor}"),
	page("/_/links?{own}q=price"),
	page("/_/links?{own}q=nowhere"),
	page("/_/links?{own}tag=some"),
	page("/_/links?{own}tag=many"),
	page("/_/links?{own}tag=many&q=nowhere"),
	page("/_/links?{own}state=active"),
	page("/_/links?{own}state=disabled"),
	page("/_/links?{own}state=expired"),
	page("/_/links?{own}state=exhausted"),
	page("/_/links?{own}state=blocked"),
	page("/_/links?owner=all"),
	page("/_/links?owner=all&state=exhausted"),
	page("/_/links?owner=all&q=price"),
	page("/_/links?owner=all&q=nowhere"),
	page("/_/links?{own}sort=hits"),
	page("/_/links?{own}sort=visitors"),
	page("/_/links?{own}sort=last-hit"),
	page("/_/links?{own}q=price&sort=match"),
	page("/_/links?{own}created_from={89d}"),
	page("/_/links?{own}never_hit=true"),
	page("/_/links?{own}q={hot}"),
	longPage("/_/links/export?{own}"), // a file of 10,000 links
	page("/_/links/trash?{own}"),
	page("/_/links/check?{own}"),
	page("/_/links/filters"),
	page("/_/go?q=price"),
	page("/_/keys"),
	page("/_/links/new"),
	page("/_/links/bulk"),
	page("/_/campaigns"),
	page("/_/link/{hot}?{own}"),
	page("/_/link/{hot}?{own}period=today"),
	page("/_/link/{hot}?{own}period=30d"),
	page("/_/link/{hot}?{own}period=all"),
	page("/_/link/{rare}?{own}period=all"),
	page("/_/link/{tagged}?{own}"),
	page("/_/compare?{own}codes={hot},{rare}"),
	page("/_/by?{own}country=US"),
	page("/_/by?{own}code={hot}&country=US"),
	page("/_/figures.csv?{own}"),
	page("/_/tags?{own}"),
	page("/_/tags/figures?{own}tag=some"),
	longPage("/_/tags/figures?{own}tag=many"),
	page("/_/link/{hot}/edit?{own}"),
	page("/_/link/{hot}/delete?{own}"),
	page("/_/link/{hot}/reset?{own}"),
	page("/_/link/{hot}/owner?{own}"),
	page("/_/link/{hot}/qr?{own}"),
	page("/_/folders"),
	page("/_/tokens"),
	page("/_/tokens/apps"),
	page("/_/all-tokens"),
	page("/_/users"),
	page("/_/users/1"),
	page("/_/misses"),
	page("/_/transfer"),
	page("/_/audit"),
	page("/_/audit?actor=nobody"),
	page("/_/system"),
	page("/_/system/edges"),
	page("/_/domains"),
	page("/_/account"),
	page("/_/welcome"),
	{path: "/_/sign-in", limit: pageLimit, stranger: true},
	{path: "/_/setup", limit: pageLimit, status: http.StatusNotFound},
	{path: "/_/nothing", limit: pageLimit, status: http.StatusNotFound},
	page("/_/docs"),
	page("{style}"),
	page("{script}"),
	{path: "/_/sign-in", limit: signInLimit, stranger: true, status: http.StatusSeeOther,
		form: url.Values{"email": {bench.BigMember}, "password": {bench.BigPassword}}.Encode()},

	page("/api/v1/links?{own}limit=50"),
	page("/api/v1/links?{own}limit=50&q=nowhere"),
	page("/api/v1/links?limit=50&owner=all&q=nowhere"),
	page("/api/v1/links?{own}limit=50&state=blocked"),
	page("/api/v1/links?limit=50&owner=all&state=exhausted"),
	page("/api/v1/stats/{hot}?{own}include=" + everyPart),
	page("/api/v1/stats/{hot}?{own}interval=day&from={399d}&include=" + everyPart),
	page("/api/v1/stats?{own}interval=day&include=" + everyPart),
	page("/api/v1/stats?{own}interval=day&from={89d}&include=" + everyPart),
	longPage("/api/v1/stats?owner=all&interval=day&from={399d}&include=" + everyPart),
	page("/api/v1/stats?{own}from={6d}&top=10"),
	longPage("/api/v1/stats?{own}from={399d}&top=10"),
	page("/api/v1/me"),
	page("/api/v1/export?owner=3"),
}

const everyPart = "bots,referrers,countries,devices,browsers,durability,error"

func page(path string) timedPage     { return timedPage{path: path, limit: pageLimit} }
func longPage(path string) timedPage { return timedPage{path: path, limit: pageLongLimit} }

// words returns what stands for the words in paths: codes of the most-hit link, of one with few
// hits and of one with the largest tag, a cursor somewhere in the list, times back from now, in
// hours, or in whole days, and the files that pages load.
func (m *pageTimes) words() map[string]string {
	words := map[string]string{"hot": bench.BigCode(m.store.Ranked(0)), "rare": bench.BigCode(m.store.Ranked(45_000))}
	for _, days := range []int{6, 89, 399} {
		words[strconv.Itoa(days)+"d"] = time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly)
	}
	words["cursor"] = url.QueryEscape(m.found("/api/v1/links?limit=1000", `"next_cursor":"([^"]+)"`))
	words["tagged"] = m.found("/api/v1/links?limit=1&tag="+bench.BigTagMany, `"code":"([^"]+)"`)
	words["style"] = m.found("/_/", `href="([^"]+style\.css)"`)
	words["script"] = m.found("/_/", `src="([^"]+script\.js)"`)
	return words
}

// found returns the first group of a pattern in a page.
func (m *pageTimes) found(path, pattern string) string {
	got, err := m.request(&person{client: new(http.Client), cookie: m.cookie}, &timedPage{path: path})
	expect.OK(m.t, err)
	match := regexp.MustCompile(pattern).FindStringSubmatch(got.text())
	expect.MustThat(m.t, match != nil, "%s: no %s", path, pattern)
	return match[1]
}

// choose returns the pages with words replaced. own stands for {own}.
func chosenPages(words map[string]string, own, only string) (chosen []timedPage) {
	for _, p := range timedPages {
		if !strings.Contains(p.path, only) {
			continue
		}
		p.path = strings.ReplaceAll(p.path, "{own}", own)
		for word, value := range words {
			p.path = strings.ReplaceAll(p.path, "{"+word+"}", value)
		}
		p.path = strings.TrimRight(p.path, "?&")
		chosen = append(chosen, p)
	}
	return chosen
}
