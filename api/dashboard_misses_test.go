package api

import (
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

func TestMissesAreShownWithAWayToMakeThem(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	b.open("/_/misses").want("Nobody has requested a code without a link.", "0 requests since 2026-01-02 03:04 UTC")
	for range 3 {
		st.get("/spring-sale")
	}
	st.get("/-_-")
	for _, hostile := range []string{"/%3Cscript%3Ealert(1)%3C/script%3E", "/<script>", `/x"onload=1`} {
		st.get(hostile)
	}
	p := b.open("/_/misses")
	p.want("spring-sale 3 exact Create this link", "-_- 1 exact")
	for _, want := range []string{`href="/_/links/new?alias=spring-sale"`, `href="/_/links/new?alias=-_-"`} {
		expect.That(t, strings.Contains(p.body, want), "no %s in %s", want, p.body)
	}
	st.shorten(`{"url":"http://a/","alias":"spring-sale"}`)
	expect.That(t, !strings.Contains(b.open("/_/misses").body, "spring-sale"), "a code that has a link by now is still a miss")
}
