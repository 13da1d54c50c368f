package api

import (
	"strings"
	"testing"

	"shunt/engine/expect"
)

// TestFormsEditRulesAndSplits makes a link that decides with a form, follows it, and edits it: as lines of text,
// without script.
func TestFormsEditRulesAndSplits(t *testing.T) {
	st, b := withAnn(t, nil)
	const (
		rules = "device=ios and language=de -> https://a.example/app\r\n\r\nquery.x -> https://a.example/x"
		split = "70:https://a.example/a\r\n30:https://a.example/b"
	)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "s", "rules", rules, "split", split)).want("The link is ready.")
	object := func() string { return st.call("GET", "/links/s?owner=all", "").body }
	made := object()
	for _, part := range []string{
		`{"url":"https://a.example/app","conditions":[{"type":"device","match_key":null,"match_value":"ios"},{"type":"language","match_key":null,"match_value":"de"}],"target":2}`,
		`"split":[{"url":"https://a.example/a","weight":70,"target":4},{"url":"https://a.example/b","weight":30,"target":5}]`,
	} {
		expect.Contains(t, made, part)
	}
	st.get("/s?x", browser)
	st.get("/s", "User-Agent: Googlebot")
	page := b.open("/_/link/s")
	page.want("Targets, 30 days", "https://a.example/x query.x 1 1 100.0 %", "https://a.example/a weight 70 of 100 0 0 0.0 %", "https://a.example/ bots 0 0 0.0 %")

	edit := b.open("/_/link/s/edit").form("/_/link/s/edit")
	b.follow(edit).want("Nothing was changed.")
	b.follow(edit.with("title", "T")).want("The link is saved.")
	expect.That(t, strings.Contains(object(), made[strings.Index(made, `"rules"`):strings.Index(made, `"disabled"`)]), "an edit of the title changed the targets: %s", object())

	for field, typed := range map[string][2]string{
		"rules": {"query.x -> https://a.example/\n\nos=ios -> https://a.example/", `Line 2: the condition "os=ios" must be one of`},
		"split": {"70 https://a.example/", "Line 1: must be WEIGHT:URL, such as 70:https://example.org/a."},
	} {
		got := b.submit(b.open("/_/link/s/edit").form("/_/link/s/edit").with(field, typed[0]))
		expect.That(t, got.status == 422 && strings.HasPrefix(got.at("link-"+field+"-error"), typed[1]), "%s: got %d %q", field, got.status, got.at("link-"+field+"-error"))
	}
	got := b.submit(b.open("/_/link/s/edit").form("/_/link/s/edit").with("rules", "query.x -> https://a.example/\ncountry=Bayern -> ftp://a.example/"))
	expect.Equal(t, got.at("link-rules-error"), "Rule 2: must be http or https (an operator can allow more with --target-schemes).")
	got = b.submit(b.open("/_/link/s/edit").form("/_/link/s/edit").with("split", "70:https://a.example/a\n3000:https://a.example/b"))
	expect.That(t, strings.HasPrefix(got.at("link-split-error"), "Part 2: "), "got %q", got.at("link-split-error"))

	b.follow(b.open("/_/link/s/edit").form("/_/link/s/edit").with("rules", "device=ios and device=android -> https://a.example/\ndevice=ios -> https://a.example/\ndevice=ios -> https://a.example/x")).want(
		"The link is saved. Rule 1, condition 2, matches nobody who meets condition 1 of the rule. Rule 3 is never reached: rule 2 matches everybody whom this rule matches.")
	b.follow(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "rules", strings.Repeat("before=2020-01-01 -> https://a.example/\n", 9))).want(
		"The link is ready. Rule 1, condition 1, matches nobody any more: that time has passed. Rule 2,", "Rule 3, condition 1,", "passed. There are more warnings.")
	b.follow(b.open("/_/link/s/edit").form("/_/link/s/edit").with("rules", "", "split", " ")).want("The link is saved.")
	expect.That(t, !strings.Contains(object(), `"rules"`) && !strings.Contains(object(), `"split"`), "got %s", object())
	st.get("/s", browser)
	b.open("/_/link/s").want("Targets, 30 days", "while the link had one target, or imported 1", "former target 3 1 1 100.0 %")
	expect.Contains(t, b.get("/_/figures.csv?code=s&period=today").body, "\ntargets,,,,0,1,\ntargets,,,,3,1,1\n")
}

// TestPagesSayWhatTheDataHasNot: a link's tags lead to their figures; lists of several targets or links together lead
// nowhere, and say so.
func TestPagesSayWhatTheDataHasNot(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://a.example/","alias":"x","tags":["t","some words"],"split":[{"url":"https://a.example/","weight":50},{"url":"https://b.example/","weight":50}]}`)
	st.shorten(`{"url":"https://a.example/","alias":"y"}`)
	st.get("/x", "User-Agent: Mozilla/5.0 Firefox/140", "Referer: https://news.example/")
	b := st.ownFigures()
	page := b.open("/_/link/x")
	page.want("The lists below are of all targets together.")
	for tag, path := range map[string]string{"t": "/_/tags/figures?tag=t", "some words": "/_/tags/figures?tag=some+words"} {
		found := ""
		for n := range page.doc.Descendants() {
			if attribute(n, "aria-label") == "Figures of "+tag {
				found = attribute(n, "href")
			}
		}
		expect.Equal(t, found, path, "the figures of %s", tag)
		b.open(path).want("30 days 1 ", "news.example")
	}
	for path, note := range map[string]bool{"/_/compare?codes=x,y": true, "/_/compare?codes=x": false, "/_/link/y": false} {
		page := b.open(path)
		got := strings.Contains(page.text(), "Hits by these values are kept for each link, not for several together.")
		expect.Equal(t, got, note, "%s: the note", path)
	}
}
