package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

// A reading is a request as one reader understands it.
type reading struct {
	method, target string
	body           int
}

// fasthttpSees passes raw in two pieces through a gate to fasthttp and returns the requests that
// a handler would get.
func fasthttpSees(raw []byte, cut int) (seen []reading) {
	client, c := gated(raw, cut)
	defer client.Close()
	r := bufio.NewReaderSize(c, MaxHeaderBytes)
	for {
		var q fasthttp.Request
		if err := q.ReadLimitBody(r, MaxBodyBytes); err != nil {
			return seen
		}
		if q.MayContinue() {
			if err := q.ContinueReadBody(r, MaxBodyBytes, false); err != nil {
				return seen
			}
		}
		seen = append(seen, reading{string(q.Header.Method()), string(q.Header.RequestURI()), len(q.Body())})
	}
}

// pieces is a connection that is read in given pieces.
type pieces struct{ left [][]byte }

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

func gated(raw []byte, cut int) (client io.Closer, r io.Reader) {
	cut = min(max(cut, 0), len(raw))
	p := &pieces{}
	for _, part := range [][]byte{raw[:cut], raw[cut:]} {
		if len(part) > 0 {
			p.left = append(p.left, part)
		}
	}
	return p, &gatedReader{Reader: p}
}

// A gatedReader passes what is read through a gate, as a connection does.
type gatedReader struct {
	io.Reader
	gate Gate
}

func (r *gatedReader) Read(b []byte) (n int, err error) {
	for n == 0 && err == nil && len(b) > 0 {
		if r.gate.Closed() {
			return 0, r.gate.End()
		}
		n, err = r.Reader.Read(b)
		if err == io.EOF && r.gate.InBody() {
			err = io.ErrUnexpectedEOF
		}
		n = r.gate.Pass(b[:n])
	}
	return n, err
}

// netHTTPSees returns the requests that net/http reads from raw. net/http does not know the empty
// line before a request, so it is skipped.
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

// seeds returns some rows of wiretest, each with a request after it. With all rows, measuring their
// coverage would take as long as fuzzing.
func seeds() (raws [][]byte) {
	for i, row := range append(wiretest.Accepted(), wiretest.Refused()...) {
		if len(row.Raw) < 2000 && i%7 == 0 {
			raws = append(raws, []byte(row.Raw+wiretest.Smuggled))
		}
	}
	return raws
}

// FuzzRequestHead sends any bytes through the gate. net/http must read the same requests, with
// bodies of the same length, as the handler gets. It must make no difference where the bytes are
// cut.
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
			t.Skip("net/http decodes targets, and refuses invalid escapes")
		}
		expect.MustThat(t, len(ours) <= len(theirs), "%q: got %+v, net/http sees only %+v", raw, ours, theirs)
		for i := range ours {
			expect.MustThat(t, ours[i] == theirs[i], "%q: request %d is %+v, for net/http %+v", raw, i, ours[i], theirs[i])
		}
		again := fasthttpSees(raw, len(raw)/2)
		expect.MustEqual(t, len(again), len(ours), "%q: cut at %d %+v, cut in the middle %+v", raw, cut, ours, again)
	})
}

func notClean(target string) bool {
	_, err := url.ParseRequestURI(target)
	return err != nil
}
