package api

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

// longTarget is a target of 2,737 bytes, which has 8,193 as it goes out.
var longTarget = "http://a/" + strings.Repeat("é", 1364)

func TestAForwardedQueryGoesOutInASCII(t *testing.T) {
	t.Parallel()
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a/é?b#ü","alias":"q","forward_query":true}`)
		c := dial()
		r := bufio.NewReader(c)
		for query, want := range map[string]string{
			"":                                      "http://a/%C3%A9?b#%C3%BC",
			"?x=é&y=%zz%25":                         "http://a/%C3%A9?b&x=%C3%A9&y=%zz%25#%C3%BC",
			"?x=|\"<>^`{}\\[]~!'":                   "http://a/%C3%A9?b&x=%7C%22%3C%3E%5E%60%7B%7D%5C[]~!'#%C3%BC",
			"?x=\xff":                               "http://a/%C3%A9?b&x=%FF#%C3%BC",
			"?" + strings.Repeat("é", 1359) + "xxx": "http://a/%C3%A9?b&" + strings.Repeat("%C3%A9", 1359) + "xxx#%C3%BC", // 8,182 bytes
		} {
			writePieces(t, c, requestText("GET", "/q"+query, ""), 1<<20)
			readReply(t, r, "GET").expect(t, fmt.Sprintf("%.40q", query), header("Location", want), 302)
		}
		writePieces(t, c, requestText("GET", "/q?"+strings.Repeat("é", 1362), ""), 1<<20)
		readReply(t, r, "GET").expect(t, "2,724 bytes of a query that are too long once they are encoded", 414)
	})
}

func TestATargetThatIsTooLongAsItGoesOutIsRefusedHoweverItComes(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	body := `{"url":"` + longTarget + `"}`
	row := `{"code":"c","url":"` + longTarget + `"}`
	for what, r := range map[string]reply{
		"a link": st.call("POST", "/shorten", body), "an edit": st.call("PATCH", "/links/x", body), "of many": st.call("POST", "/shorten/bulk", "["+body+"]"),
		"an import": st.call("POST", "/import", "["+row+"]"),
	} {
		expect.That(t, (r.status == 422 || r.status == 200) && strings.Contains(r.body, `"too_long"`) &&
			strings.Contains(r.body, "8192 bytes as browsers are sent it"), "%s: got %d %.300s", what, r.status, r.body)
	}
	expect.Equal(t, st.engine.Metrics().Links, 1, "links")
}

// An earlier program took it. Its Location would be longer than clients and proxies are known to read.
func TestALinkOfAnOlderStoreThatIsTooLongAsItGoesOutGets414(t *testing.T) {
	st := newSite(t, nil)
	_, _, err := st.engine.Create(t.Context(), engine.Draft{Alias: "old", Owner: 1, Target: longTarget})
	expect.NoError(t, err)
	st.get("/old").expect(t, "", 414)
	st.call("PATCH", "/links/old", `{"title":"still edited"}`).expect(t, "another field", 200, longTarget)
}

func TestARootRedirectGoesOutInASCII(t *testing.T) {
	st := newSite(t, func(o *Options) { o.RootRedirect = "https://example.com/é|%zz" })
	st.get("/").expect(t, "", header("Location", "https://example.com/%C3%A9%7C%zz"))
}
