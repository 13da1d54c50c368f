package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/redirect"
	"shunt/api/wire"
)

// twoDoors are two sites with the same links: one is asked through fasthttp, the other through
// answerPlain.
type twoDoors struct {
	t            *testing.T
	byFasthttp   *site
	byPlain      *site
	conn         net.Conn // of plain requests; nil: TCP without TLS
	fasthttpAddr func(from string) func() (net.Conn, error)
}

func newTwoDoors(t *testing.T, change func(*Options)) *twoDoors {
	d := &twoDoors{t: t, byFasthttp: newSite(t, change), byPlain: newSite(t, change)}
	listeners := make(map[string]func() (net.Conn, error))
	d.fasthttpAddr = func(from string) func() (net.Conn, error) {
		if listeners[from] == nil {
			listeners[from] = d.byFasthttp.from(from).Dial
		}
		return listeners[from]
	}
	return d
}

// both does the same to both sites.
func (d *twoDoors) both(do func(st *site)) {
	do(d.byFasthttp)
	do(d.byPlain)
}

var dateField = regexp.MustCompile(`\r\nDate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n`)

// undated returns an answer with a Date that does not depend on when it was given.
func undated(answer []byte) string {
	return string(dateField.ReplaceAll(answer, []byte("\r\nDate: then\r\n")))
}

// ask sends a request from an address through both doors, and returns the answer, which must be the
// same but for its date.
func (d *twoDoors) ask(from, raw string) (answer string, closes bool) {
	d.t.Helper()
	want, wantClosed := exchangeBytes(d.t, d.fasthttpAddr(from), raw)
	r := plainOf(d.t, d.byPlain, from, raw)
	r.Conn = d.conn
	got := d.byPlain.front.answerPlain([]byte("before"), r)
	if answer = undated(got); answer != "before"+undated(want) || !strings.Contains(answer, "\r\nDate: then\r\n") {
		d.t.Errorf("%.60q: got\n%.3000s\nwant\n%.3000s", raw, answer, want)
	}
	if r.Closes != wantClosed {
		d.t.Errorf("%.60q: closes: got %v, want %v", raw, r.Closes, wantClosed)
	}
	return strings.TrimPrefix(answer, "before"), wantClosed
}

// exchangeBytes sends raw on a new connection, and returns the bytes of the answer and whether the
// server then closed the connection.
func exchangeBytes(t testing.TB, dial func() (net.Conn, error), raw string) (answer []byte, closed bool) {
	t.Helper()
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, raw)
	var read bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c, &read)), &http.Request{Method: raw[:strings.IndexByte(raw, ' ')]})
	if err != nil {
		t.Fatalf("%.60q: %v", raw, err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	answer = bytes.Clone(read.Bytes())
	if !res.Close {
		return answer, false
	}
	n, err := c.Read(make([]byte, 1))
	return answer, n == 0 && err == io.EOF
}

// plainOf reads a plain request by fasthttp's means.
func plainOf(t testing.TB, st *site, from, raw string) *wire.Plain {
	t.Helper()
	var h fasthttp.RequestHeader
	if err := h.Read(bufio.NewReaderSize(strings.NewReader(raw), len(raw))); err != nil {
		t.Fatal(err)
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&fasthttp.Request{}, tcpAddr(from), nil)
	h.CopyTo(&ctx.Request.Header)
	path, query := splitURI(h.RequestURI())
	peer := netip.MustParseAddr(from)
	return &wire.Plain{
		Raw: []byte(raw), Segment: matchCode(path), Query: query,
		UserAgent: h.UserAgent(), Referrer: h.Referer(), Purposes: h.RawHeaders(),
		Peer: peer, Client: st.proxies.ClientAddr(ctx, peer), Country: st.proxies.CountryCode(ctx, peer),
		Head: h.IsHead(), Closes: h.ConnectionClose(), NowMs: time.Now().UnixMilli(),
	}
}

func TestAPlainRedirectHasFasthttpsBytes(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) { o.TrustedProxies, o.CountryHeader = someProxies.Trusted, "CF-IPCountry" })
	d.both(func(st *site) {
		for _, status := range redirect.Statuses {
			st.shorten(fmt.Sprintf(`{"url":"http://a/%d?b#c","alias":"s%d","redirect_status":%[1]d,"forward_query":true}`, status, status))
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"cap%d","redirect_status":%[1]d,"max_hits":1000}`, status))
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"soon%d","redirect_status":%[1]d,"expires_at":"2026-01-02T03:05:00Z"}`, status))
			st.shorten(fmt.Sprintf(`{"url":"http://a/","alias":"late%d","redirect_status":%[1]d,"expires_at":"2027-01-02T03:05:00Z"}`, status))
		}
		st.shorten(`{"url":"http://a/` + strings.Repeat("x", 8000) + `","alias":"long","forward_query":true}`)
	})
	for _, method := range []string{"GET", "HEAD"} {
		for _, lines := range [][]string{nil, {"Connection: close"}, {browser, "Referer: https://b.example/", "Accept-Encoding: gzip", "X-Forwarded-For: 192.0.2.9"}} {
			for _, kind := range []string{"s", "cap", "soon", "late"} {
				for _, status := range redirect.Statuses {
					for _, query := range []string{"", "?", "?x=%41&y", "?x&y=+%zz"} {
						answer, closes := d.ask("10.0.0.1", requestText(method, fmt.Sprintf("/%s%d%s", kind, status, query), "", lines...))
						if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", status)) || closes != (len(lines) == 1) {
							t.Errorf("/%s%d: got %s", kind, status, answer)
						}
					}
				}
			}
			d.ask("10.0.0.1", requestText(method, "/long?x", "", lines...))
		}
	}
}

// missLines are header lines that answers to misses depend on.
var missLines = [][]string{
	nil, {"Accept: application/json"}, {"Accept: text/html"}, {"Accept-Encoding: gzip"}, {"Accept-Encoding: gzip;q=0"},
	{"Accept-Encoding: br, gzip", "Accept: text/html"}, {"Accept: application/json", "Accept-Encoding: gzip"}, {"Connection: close"},
	{"Accept: text/html;q=0.5", "Accept: application/problem+json"},
}

func TestAPlainMissHasFasthttpsBytes(t *testing.T) {
	d := newTwoDoors(t, func(o *Options) {
		o.HSTSMaxAge = time.Hour
		o.Blocks = openBlockFile(t, writeTo(t, "list", []byte("evil.example\n")), o.Logger)
	})
	d.both(func(st *site) {
		st.shorten(`{"url":"http://a/","alias":"off","disabled":true}`)
		st.shorten(`{"url":"http://a/","alias":"past","expires_at":"2026-01-02T03:04:06Z"}`)
		st.shorten(`{"url":"http://a/","alias":"used","max_hits":1}`)
		st.shorten(`{"url":"http://a/","alias":"long","forward_query":true}`)
		st.now.Add(2000)
	})
	d.ask("192.0.2.1", requestText("GET", "/used", "", browser))
	for path, status := range map[string]int{
		"/unknown": 404, "/off": 410, "/past": 410, "/used": 410, "/long?" + strings.Repeat("q", 8200): 414, "/off/": 410,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			for _, lines := range missLines {
				answer, closes := d.ask("192.0.2.1", requestText(method, path, "", append(lines, browser)...))
				if path == "/used" && method == "HEAD" {
					continue // not a hit, so no cap forbids it
				}
				if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", status)) || closes != strings.Contains(strings.Join(lines, ""), "close") {
					t.Errorf("%s: got %s", path, answer)
				}
			}
		}
	}
}
