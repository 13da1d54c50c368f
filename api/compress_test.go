package api

import (
	"bytes"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

func TestEveryPublicPageIsCompressedForBrowsers(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/","alias":"abc"}`)
	for _, path := range []string{"/", "/abc+", "/nosuchcode", "/_/docs", "/_/nosuchpage", "/_/sign-in"} {
		plain := st.get(path)
		expect.Equal(t, plain.header.Get("Content-Encoding"), "", "%s: a client that does not ask gets", path)
		for accept, want := range map[string]string{"gzip, deflate, br, zstd": "br", "gzip, deflate": "gzip"} {
			packed := st.get(path, "Accept-Encoding: "+accept)
			got := packed.header.Get("Content-Encoding")
			expect.That(t, got == want && len(packed.body) < len(plain.body), "%s: got %q, %d bytes in place of %d", path, got, len(packed.body), len(plain.body))
			expect.Contains(t, strings.Join(packed.header.Values("Vary"), ", "), "Accept-Encoding", path)
			body, err := unpack([]byte(packed.body), got)
			expect.That(t, err == nil && string(body) == plain.body, "%s: the page is another one as %s (%v)", path, got, err)
		}
	}
}

// unpack returns a body without its encoding.
func unpack(body []byte, encoding string) (_ []byte, err error) {
	var b bytes.Buffer
	if encoding == "br" {
		_, err = fasthttp.WriteUnbrotli(&b, body)
	} else {
		_, err = fasthttp.WriteGunzip(&b, body)
	}
	return b.Bytes(), err
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
