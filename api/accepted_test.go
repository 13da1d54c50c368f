package api

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// acceptedRows are unusual and valid. Each is answered as want, on a connection that goes on.
func acceptedRows() []row {
	const head = " HTTP/1.1\r\nHost: a\r\n"
	chunked := "POST /keep" + head + "Transfer-Encoding: chunked\r\n"
	hit, missing, method := []int{307}, []int{404}, []int{405}
	return []row{
		{"plain", "M:3", "GET /keep" + head + "\r\n", hit},
		{"an empty line before the request", "M:2.2", "\r\nGET /keep" + head + "\r\n", hit},
		{"absolute-form", "M:3.2.2", "GET http://b/keep" + head + "\r\n", hit},
		{"absolute-form, https", "M:3.2.2", "GET HTTPS://b:443/keep?x" + head + "\r\n", hit},
		{"absolute-form, IPv6", "M:3.2.2", "GET http://[2001:db8::1]:80/keep" + head + "\r\n", hit},
		{"absolute-form without a path", "M:3.2.2", "GET http://b" + head + "\r\n", missing},
		{"absolute-form with a query only", "M:3.2.2", "GET http://b?x" + head + "\r\n", missing},
		{"asterisk-form", "M:3.2.4", "OPTIONS *" + head + "\r\n", missing},
		{"a trailing slash", "M:3.2.1", "GET /keep/" + head + "\r\n", hit},
		{"an empty query", "M:3.2.1", "GET /keep?" + head + "\r\n", hit},
		{"an address in the query", "M:3.2.1", "GET /keep?u=https://b/c?d" + head + "\r\n", hit},
		{"two addresses in the query", "M:3.2.1", "GET /keep?u=https://b@c://d" + head + "\r\n", hit},
		{"an address in the path", "M:3.2.1", "GET /keep/http://b/" + head + "\r\n", missing},
		{"two slashes", "M:3.2.1", "GET //" + head + "\r\n", missing},
		{"two slashes and a host", "M:3.2.1", "GET //b/keep" + head + "\r\n", missing},
		{"unclean bytes in the query", "M:3.2.1", "GET /keep?a=\"<>\\^`{|}[]'" + head + "\r\n", hit},
		{"bad escapes in the query", "M:3.2.1", "GET /keep?%&%zz&%0" + head + "\r\n", hit},
		{"a long query", "M:3", "GET /keep?" + strings.Repeat("x", 8000) + head + "\r\n", hit},
		{"length 0 on GET", "H:8.6", "GET /keep" + head + "Content-Length: 0\r\n\r\n", hit},
		{"length 000 on HEAD", "H:8.6", "HEAD /keep" + head + "Content-Length: 000\r\n\r\n", hit},
		{"length with zeros before", "H:8.6", "POST /keep" + head + "Content-Length: 0005\r\n\r\nabcde", hit},
		{"length between white space", "M:5.1", "POST /keep" + head + "Content-Length:\t 5 \t\r\n\r\nabcde", hit},
		{"length without space", "M:5.1", "POST /keep" + head + "Content-Length:5\r\n\r\nabcde", hit},
		{"POST without a body", "M:6.3", "POST /keep" + head + "\r\n", hit},
		{"chunks", "M:7.1", chunked + "\r\n5\r\nabcde\r\n0\r\n\r\n", hit},
		{"no chunks", "M:7.1", chunked + "\r\n0\r\n\r\n", hit},
		{"chunk sizes with zeros before", "M:7.1", chunked + "\r\n005\r\nabcde\r\n000\r\n\r\n", hit},
		{"chunk sizes in both cases", "M:7.1", chunked + "\r\na\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", hit},
		{"chunk extensions", "M:7.1.1", chunked + "\r\n5;a;b=c;d=\"e;f\"\r\nabcde\r\n0;z\r\n\r\n", hit},
		{"chunk extensions between white space", "M:7.1.1", chunked + "\r\n5 ; a = b\r\nabcde\r\n0\t;\tz\r\n\r\n", hit},
		{"chunks that look like requests", "M:7.1", chunked + "\r\n23\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n", hit},
		{"trailers", "M:7.1.2", chunked + "Trailer: X\r\n\r\n5\r\nabcde\r\n0\r\nX: y\r\nZ:\r\n\r\n", hit},
		{"trailers that say a length", "H:6.5.1", chunked + "\r\n0\r\nContent-Length: 5\r\nHost: b\r\n\r\n", hit},
		{"a coding in capitals", "M:7", "POST /keep" + head + "transfer-encoding:  CHUNKED \r\n\r\n0\r\n\r\n", hit},
		{"a body that looks like a request", "M:6", "POST /keep" + head + "Content-Length: 35\r\n\r\n" + smuggled[:35], hit},
		{"names in lower case", "H:5.1", "GET /keep HTTP/1.1\r\nhost: a\r\nuser-agent: b\r\n\r\n", hit},
		{"names in capitals", "H:5.1", "GET /keep HTTP/1.1\r\nHOST: a\r\nUSER-AGENT: b\r\n\r\n", hit},
		{"names of odd bytes", "H:5.1", "GET /keep" + head + "!#$%&'*+-.^_`|~0: y\r\n\r\n", hit},
		{"empty values", "H:5.5", "GET /keep" + head + "User-Agent:\r\nReferer: \r\nX:\t\r\n\r\n", hit},
		{"values beyond ASCII", "H:5.5", "GET /keep" + head + "X: \xe9\xff\x80\tz\r\n\r\n", hit},
		{"the same field often", "H:5.3", "GET /keep" + head + strings.Repeat("X: y\r\n", 100) + "\r\n", hit},
		{"many bytes of fields", "M:5.4", "GET /keep" + head + "Cookie: " + strings.Repeat("x", 15<<10) + "\r\n\r\n", hit},
		{"host with a port", "H:7.2", "GET /keep HTTP/1.1\r\nHost: a.example:65535\r\n\r\n", hit},
		{"host with an empty port", "H:7.2", "GET /keep HTTP/1.1\r\nHost: a:\r\n\r\n", hit},
		{"host of IPv6", "H:7.2", "GET /keep HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", hit},
		{"host with an underscore", "H:7.2", "GET /keep HTTP/1.1\r\nHost: a_b\r\n\r\n", hit},
		{"host with sub-delims", "H:7.2", "GET /keep HTTP/1.1\r\nHost: a,b;c=d\r\n\r\n", hit},
		{"an unknown method", "H:9.1", "BREW /once" + head + "\r\n", method},
		{"a method in lower case", "H:9.1", "get /once" + head + "\r\n", method},
		{"a method of odd bytes", "H:9.1", "!#$%&'*+-.^_`|~ /once" + head + "\r\n", method},
		{"TRACE", "H:9.3.8", "TRACE /once" + head + "\r\n", method},
		{"an upgrade that is not made", "H:7.8", "GET /keep" + head + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n", hit},
		{"TE", "H:10.1.4", "GET /keep" + head + "TE: trailers, deflate;q=0.5\r\nConnection: TE\r\n\r\n", hit},
		{"an expectation", "H:10.1.1", "POST /keep" + head + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde", hit},
		{"an expectation that is not known", "H:10.1.1", "GET /keep" + head + "Expect: the-unexpected\r\n\r\n", hit},
		{"HTTP/1.0 that goes on", "M:9.3", "GET /keep HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", hit},
		{"HTTP/1.0 that goes on, with a body", "M:9.3", "POST /keep HTTP/1.0\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nabcde", hit},
		{"HTTP/1.0 that expects", "H:10.1.1", "POST /keep HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nabcde", hit},
	}
}

const sentinel = "GET /sentinel HTTP/1.1\r\nHost: a\r\n\r\n"

// Each row goes out with a request behind it, once in one piece, once byte by byte, all on one connection.
func TestUnusualRequestsAreAnsweredAndTheConnectionGoesOn(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
	st.shorten(`{"url":"http://a/","alias":"once"}`)
	st.shorten(`{"url":"http://sentinel/","alias":"sentinel"}`)
	rows := acceptedRows()
	if len(rows) < 40 {
		t.Errorf("there are only %d rows", len(rows))
	}
	for _, piece := range []int{1 << 20, 1} {
		c, err := net.Dial("tcp", st.realAddress())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(patienceOfTests)); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		for _, row := range rows {
			writePieces(t, c, row.raw+sentinel, piece)
			answer := readReply(t, r, strings.Fields(row.raw)[0])
			if want := row.name == "an expectation"; (answer.status == 100) != want {
				t.Errorf("%s: got %d, want 100: %v", row.name, answer.status, want)
			} else if want {
				answer = readReply(t, r, "POST")
			}
			if answer.status != row.want[0] || answer.close {
				t.Fatalf("%s, %s: got %+v, want %d", row.name, row.section, answer, row.want[0])
			}
			if next := readReply(t, r, "GET"); next.header.Get("Location") != "http://sentinel/" {
				t.Fatalf("behind %s: got %+v, want the answer to the next request", row.name, next)
			}
		}
	}
}

func writePieces(t *testing.T, w io.Writer, raw string, piece int) {
	t.Helper()
	for len(raw) > 0 {
		n := min(piece, len(raw))
		if _, err := io.WriteString(w, raw[:n]); err != nil {
			t.Fatal(err)
		}
		raw = raw[n:]
	}
}

// Of these, too, each is answered, and nothing behind it.
func TestWhoAsksToCloseIsClosed(t *testing.T) {
	st := newSite(t, nil)
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
		r := onlyAnswer(t, exchange(t, st.realAddress(), raw+smuggled), "GET")
		if r.status != 307 {
			t.Errorf("%s: got %+v, want a redirect", name, r)
		}
	}
	st.wantStats("smuggled", 0, 0)
}

// fasthttp puts trailer fields among the header fields, and somebody might believe them.
func TestATrailerIsNoHeader(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.TrustedProxies, o.ClientIPHeader = someProxies.trusted, "CF-Connecting-IP"
	})
	st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
	ln := st.from("10.0.0.1")
	for _, client := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		r := send(t, ln, "POST", "POST /keep HTTP/1.1\r\nHost: a\r\n"+browser+"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nCF-Connecting-IP: "+client+"\r\n\r\n")
		if r.status != 307 {
			t.Errorf("got %+v", r)
		}
	}
	st.wantStats("keep", 3, 1)
}
