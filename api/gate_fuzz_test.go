package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/wiretest"
)

// A reading is what one reader makes of a request.
type reading struct {
	method, target string
	body           int
}

// fasthttpSees lets raw through a gate, in two pieces, into fasthttp, and returns what its handler would be given.
func fasthttpSees(raw []byte, cut int) (seen []reading) {
	client, c := gated(raw, cut)
	defer client.Close()
	r := bufio.NewReaderSize(c, maxHeaderBytes)
	for {
		var q fasthttp.Request
		if err := q.ReadLimitBody(r, maxBodyBytes); err != nil {
			return seen
		}
		if q.MayContinue() {
			if err := q.ContinueReadBody(r, maxBodyBytes, false); err != nil {
				return seen
			}
		}
		seen = append(seen, reading{string(q.Header.Method()), string(q.Header.RequestURI()), len(q.Body())})
	}
}

// pieces is a connection from which what there is comes in pieces.
type pieces struct {
	net.Conn
	left [][]byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

func (p *pieces) Close() error { return nil }

func gated(raw []byte, cut int) (client io.Closer, c *conn) {
	cut = min(max(cut, 0), len(raw))
	p := &pieces{}
	for _, part := range [][]byte{raw[:cut], raw[cut:]} {
		if len(part) > 0 {
			p.left = append(p.left, part)
		}
	}
	return p, &conn{Conn: p}
}

// netHTTPSees returns what net/http makes of raw. It does not know the empty line before a request.
func netHTTPSees(raw []byte) (seen []reading) {
	r := bufio.NewReaderSize(bytes.NewReader(raw), 64<<10)
	for {
		if line, _ := r.Peek(2); string(line) == "\r\n" {
			_, _ = r.Discard(2)
		}
		q, err := http.ReadRequest(r)
		if err != nil {
			return seen
		}
		n, err := io.Copy(io.Discard, q.Body)
		if err != nil {
			return seen
		}
		seen = append(seen, reading{q.Method, q.RequestURI, int(n)})
	}
}

// seeds are some of the rows, each with a request behind it: of all of them, gathering coverage would take as long as fuzzing.
func seeds() (raws [][]byte) {
	for i, row := range append(wiretest.Accepted(), wiretest.Refused()...) {
		if len(row.Raw) < 2000 && i%7 == 0 {
			raws = append(raws, []byte(row.Raw+wiretest.Smuggled))
		}
	}
	return raws
}

// FuzzRequestHead sends whatever bytes through the gate. What comes out behind it as requests, net/http must have seen as the
// same requests, with bodies as long; and where the bytes are cut makes no difference.
func FuzzRequestHead(f *testing.F) {
	for i, raw := range seeds() {
		f.Add(raw, i)
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		if bytes.Contains(raw, []byte(" ;")) || bytes.Contains(raw, []byte("\t;")) {
			t.Skip("net/http refuses white space before a chunk extension, which RFC 9112, 7.1.1, has readers drop")
		}
		ours := fasthttpSees(raw, cut)
		theirs := netHTTPSees(raw)
		if n := len(theirs); len(ours) > n && notClean(ours[n].target) {
			t.Skip("net/http decodes targets, and refuses escapes that are none")
		}
		if len(ours) > len(theirs) {
			t.Fatalf("%q: got %+v, net/http sees only %+v", raw, ours, theirs)
		}
		for i := range ours {
			if ours[i] != theirs[i] {
				t.Fatalf("%q: request %d is %+v, for net/http %+v", raw, i, ours[i], theirs[i])
			}
		}
		again := fasthttpSees(raw, len(raw)/2)
		if len(again) != len(ours) {
			t.Fatalf("%q: cut at %d %+v, cut in the middle %+v", raw, cut, ours, again)
		}
	})
}

func notClean(target string) bool {
	_, err := url.ParseRequestURI(target)
	return err != nil
}

// FuzzServe sends whatever bytes to a whole server. There are as many answers as requests that fasthttp was given, and maybe one
// refusal, which is the last.
func FuzzServe(f *testing.F) {
	st := newSite(f, nil)
	st.shorten(`{"url":"http://a/","alias":"keep","redirect_status":307}`)
	for _, raw := range seeds() {
		f.Add(raw)
	}
	addr := st.realAddress()
	f.Fuzz(func(t *testing.T, raw []byte) {
		seen := fasthttpSees(raw, len(raw))
		for _, p := range seen {
			if strings.HasSuffix(p.target, "/live") {
				t.Skip("an answer without end")
			}
		}
		answers := talk(t, addr, raw)
		if n := countAnswers(t, answers, seen); n > len(seen)+1 {
			t.Fatalf("%q: %d answers to %d requests: %q", raw, n, len(seen), answers)
		}
	})
}

// countAnswers returns how many final answers there are.
func countAnswers(t *testing.T, answers []byte, to []reading) (n int) {
	for r := bufio.NewReader(bytes.NewReader(answers)); ; {
		q := &http.Request{Method: "GET"}
		if n < len(to) {
			q.Method = to[n].method
		} else if bytes.HasSuffix(answers, []byte("\r\n\r\n")) {
			q.Method = "HEAD" // a refusal without a body
		}
		res, err := http.ReadResponse(r, q)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return n
		}
		if err != nil {
			t.Fatalf("answer %d cannot be read: %v in %q", n, err, answers)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatalf("answer %d is cut off in %q", n, answers)
		}
		if res.StatusCode != 100 {
			n++
		}
	}
}

// talk sends raw to addr, ends, and returns what is answered.
func talk(t *testing.T, addr string, raw []byte) []byte {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patienceOfTests)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = c.Write(raw)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	answers, err := io.ReadAll(c)
	if isTimeout(err) {
		t.Fatalf("%q: neither answered nor closed: %q", raw, answers)
	}
	_ = c.(*net.TCPConn).SetLinger(0) // so many ports would have to wait
	<-sent
	return answers
}
