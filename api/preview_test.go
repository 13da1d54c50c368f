package api

import (
	"fmt"
	"testing"

	"shunt/engine/expect"
)

func TestAPreviewShowsTheTargetEscapedAndCountsNothing(t *testing.T) {
	st := newPagesSite(t)
	before := st.counted()
	r := st.get("/live+", browser)
	for _, want := range []string{
		"https://good.example/x?a=1&amp;b=&#34;&lt;script&gt;&#34;#y", `<time datetime="2026-01-02T03:04:05Z">2 January 2026, 03:04 UTC</time>`,
		`<a class="button" href="/live" rel="nofollow noreferrer">`,
	} {
		r.expect(t, fmt.Sprintf("the preview lacks %s", want), want)
	}
	r.expect(t, "the preview redirects", header("Location", ""), header("Refresh", ""), without("http-equiv"))
	st.get("/capped+").expect(t, "a capped link", ">good.example<", without("secret"))
	st.get("/live.svg")
	st.get("/live.png")
	expect.Equal(t, st.counted(), before)
	st.wantStats("live", 0, 0)
	st.get("/capped").expect(t, "the preview used up the only hit", 302)
}

func TestAPreviewShowsALookAlikeHostInPunycode(t *testing.T) {
	st := newPagesSite(t)
	st.shorten(`{"url":"https://аррӏе.example/","alias":"fake"}`)
	st.shorten(`{"url":"https://münchen.example/","alias":"real"}`)
	st.get("/fake+").expect(t, "a look-alike", "https://xn--80ak6aa92e.example/", without("аррӏе"), "Check the name")
	st.get("/real+").expect(t, "a name that is readable", "https://xn--mnchen-3ya.example/", `<bdi translate="no">münchen.example</bdi>`)
}

func TestAPreviewShowsTheCurrentLink(t *testing.T) {
	st := newPagesSite(t)
	st.call("DELETE", "/links/live", "").need(t, "", 204)
	st.get("/live+").expect(t, "of a deleted link", 404)
	st.shorten(`{"url":"https://new.example/","alias":"live"}`)
	st.call("PATCH", "/links/live", `{"url":"https://newer.example/"}`)
	st.get("/live+").expect(t, "of its successor, edited", "https://newer.example/", "2026-01-02T03:05:05Z")
}
