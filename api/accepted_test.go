package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

const sentinel = "GET /sentinel HTTP/1.1\r\nHost: a\r\n\r\n"

// Each row is sent with a request after it, once in one piece, once byte by byte, all on one
// connection.
func TestUnusualRequestsAreAnsweredAndKeepTheConnection(t *testing.T) {
	t.Parallel()
	rows := wiretest.Accepted()
	expect.That(t, len(rows) >= 40, "there are only %d rows", len(rows))
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
		st.shorten(`{"url":"http://a/","alias":"once"}`)
		st.shorten(`{"url":"http://sentinel/","alias":"sentinel"}`)
		for _, piece := range []int{1 << 20, 1} {
			c := dial()
			r := bufio.NewReader(c)
			for _, row := range rows {
				writePieces(t, c, row.Raw+sentinel, piece)
				wantUnusual(t, r, row)
			}
		}
	})
}

// expectations are the rows whose request is told to continue, because it has a body.
var expectations = []string{"an expectation", "an expectation of GET with a body", "an expectation of HEAD with chunks"}

// wantUnusual reads the answers to a row and to the sentinel behind it.
func wantUnusual(t *testing.T, r *bufio.Reader, row wiretest.Row) {
	t.Helper()
	method := strings.Fields(row.Raw)[0]
	answer := readReply(t, r, method)
	if want := slices.Contains(expectations, row.Name); (answer.status == 100) != want {
		t.Errorf("%s: got %d, want 100: %v", row.Name, answer.status, want)
	} else if want {
		answer = readReply(t, r, method)
	}
	answer.need(t, fmt.Sprintf("%s, %s", row.Name, row.Section), row.Want[0], kept)
	readReply(t, r, "GET").need(t, fmt.Sprintf("behind %s", row.Name), header("Location", "http://sentinel/"))
}

func writePieces(t *testing.T, w io.Writer, raw string, piece int) {
	t.Helper()
	for len(raw) > 0 {
		n := min(piece, len(raw))
		expect.OK(t, expect.Err(io.WriteString(w, raw[:n])))
		raw = raw[n:]
	}
}

// Each of these is answered, too, but nothing after it.
func TestARequestedCloseClosesTheConnection(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
		st.shorten(`{"url":"http://a/","alias":"smuggled"}`)
		for name, raw := range map[string]string{
			"close":               "GET /keep HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
			"in capitals":         "GET /keep HTTP/1.1\r\nHost: a\r\nConnection: CLOSE\r\n\r\n",
			"among others":        "GET /keep HTTP/1.1\r\nHost: a\r\nConnection: TE , close,\r\n\r\n",
			"in two lines":        "GET /keep HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
			"with a body":         "POST /keep HTTP/1.1\r\nHost: a\r\nconnection: Close\r\nContent-Length: 5\r\n\r\nabcde",
			"with chunks":         "POST /keep HTTP/1.1\r\nHost: a\r\nConnection: Close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"HTTP/1.0":            "GET /keep HTTP/1.0\r\n\r\n",
			"HTTP/1.0, all of it": "GET /keep HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
		} {
			onlyAnswer(t, exchangeOn(t, dial(), raw+wiretest.Smuggled), "GET").expect(t, name, 307)
		}
		st.wantStats("smuggled", 0, 0)
	})
}

// fasthttp adds trailer fields to the header fields, where a handler might trust them.
func TestATrailerIsNotTreatedAsHeader(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.TrustedProxies, o.ClientIPHeader = someProxies.Trusted, "CF-Connecting-IP"
	})
	st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
	ln := st.from("10.0.0.1")
	for _, client := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		r := send(t, ln, "POST", "POST /keep HTTP/1.1\r\nHost: a\r\n"+browser+"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nCF-Connecting-IP: "+client+"\r\n\r\n")
		r.expect(t, "", 307)
	}
	st.wantStats("keep", 3, 1)
}
