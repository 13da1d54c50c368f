package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// People and mailers send the address of /promo, which forwards its query, in these forms. A
// visitor that follows one of these asks for the link.
var spoiltPromos = map[string]string{
	"/promo":                      "",
	"/%70romo":                    "",
	"/pr%6Fm%6f":                  "",
	"/promo.":                     "",
	"/promo,":                     "",
	"/promo)":                     "",
	"/promo%29%2C":                "",
	"/promo%20":                   "",
	"/promo%0D%0A":                "",
	"/promo\u200b":                "",
	"/promo%E2%80%8B":             "",
	"/promo\u00a0":                "",
	"/promo/.":                    "",
	"/promo/%20?":                 "",
	"/promo&utm_source=x":         "?utm_source=x",
	"/promo/&utm_source=x":        "?utm_source=x",
	"/%70romo.&a=1?b=2":           "?a=1&b=2",
	"/promo.?b=2":                 "?b=2",
	"http://any.example/promo.":   "",
	"http://any.example/promo&a":  "?a",
	"/promo#part":                 "",
	"/promo?a=1#part?b=2":         "?a=1",
	"/promo&a=1#part":             "?a=1",
	"/promo#\u00e9\xff<>\"":       "",
	"http://any.example/promo?#x": "",
}

// Every form is answered alike through every door, as one hit, on a connection that stays open. No
// form of a link is a miss.
func TestSpoiltCodesAreRedirectedByEveryDoor(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a.example/","alias":"promo","forward_query":true}`)
		c := dial()
		defer c.Close()
		r, hits := bufio.NewReader(c), uint64(0)
		for _, method := range []string{"GET", "HEAD"} {
			for target, query := range spoiltPromos {
				expect.OK(t, expect.Err(io.WriteString(c, requestText(method, target, "", browser))))
				answer := readReply(t, r, method)
				want := "http://a.example/" + query
				answer.expect(t, fmt.Sprintf("%s %q", method, target), 302, header("Location", want), kept)
			}
			hits += uint64(len(spoiltPromos))
		}
		st.wantStats("promo", hits/2, 1)
		got := st.redirects.Counts().Misses
		expect.Equal(t, got, [len(got)]uint64{})
		for _, target := range []string{"/nope.", "/%6Eope", "/nope%20", "/nope&x=y", "/nope\u200b", "/nope"} {
			expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", target, ""))))
			readReply(t, r, "GET").expect(t, fmt.Sprintf("%q", target), 404, kept)
		}
		if r := st.call("GET", "/misses", ""); !strings.HasPrefix(r.body, `{"data":[{"code":"nope","count":6,"error":0}],"total":6,`) {
			t.Errorf("misses: got %s", r.body)
		}
	})
}

// A query of any bytes is ignored, or forwarded with what must be percent-encoded in that form.
func TestAQueryOfAnyBytesIsTaken(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a.example/","alias":"plain"}`)
		st.shorten(`{"url":"http://a.example/x#y","alias":"query","forward_query":true}`)
		c := dial()
		defer c.Close()
		r := bufio.NewReader(c)
		for query, sent := range map[string]string{
			"x=\u00e9":        "x=%C3%A9",
			"x=\xff\x80":      "x=%FF%80",
			`"<>|^{}` + "`":   "%22%3C%3E%7C%5E%7B%7D%60",
			"[]'%zz%41+":      "[]'%zz%41+",
			"a=\u65e5\u672c":  "a=%E6%97%A5%E6%9C%AC",
			"a=\u65e5#\u672c": "a=%E6%97%A5",
		} {
			for target, want := range map[string]string{
				"/plain?" + query: "http://a.example/", "/query?" + query: "http://a.example/x?" + sent + "#y", "/query&" + query: "http://a.example/x?" + sent + "#y",
			} {
				expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", target, ""))))
				answer := readReply(t, r, "GET")
				got := answer.header.Get("Location")
				expect.That(t, answer.status == 302 && got == want, "%q: got %d %q, want %q", target, answer.status, got, want)
			}
		}
	})
}

