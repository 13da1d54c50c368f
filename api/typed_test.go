package api

import (
	"fmt"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// typed are addresses as people type and paste them, and what is stored and shown.
var typed = map[string]string{
	"example.com/x":                         "https://example.com/x",
	"example.com:8080/x":                    "https://example.com:8080/x",
	"Bücher.example/ü":                      "https://xn--bcher-kva.example/ü",
	"https://a.example/b c":                 "https://a.example/b%20c",
	"\u00a0\ufeffhttps://a.example/x\u200b": "https://a.example/x",
	"\u202ahttps://a.example/?q=a b\u202c":  "https://a.example/?q=a%20b",
}

func TestAnAddressIsReadAlikeByEveryWayIn(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleAdmin)
	b := st.browse("ann@example.com")
	st.shorten(`{"url":"https://a.example/","alias":"edited"}`)
	st.shorten(`{"url":"https://a.example/","alias":"patched"}`)
	want := func(way, code, url string) {
		t.Helper()
		expect.Equal(t, st.object(code).URL, url, way)
		expect.Equal(t, st.get("/"+code).header.Get("Location"), inASCII(url), "%s, followed", way)
	}
	n := 0
	for raw, url := range typed {
		n++
		code := func(way string) string { return way + strings.Repeat("x", n) }
		text := jsonText(raw)
		st.call("POST", "/shorten", `{"url":`+text+`,"alias":"`+code("s")+`"}`).expect(t, fmt.Sprintf("%q", raw), 201)
		want("POST /shorten", code("s"), url)
		st.call("POST", "/shorten", `{"url":`+jsonText(url)+`,"alias":"`+code("s")+`"}`).expect(t, fmt.Sprintf("%q, asked for again as it is stored", raw), 200)
		st.call("POST", "/shorten", `{"url":`+text+`,"alias":"`+code("s")+`"}`).expect(t, fmt.Sprintf("%q, asked for again", raw), 200)
		st.call("POST", "/shorten/bulk", `[{"url":`+text+`,"alias":"`+code("b")+`"}]`)
		want("POST /shorten/bulk", code("b"), url)
		st.call("POST", "/import", `[{"url":`+text+`,"code":"`+code("i")+`"}]`)
		want("POST /import", code("i"), url)
		st.call("PATCH", "/links/patched", `{"url":`+text+`}`)
		want("PATCH", "patched", url)
		b.follow(b.open("/_/links/new").form("/_/links/new").with("url", raw, "alias", code("f")))
		want("the form that creates", code("f"), url)
		b.follow(b.open("/_/link/edited/edit?owner=all").form("/_/link/edited/edit").with("url", raw))
		want("the form that edits", "edited", url)
	}
}

// An import keeps a valid target byte for byte, even if a create would change it.
func TestAnImportedTargetStaysByteForByte(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	const url = "https://a.example/%7e\u200b"
	r := st.call("POST", "/import", `[{"url":`+jsonText(url)+`,"code":"x"}]`)
	expect.That(t, r.status == 200 && st.object("x").URL == url, "imported: got %d %s", r.status, r.body)
	read := st.call("GET", "/links/x", "").body
	r = st.call("PATCH", "/links/x", read)
	expect.That(t, r.status == 200 && st.object("x").URL == url, "patched as it was read: got %d %s", r.status, r.body)
	r = st.call("PATCH", "/links/x", `{"url":`+jsonText(url+" ")+`}`)
	expect.That(t, r.status == 200 && st.object("x").URL == strings.TrimSuffix(url, "\u200b"), "typed: got %d %s", r.status, r.body)
}
