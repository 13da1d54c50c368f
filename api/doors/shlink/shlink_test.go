package shlink

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/ops"
	"shunt/engine/expect"
)

func TestAPathIsAtOneSpot(t *testing.T) {
	for path, want := range map[string]string{
		"/rest/health": "/health health", "/rest/v1/health": "/health health", "/rest/v3/health/": "/health health",
		"/rest/v2/short-urls": "/short-urls short-urls", "/rest/v3/short-urls/": "/short-urls short-urls",
		"/rest/v3/short-urls/shorten": "/short-urls/shorten shorten", "/rest/v3/short-urls/abc": "/short-urls/* abc",
		"/rest/v3/short-urls/a/b": "/short-urls/* a/b", "/rest/v3/short-urls/a%2Fvisits": "/short-urls/* a%2Fvisits",
		"/rest/v3/short-urls/a/b/visits": "/short-urls/*/visits a/b", "/rest/v3/short-urls/visits": "/short-urls/* visits",
		"/rest/v3/short-urls/a/redirect-rules": "/short-urls/*/redirect-rules a", "/rest/v3/tags/stats": "/tags/stats stats",
		"/rest/v3/tags/x/visits": "/tags/*/visits x", "/rest/v3/domains/a.example/visits": "/domains/*/visits a.example",
		"/rest": "", "/rest/": "", "/rest/v4/short-urls": "", "/rest/v3": "", "/rest/short-urls": "", "/rest/v3/tags/x": "",
		"/rest/v3/domains/a.example": "", "/rest/v3/short-urls//visits": "/short-urls/* /visits", "/rest/v3//tags": "", "/rest/V3/tags": "",
	} {
		got := ""
		if s, part := spotOf(path); s != nil {
			got = s.path + " " + part
		}
		expect.Equal(t, got, want, path)
	}
}

// A spot that another one before it hides would never be reached; a call that changes something and has no scope would
// be anybody's.
func TestSpotsAndCallsAreInOrder(t *testing.T) {
	for i := range spots {
		path := "/rest/v3" + strings.ReplaceAll(spots[i].path, "*", "x")
		s, _ := spotOf(path)
		expect.That(t, s == &spots[i], "%s is at %v", path, s)
		for method, c := range spots[i].calls {
			changes := method != get || c.byGet
			free := c.action.Anybody || c.action.Scope == ""
			expect.That(t, !changes || !free || spots[i].path == "/visits/orphan", "%s %s needs no scope", method, spots[i].path)
			expect.That(t, c.byGet == (method == get && c.action.Creates), "%s %s creates by GET", method, spots[i].path)
		}
	}
}

func TestPages(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	for text, want := range map[string]string{
		"":                         "[0 1 2 3 4 5 6] {1 1 10 7 7}",
		"page=2&itemsPerPage=3":    "[3 4 5] {2 3 3 3 7}",
		"page=3&itemsPerPage=3":    "[6] {3 3 3 1 7}",
		"page=4&itemsPerPage=3":    "[] {4 3 3 0 7}",
		"page=100000":              "[] {100000 1 10 0 7}",
		"itemsPerPage=-1":          "[0 1 2 3 4 5 6] {1 1 1000 7 7}",
		"itemsPerPage=99999":       "[0 1 2 3 4 5 6] {1 1 1000 7 7}",
		"page=&itemsPerPage=":      "[0 1 2 3 4 5 6] {1 1 10 7 7}",
		"page=0":                   "page",
		"page=-1":                  "page",
		"page=x":                   "page",
		"itemsPerPage=0":           "itemsPerPage",
		"page=9223372036854775807": "page",
	} {
		q, err := readQuery(text)
		expect.OK(t, err)
		p, err := readPlace(q, defaultItems, 1000)
		if err != nil {
			expect.Contains(t, err.Error(), want+":", text)
			continue
		}
		page, at := cut(p, all)
		expect.Equal(t, fmt.Sprint(page, at), want, text)
	}
}

// A page of visits is the same as a part of the list of all visits.
func TestVisitsOfAPageAreAPartOfAllVisits(t *testing.T) {
	begin := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	var series []ops.Bucket
	var all []string
	for i, hits := range []uint64{3, 0, 1, 7, 0, 2} {
		day := begin.AddDate(0, 0, i)
		series = append(series, ops.Bucket{From: day, Hits: hits})
		all = append(all, slices.Repeat([]string{shownTime(day)}, int(hits))...)
	}
	slices.Reverse(all)
	for items := 1; items < 15; items++ {
		var got []string
		for page := 1; page <= 14; page++ {
			p := place{page, items}
			for _, v := range visitsOf(series, uint64(p.begin()), items, "https://s.example/x") {
				got = append(got, v.Date)
			}
		}
		expect.Slices(t, got, all, "%d a page", items)
	}
}

// FuzzRequests reads any path, query and body in each way: nothing panics, and what is made for package ops is one
// object of JSON that has nothing but what was sent.
func FuzzRequests(f *testing.F) {
	for _, path := range []string{"/rest/v3/short-urls/a/visits", "/rest/health", "/rest/v1/", "/rest//", "/rest/v2/short-urls/%zz"} {
		f.Add(path, "page=1&tags[]=a&tags%5B%5D=b&orderBy=title-DESC&startDate=2026-01-02", `{"longUrl":"https://a.example/","tags":["x"],"maxVisits":"5","title":null}`)
	}
	f.Add("/rest/v3/tags", "a=%&b", `{"redirectRules":[{"longUrl":"https://a.example/","conditions":[{"type":"device","matchKey":null,"matchValue":"ios"}]}]}`)
	f.Add("/rest/v3/domains/redirects", "tags[1]=a&tags[=b", `{"domain":"a","baseUrlRedirect":null,"oldName":"a","newName":"b","redirectRules":[[]]}`)
	f.Fuzz(func(t *testing.T, path, text, body string) {
		if s, part := spotOf(path); s != nil {
			expect.That(t, part != "" && strings.Contains(path, part), "the part %q of %q", part, path)
		}
		if q, err := readQuery(text); err == nil {
			expect.That(t, len(q) <= ops.MaxParameters, "%d parameters", len(q))
			for _, tag := range q.many("tags") {
				expect.That(t, tag != "", "an empty tag in %q", text)
			}
			var l listing
			_ = l.readOrder(q.one("orderBy"))
			_, _, _ = readRange(q)
			if p, err := readPlace(q, defaultItems, maxDepth); err == nil {
				expect.That(t, p.begin() >= 0 && p.items > 0, "%+v", p)
			}
		}
		for _, edit := range []bool{false, true} {
			if w, err := readWish([]byte(body), edit); err == nil {
				wantObject(t, &w.object)
			}
		}
		if patch, err := rulesPatch([]byte(body)); err == nil {
			wantObject(t, &patch)
		}
		if _, patch, err := redirectsPatch([]byte(body)); err == nil {
			wantObject(t, &patch)
		}
		_, _, _ = readRenaming([]byte(body))
	})
}

func wantObject(t *testing.T, o *object) {
	t.Helper()
	var members map[string]json.RawMessage
	text := o.body().Text
	expect.That(t, json.Unmarshal(text, &members) == nil, "%q is no object", text)
}