// A body of GET or HEAD is read and dropped, up to the limit of every body, and the next request
// begins after it.
func TestABodyOfGETIsDropped(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a/","alias":"x"}`)
		st.shorten(`{"url":"http://a/","alias":"smuggled"}`)
		c := dial()
		defer c.Close()
		smuggled := requestText("GET", "/smuggled", "", "X: "+strings.Repeat("y", 1000))
		largest := strings.Repeat(smuggled, 50)
		largest += strings.Repeat("z", 64<<10-len(largest))
		var all strings.Builder
		const times = 4
		for range times {
			for _, body := range []string{"a", smuggled, largest} {
				for _, method := range []string{"GET", "HEAD"} {
					all.WriteString(requestText(method, "/x", body, browser) + requestText(method, "/x", "", browser))
					fmt.Fprintf(&all, "%s /x HTTP/1.1\r\nHost: a\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX: y\r\n\r\n", method, browser, len(body), body)
				}
			}
		}
		go func() { _, _ = io.WriteString(c, all.String()) }()
		r := bufio.NewReader(c)
		for range times * 3 * 2 * 3 {
			if answer := readReply(t, r, "HEAD"); answer.status != 302 || answer.close { // a redirect has no body
				t.Fatalf("got %+v", answer)
			}
		}
		st.wantStats("x", times*3*3, 1)
		st.wantStats("smuggled", 0, 0)
	})
}

// Previews and QR codes are found with escapes and with what follows an address in a text; the API, the
// dashboard and what is served beside codes only as they are.
func TestPagesOfSpoiltCodesAreServed(t *testing.T) {
	st := newPagesSite(t)
	for target, status := range map[string]int{
		"/liv%65+": 200, "/%6Cive.svg": 200, "/live%2Esvg": 200, "/live%2Epn%67?size=64": 200, "/live+.": 200, "/live+%20": 200, "/live.svg)": 200,
		"/live.png\u200b": 200, "/live+/.": 404, "/none+.": 404, "/used.svg.": 410, "/evil+,": 403, "/live+&x=y": 404, "/live%2B": 404, "/live.svg+.": 404,
		"/robots%2Etxt": 404, "/robots.txt.": 404, "/%5F/docs": 404, "/_/docs.": 404, "/%61pi/v1/openapi.json": 404, "/api/v1/openapi.json.": 404,
		"/%5F/": 404, "/_/%20": 404, "/#x": 200, "/?\u00e9": 200, "/robots.txt#x?y": 200, "/api/v1/openapi.json?#\u00e9": 200, "/\u00e9": 404, "/api/v1/\u00e9": 404,
	} {
		st.get(target).expect(t, fmt.Sprintf("%q", target), status)
	}
}

// A path that names nothing costs no look-up for each byte or escape: no path is looked up twice.
func TestASpoiltCodeCountsOneMiss(t *testing.T) {
	st := newSite(t, nil)
	ctx := requestFrom(tcpAddr("192.0.2.1"))
	for i, target := range []string{"/x" + strings.Repeat(".", 8000), "/x" + strings.Repeat("%20", 2000), "/x" + strings.Repeat("&", 8000), "/" + strings.Repeat("%78", 64), "/x" + strings.Repeat("./", 3000)} {
		ctx.Request.Header.SetRequestURI(target)
		ctx.Request.Header.SetMethod(fasthttp.MethodGet)
		st.front.handle(ctx)
		total := uint64(0)
		for _, n := range st.redirects.Counts().Misses {
			total += n
		}
		expect.That(t, total == uint64(i+1) && ctx.Response.StatusCode() == 404,
			"%.10q: got %d misses after %d, status %d", target, total, i+1, ctx.Response.StatusCode())
	}
}
