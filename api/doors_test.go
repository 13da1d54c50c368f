package api

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"shunt/api/redirect"
	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// twoDoors are two sites with the same links: one is asked through fasthttp, the other through
// answerPlain.
type twoDoors struct {
	t                   *testing.T
	byFasthttp, byPlain *site
	listeners           map[string]*fasthttputil.InmemoryListener // of byFasthttp, by the address of their clients
	dial                func(from string) (net.Conn, error)       // a connection to byFasthttp
	conn                net.Conn                                  // of plain requests; nil: TCP without TLS
}

func newTwoDoors(t *testing.T, change func(*Options)) *twoDoors {
	return newTwoDoorsTo(t, newSite(t, throughFasthttp(change)), newSite(t, change))
}

// throughFasthttp makes fasthttp answer everything, besides another change of options.
func throughFasthttp(change func(*Options)) func(*Options) {
	return func(o *Options) {
		if change != nil {
			change(o)
		}
		o.Front = FrontFasthttp
	}
}

func newTwoDoorsTo(t *testing.T, byFasthttp, byPlain *site) *twoDoors {
	d := &twoDoors{t: t, byFasthttp: byFasthttp, byPlain: byPlain, listeners: make(map[string]*fasthttputil.InmemoryListener)}
	d.dial = func(from string) (net.Conn, error) {
		if d.listeners[from] == nil {
			d.listeners[from] = byFasthttp.from(from)
		}
		return d.listeners[from].Dial()
	}
	return d
}

// both does the same to both sites.
func (d *twoDoors) both(do func(st *site)) {
	do(d.byFasthttp)
	do(d.byPlain)
}

var (
	dateField = regexp.MustCompile(`\r\nDate: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n`)
	madeID    = regexp.MustCompile(`\r\nX-Request-Id: [0-9A-Za-z]{16}\r\n`)
)

// undated returns answers with a Date that does not depend on when they were given, and with one id
// for all requests whose id was made.
func undated(answers []byte) string {
	answers = madeID.ReplaceAll(answers, []byte("\r\nX-Request-Id: made\r\n"))
	return string(dateField.ReplaceAll(answers, []byte("\r\nDate: then\r\n")))
}

// ask sends a request from an address through both doors, and returns the answer, which must be the
// same but for its date.
func (d *twoDoors) ask(from, raw string) (answer string, closes bool) {
	d.t.Helper()
	want, wantClosed := d.exchange(from, raw)
	r := plainOf(d.t, d.byPlain, from, raw)
	r.Conn = d.conn
	got := d.byPlain.front.answerPlain([]byte("before"), r)
	if answer = undated(got); answer != "before"+undated(want) || !strings.Contains(answer, "\r\nDate: then\r\n") {
		d.t.Errorf("%.60q: got\n%.3000s\nwant\n%.3000s", raw, answer, want)
	}
	expect.Equal(d.t, r.Closes, wantClosed, "%.60q: closes", raw)
	return strings.TrimPrefix(answer, "before"), wantClosed
}

// exchange sends raw to fasthttp on a new connection. It returns the bytes of the answer, and
// whether the server then closed the connection.
func (d *twoDoors) exchange(from, raw string) (answer []byte, closed bool) {
	d.t.Helper()
	c, err := d.dial(from)
	expect.OK(d.t, err)
	defer c.Close()
	go io.WriteString(c, raw)
	var read bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c, &read)), &http.Request{Method: raw[:strings.IndexByte(raw, ' ')]})
	expect.OK(d.t, err, "%.60q", raw)
	expect.OK(d.t, expect.Err(io.Copy(io.Discard, res.Body)))
	answer = bytes.Clone(read.Bytes())
	if !res.Close {
		return answer, false
	}
	n, err := c.Read(make([]byte, 1))
	return answer, n == 0 && err == io.EOF
}

// plainOf reads a plain request.
func plainOf(t testing.TB, st *site, from, raw string) *http1.Plain {
	t.Helper()
	r := new(http1.Plain)
	n, _ := http1.NewReader(&st.proxies, redirect.PurposeFields[:]).Read([]byte(raw), netip.MustParseAddr(from), r)
	expect.MustEqual(t, n, len(raw), "%.200q is not plain", raw)
	r.NowMs = time.Now().UnixMilli()
	return r
}
