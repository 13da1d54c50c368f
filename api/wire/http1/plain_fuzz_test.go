package http1

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/wiretest"
)

// manyProxies has all headers, so that all are compared.
var manyProxies = Proxies{
	Trusted: someProxies.Trusted, Header: "X-Forwarded-For", CountryHeader: "CF-IPCountry", HostHeader: "X-Forwarded-Host",
}

var (
	trustedPeer = netip.MustParseAddr("10.0.0.1")
	strangePeer = netip.MustParseAddr("198.51.100.1")
)

// FuzzPlainIsWhatGateAndFasthttpRead holds what a plain request is: whatever the reader calls plain
// passes the gate unchanged, as one message, and fasthttp reads the same from it.
func FuzzPlainIsWhatGateAndFasthttpRead(f *testing.F) {
	for _, raw := range ordinary {
		f.Add([]byte(raw), true)
		f.Add([]byte(raw+wiretest.Smuggled), false)
	}
	for _, row := range append(wiretest.Accepted(), wiretest.Refused()...) {
		if len(row.Raw) < 2000 {
			f.Add([]byte(row.Raw+wiretest.Smuggled), true)
		}
	}
	rd := NewReader(&manyProxies, somePurposes)
	f.Fuzz(func(t *testing.T, raw []byte, trusted bool) {
		peer := strangePeer
		if trusted {
			peer = trustedPeer
		}
		checkPlain(t, rd, raw, peer)
	})
}

// A failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkPlain reads raw and, if it is plain, compares it with what the gate and fasthttp read. It
// returns the number of bytes of the request.
func checkPlain(t failer, rd *Reader, raw []byte, peer netip.Addr) int {
	t.Helper()
	var r Plain
	sent := slices.Clone(raw)
	n, more := rd.Read(sent, peer, &r)
	if !bytes.Equal(sent, raw) {
		t.Fatalf("%q: the reader changed it to %q", raw, sent)
	}
	if n == 0 {
		return 0
	}
	if more {
		t.Fatalf("%q: plain, and more is needed", raw)
	}
	checkGate(t, raw[:n], &r)
	checkFasthttp(t, rd.proxies, raw[:n], &r, peer)
	checkPrefixes(t, rd, raw[:n], peer)
	return n
}

// checkGate fails unless raw passes the gate unchanged and whole, as one message, which is the last
// one exactly if it says so.
func checkGate(t failer, raw []byte, r *Plain) {
	t.Helper()
	var g Gate
	last, let := raw[len(raw)-1:], slices.Clone(raw[:len(raw)-1])
	if n := g.Pass(let); n != len(let) || !bytes.Equal(let, raw[:n]) || !g.InHead() {
		t.Fatalf("%q: before its last byte, the gate let %d bytes of %d through: %v", raw, n, len(let), g.Refused)
	}
	if n := g.Pass(slices.Clone(last)); n != 1 || g.Refused != nil || g.started {
		t.Fatalf("%q: the last byte does not end the gate's message: %v", raw, g.Refused)
	}
	says := bytes.Contains(bytes.ToLower(raw), []byte("\r\nconnection:"))
	if over := g.part == partOver; over != (r.Closes && says) {
		t.Fatalf("%q: the gate's last message: %v, but closes is %v", raw, over, r.Closes)
	}
}

// checkFasthttp fails unless fasthttp reads raw as r says.
func checkFasthttp(t failer, p *Proxies, raw []byte, r *Plain, peer netip.Addr) {
	t.Helper()
	var req fasthttp.Request
	br := bufio.NewReaderSize(bytes.NewReader(raw), MaxHeaderBytes)
	if err := req.ReadLimitBody(br, MaxBodyBytes); err != nil || br.Buffered() > 0 || req.MayContinue() || len(req.Body()) > 0 {
		t.Fatalf("%q: fasthttp: %v, %d bytes left", raw, err, br.Buffered())
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&req, net.TCPAddrFromAddrPort(netip.AddrPortFrom(peer, 4711)), nil)
	h := &ctx.Request.Header
	var want Plain
	want.Head = h.IsHead()
	if !want.Head && !h.IsGet() {
		t.Fatalf("%q: fasthttp's method is %q", raw, h.Method())
	}
	want.Raw, want.Closes = raw, h.ConnectionClose()
	want.Segment, want.Query = pathAndQuery(t, h.RequestURI())
	want.UserAgent, want.Referrer = h.UserAgent(), h.Referer()
	want.Peer, want.Client, want.Country = peer, p.ClientAddr(ctx, peer), p.CountryCode(ctx, peer)
	if want.Host = p.NamedHost(ctx, peer); want.Host == nil {
		want.Host = h.Host()
	}
	want.Purposes = purposeLines(h.RawHeaders())
	comparePlain(t, r, &want)
}

// comparePlain fails unless r and want are the same.
func comparePlain(t failer, r, want *Plain) {
	t.Helper()
	for name, part := range map[string][2][]byte{
		"Raw": {r.Raw, want.Raw}, "Segment": {r.Segment, want.Segment}, "Query": {r.Query, want.Query},
		"UserAgent": {r.UserAgent, want.UserAgent}, "Referrer": {r.Referrer, want.Referrer},
		"Purposes": {r.Purposes, want.Purposes}, "Country": {r.Country, want.Country}, "Host": {r.Host, want.Host},
	} {
		if !bytes.Equal(part[0], part[1]) {
			t.Fatalf("%q: %s is %q, for fasthttp %q", want.Raw, name, part[0], part[1])
		}
	}
	if r.Peer != want.Peer || r.Client != want.Client || r.Head != want.Head || r.Closes != want.Closes {
		t.Fatalf("%q: peer %v, client %v, HEAD %v, closes %v; for fasthttp %v, %v, %v, %v",
			want.Raw, r.Peer, r.Client, r.Head, r.Closes, want.Peer, want.Client, want.Head, want.Closes)
	}
}

// pathAndQuery cuts a target, which must be /segment or /segment/, with a query or without one.
func pathAndQuery(t failer, uri []byte) (segment, query []byte) {
	t.Helper()
	path, query, _ := bytes.Cut(uri, []byte("?"))
	segment, slash := bytes.CutSuffix(path[1:], []byte("/"))
	if len(segment) < 1 || len(segment) > 64 || slash && string(segment) == "_" || path[0] != '/' || bytes.IndexByte(query, '#') >= 0 {
		t.Fatalf("the target %q is not a code's", uri)
	}
	for _, c := range segment {
		if bytes.IndexByte([]byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"), c) < 0 {
			t.Fatalf("the target %q is not a code's", uri)
		}
	}
	return segment, query
}

// purposeLines returns the lines from the first of somePurposes on.
func purposeLines(headers []byte) []byte {
	for rest := headers; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		name, _, _ := bytes.Cut(line, []byte(":"))
		for _, purpose := range somePurposes {
			if bytes.EqualFold(name, []byte(purpose)) {
				return rest
			}
		}
		rest = after
	}
	return nil
}

// checkPrefixes fails unless every proper beginning of raw needs more bytes. Of a long one it tries
// a part.
func checkPrefixes(t failer, rd *Reader, raw []byte, peer netip.Addr) {
	t.Helper()
	step := 1 + len(raw)/2000
	var r Plain
	for n := 0; n < len(raw); n += step {
		// What follows the beginning in memory must make no difference.
		if m, more := rd.Read(raw[:n], peer, &r); m != 0 || !more {
			t.Fatalf("%q: of its first %d bytes: %d, %v, want 0, true", raw, n, m, more)
		}
	}
}
