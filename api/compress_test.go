package api

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestEveryPublicPageIsCompressedForBrowsers(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/","alias":"abc"}`)
	const accept = "Accept-Encoding: gzip, deflate, br, zstd"
	for _, path := range []string{"/", "/abc+", "/nosuchcode", "/_/docs", "/_/nosuchpage", "/_/sign-in"} {
		plain, zipped := st.get(path), st.get(path, accept)
		expect.Equal(t, plain.header.Get("Content-Encoding"), "", "%s: a client that does not ask gets", path)
		if got := zipped.header.Get("Content-Encoding"); got != "gzip" || len(zipped.body) >= len(plain.body) {
			t.Errorf("%s: got %q, %d bytes in place of %d", path, got, len(zipped.body), len(plain.body))
			continue
		}
		expect.Contains(t, strings.Join(zipped.header.Values("Vary"), ", "), "Accept-Encoding", path)
		r, err := gzip.NewReader(strings.NewReader(zipped.body))
		expect.OK(t, err)
		body, err := io.ReadAll(r)
		expect.That(t, err == nil && string(body) == plain.body, "%s: the page is another one when it is compressed (%v)", path, err)
	}
}

// A strong tag would say that both are the same bytes (RFC 9110, 8.8.3).
func TestTheCompressedDocumentHasAWeakTag(t *testing.T) {
	st := newSite(t, nil)
	tag := st.get("/_/docs").header.Get("ETag")
	expect.Equal(t, st.get("/_/docs", "Accept-Encoding: gzip").header.Get("ETag"), "W/"+tag, "want W/%s", tag)
	st.get("/_/docs", "Accept-Encoding: gzip", "If-None-Match: W/"+tag).expect(t, "", 304)
}

func TestARedirectSaysNothingOfEncodings(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/","alias":"abc"}`)
	st.get("/abc", "Accept-Encoding: gzip").expect(t, "", 302, bodyOf(""), header("Vary", ""), header("Content-Encoding", ""))
}
