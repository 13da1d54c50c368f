package urlpath

import (
	"bytes"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"shunt/api/wire/http1"
	"shunt/engine/expect"
)

// The reader of plain requests and Code must agree on what a code is: what it takes is one, and it takes all that are
// one segment without a dot or an escape.
func TestPlainPathsAreThoseOfPlainCodes(t *testing.T) {
	rd := http1.NewReader(&http1.Proxies{}, nil)
	rapid.Check(t, func(t *rapid.T) {
		uri := rapid.OneOf(
			rapid.StringMatching(`/[0-9A-Za-z_-]{0,66}/{0,2}(\?[!-~]{0,9})?`),
			rapid.StringMatching(`(/(_|api|rest|a\.b|%61|a|%5F|\.)){0,3}/?(\?[!-~]{0,9})?`),
			rapid.StringMatching(`/[ab./%26]{1,8}`),
			rapid.StringMatching(`(http://a)?/[a-c_/?.]{0,5}`),
		).Draw(t, "target")
		raw := []byte("GET " + uri + " HTTP/1.1\r\nHost: a\r\n\r\n")
		var r http1.Plain
		n, _ := rd.Read(raw, netip.MustParseAddr("127.0.0.1"), &r)
		path, query := Split([]byte(uri))
		code := Code(path)
		if bytes.ContainsAny(code, "./") || bytes.IndexByte(path, '%') >= 0 {
			code = nil // fasthttp's
		}
		if bytes.IndexByte([]byte(uri), '#') >= 0 || bytes.HasPrefix([]byte(uri), []byte("http")) {
			code = nil // the gate refuses the first; the second is valid, but not plain
		}
		expect.MustEqual(t, n == len(raw), code != nil, "%q: plain, code %q", uri, code)
		expect.MustThat(t, code == nil || bytes.Equal(r.Segment, code) && bytes.Equal(r.Query, query),
			"%q: got %q and %q, want %q and %q", uri, r.Segment, r.Query, code, query)
	})
}
