package api

import (
	"strings"
	"testing"
)

func TestAPreviewShowsTheTargetEscapedAndCountsNothing(t *testing.T) {
	st := newPagesSite(t)
	before := st.counted()
	r := st.get("/live+", browser)
	for _, want := range []string{
		"https://good.example/x?a=1&amp;b=&#34;&lt;script&gt;&#34;#y", `<time datetime="2026-01-02T03:04:05Z">2 January 2026, 03:04 UTC</time>`,
		`<a class="button" href="/live" rel="nofollow noreferrer">`,
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the preview lacks %s:\n%s", want, r.body)
		}
	}
	if r.header.Get("Location") != "" || r.header.Get("Refresh") != "" || strings.Contains(r.body, "http-equiv") {
		t.Errorf("the preview redirects: %+v", r)
	}
	if r := st.get("/capped+"); !strings.Contains(r.body, ">good.example<") || strings.Contains(r.body, "secret") {
		t.Errorf("a capped link: got\n%s", r.body)
	}
	st.get("/live.svg")
	st.get("/live.png")
	if got := st.counted(); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
	st.wantStats("live", 0, 0)
	if r := st.get("/capped"); r.status != 302 {
		t.Errorf("the preview used up the only hit: got %d", r.status)
	}
}

func TestAPreviewShowsALookAlikeHostInPunycode(t *testing.T) {
	st := newPagesSite(t)
	st.shorten(`{"url":"https://аррӏе.example/","alias":"fake"}`)
	st.shorten(`{"url":"https://münchen.example/","alias":"real"}`)
	if r := st.get("/fake+"); !strings.Contains(r.body, "https://xn--80ak6aa92e.example/") || strings.Contains(r.body, "аррӏе") || !strings.Contains(r.body, "Check the name") {
		t.Errorf("a look-alike: got\n%s", r.body)
	}
	if r := st.get("/real+"); !strings.Contains(r.body, "https://xn--mnchen-3ya.example/") || !strings.Contains(r.body, "<bdi>münchen.example</bdi>") {
		t.Errorf("a name that is readable: got\n%s", r.body)
	}
}

func TestAPreviewShowsTheCurrentLink(t *testing.T) {
	st := newPagesSite(t)
	if r := st.call("DELETE", "/links/live", ""); r.status != 204 {
		t.Fatalf("got %d", r.status)
	}
	if r := st.get("/live+"); r.status != 404 {
		t.Errorf("of a deleted link: got %d", r.status)
	}
	st.shorten(`{"url":"https://new.example/","alias":"live"}`)
	st.call("PATCH", "/links/live", `{"url":"https://newer.example/"}`)
	if r := st.get("/live+"); !strings.Contains(r.body, "https://newer.example/") || !strings.Contains(r.body, "2026-01-02T03:05:05Z") {
		t.Errorf("of its successor, edited: got\n%s", r.body)
	}
}
