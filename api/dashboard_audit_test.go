package api

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"shunt/api/account"
)

func TestTheAuditLogSaysWhoChangedWhat(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.shorten(`{"url":"https://a.example/","alias":"one","title":"First"}`)
	st.call("PATCH", "/links/one", `{"title":"Second","max_hits":7}`, "X-Request-Id: known-id")
	st.call("POST", "/shorten/bulk", `[{"url":"https://a.example/","alias":"b2"},{"url":"https://a.example/","alias":"a2"},{"url":"x"}]`)
	st.person("ann@example.com", account.RoleMember)
	b.open("/_/audit").want("Audit log",
		"Somebody added a user user 3 email: ann@example.com role: member password: changed",
		"admin by token", "created several links a2 to b2 2 created, 0 there already, 1 refused",
		"known-id admin by token", "edited a link one max_hits: none → 7 title: First → Second",
		"created a link one url: https://a.example/ owner: 1 title: First")
	only := b.open("/_/audit?code=one&actor=admin")
	only.want("edited a link one", "created a link one")
	if strings.Contains(only.text(), "several") {
		t.Errorf("a filter by code shows %s", only.text())
	}
	b.open("/_/audit?actor=nobody").want("Nothing was found. Show all changes")
	b.open("/_/audit?from=2026-01-02&to=2026-01-02").want("edited a link one") // the last day is included
	b.open("/_/audit?from=2026-01-03").want("Nothing was found.")
	b.open("/_/link/one?owner=all").want("(all changes)")
	b.open("/_/users/3").want("Changes by this user")
	for query, want := range map[string]string{
		"code=a%2Fb": "The link: is not a code.", "from=x": "From: must be a time", "cursor=x": "The address of this page: is not a cursor",
		"from=2026-01-05&to=2026-01-02": "From: must be before to.", "actor=" + strings.Repeat("x", 300): "Who: must be at most 256",
	} {
		if p := b.get("/_/audit?" + query); p.status != 422 || !strings.Contains(p.text(), want) {
			t.Errorf("%s: got %d %s, want %s", query, p.status, p.text(), want)
		}
	}
}

func TestTheAuditLogDoesNothingWithHostileValues(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	const hostile = `</span><script>alert(1)</script>"onload=1`
	st.shorten(fmt.Sprintf(`{"url":"https://a.example/?%s","alias":"one","title":%q}`, "%3Cscript%3E", hostile))
	p := b.open("/_/audit?actor=" + url.QueryEscape(hostile))
	q := b.open("/_/audit")
	if q.want("title: " + hostile); strings.Contains(p.body+q.body, "<script>alert") || strings.Contains(p.body+q.body, `"onload`) {
		t.Errorf("a value is part of the page: %s", q.body)
	}
}

func TestTheAuditLogHasPages(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	for i := range 70 {
		st.shorten(fmt.Sprintf(`{"url":"https://a.example/","alias":"p%02d"}`, i))
	}
	p := b.open("/_/audit?actor=admin&from=2026-01-01")
	p.want("p69", "p20", "Older")
	older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(p.body)
	if older == nil || strings.Contains(p.text(), "p19") || strings.Contains(p.text(), "Newest") {
		t.Fatalf("got %s", p.body)
	}
	next := b.open(strings.ReplaceAll(older[1], "&amp;", "&"))
	next.want("Newest", "p19", "p00")
	if strings.Contains(next.text(), "p20") || strings.Contains(next.text(), "Older") {
		t.Errorf("got %s", next.text())
	}
}
