package wire

import (
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// wantToldHTTPS fails unless the only answer is the 400 in the clear that names HTTPS.
func wantToldHTTPS(t *testing.T, answers []byte, method string) {
	t.Helper()
	r := onlyAnswer(t, answers, method)
	want := plainText
	if method == "HEAD" {
		want = ""
	}
	expect.That(t, r.status == 400 && r.close && r.body == want && r.header.Get("Content-Type") == "text/plain; charset=utf-8" &&
		r.header.Get("Date") != "", "%s: got %+v, want 400 and %q", method, r, want)
}

func TestAClientThatSpeaksHTTPIsToldToUseHTTPS(t *testing.T) {
	var handled atomic.Int64
	g := newGroup(conns.Limits{Connections: conns.MaxConnections})
	handle := g.Handle
	g.Handle = func(ctx *fasthttp.RequestCtx) {
		handled.Add(1)
		handle(ctx)
	}
	st, n := newSiteOn(t, g, tlsConfig()), 0
	for _, request := range []string{
		"GET /promo HTTP/1.1\r\nHost: a\r\n\r\n", "GET /promo HTTP/1.0\r\n\r\n", "HEAD /promo HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /api/v1/shorten HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + strings.Repeat("x", 300_000),
		"PUT / HTTP/1.1\r\n\r\n", "PATCH / HTTP/1.1\r\n\r\n", "DELETE / HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n", "CONNECT a:443 HTTP/1.1\r\n\r\n",
		"GET http://a/promo HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /",
		"GET /promo HTTP/1.1\r\nHost: a\r\n\r\nGET /promo HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		method, _, _ := strings.Cut(request, " ")
		wantToldHTTPS(t, st.exchange(request), method)
		n++
		r := st.askTLS("GET", requestText("GET", "/me"))
		expect.MustEqual(t, r.status, 404, "a client of TLS after that: got %+v", r)
	}
	st.l.awaitNone()
	expect.Equal(t, st.l.Limits.Counts.PlainHTTP.Load(), uint64(n), "counted, want %d", n)
	expect.Equal(t, handled.Load(), int64(n), "requests were handled, want only those over TLS: %d", n)
}

// The first five bytes decide, in whatever pieces they come.
func TestAClientThatSpeaksHTTPInPiecesIsToldToo(t *testing.T) {
	st := newSecureSite(t)
	c, r := st.dial("")
	expect.NoError(t, c.(*net.TCPConn).SetNoDelay(true))
	for _, piece := range []string{"G", "E", "T", " /promo HT", "TP/1.1\r\n"} {
		expect.OK(t, expect.Err(io.WriteString(c, piece)))
		runtime.Gosched()
	}
	answers, err := io.ReadAll(r)
	expect.OK(t, err)
	wantToldHTTPS(t, answers, "GET")
}

// A head that stops is swept like a handshake, and others are served meanwhile.
func TestAnUnfinishedHTTPHeadOnTheTLSPortIsReaped(t *testing.T) {
	st := newSecureSite(t)
	c, _ := st.dial("GET ")
	st.l.await(func(c *conns.Served) bool { return true })
	r := st.askTLS("GET", requestText("GET", "/me"))
	expect.Equal(t, r.status, 404, "another client: got %+v", r)
	for range conns.DefaultPatience.Head/conns.SweepInterval + 1 {
		st.Sweep()
	}
	rest, _ := io.ReadAll(c)
	expect.That(t, len(rest) == 0, "got %q, want nothing", rest)
	st.l.awaitNone()
}

func TestOnlyHTTPIsAnsweredInTheClear(t *testing.T) {
	st := newSecureSite(t)
	for _, raw := range []string{"SSH-2.0-x\r\n", "\r\n\r\n\r\n", "get / HTTP/1.1\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "\x80\x2e\x01\x03\x01", "     ", "\x16\x02\x00\x00\x05GET /"} {
		answers := string(st.talk(raw))
		expect.That(t, !strings.Contains(answers, "HTTP/"), "%q: got %q", raw, answers)
	}
	st.l.awaitNone()
	expect.Equal(t, st.l.Limits.Counts.PlainHTTP.Load(), 0, "counted as HTTP")
}
