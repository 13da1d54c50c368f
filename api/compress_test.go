package api

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

func TestEveryPublicPageIsCompressedForBrowsers(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/","alias":"abc"}`)
	const accept = "Accept-Encoding: gzip, deflate, br, zstd"
	for _, path := range []string{"/", "/abc+", "/nosuchcode", "/_/docs", "/_/nosuchpage", "/_/sign-in"} {
		plain, zipped := st.get(path), st.get(path, accept)
		if got := plain.header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s: a client that does not ask gets %q", path, got)
		}
		if got := zipped.header.Get("Content-Encoding"); got != "gzip" || len(zipped.body) >= len(plain.body) {
			t.Errorf("%s: got %q, %d bytes in place of %d", path, got, len(zipped.body), len(plain.body))
			continue
		}
		if got := strings.Join(zipped.header.Values("Vary"), ", "); !strings.Contains(got, "Accept-Encoding") {
			t.Errorf("%s: got Vary: %q, want Accept-Encoding in it", path, got)
		}
		r, err := gzip.NewReader(strings.NewReader(zipped.body))
		must(t, err)
		if body, err := io.ReadAll(r); err != nil || string(body) != plain.body {
			t.Errorf("%s: the page is another one when it is compressed (%v)", path, err)
		}
	}
}

// A strong tag would say that both are the same bytes (RFC 9110, 8.8.3).
func TestTheCompressedDocumentHasAWeakTag(t *testing.T) {
	st := newSite(t, nil)
	tag := st.get("/_/docs").header.Get("ETag")
	if got := st.get("/_/docs", "Accept-Encoding: gzip").header.Get("ETag"); got != "W/"+tag {
		t.Errorf("got %s, want W/%s", got, tag)
	}
	st.get("/_/docs", "Accept-Encoding: gzip", "If-None-Match: W/"+tag).expect(t, "", 304)
}

func TestARedirectSaysNothingOfEncodings(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org/","alias":"abc"}`)
	r := st.get("/abc", "Accept-Encoding: gzip")
	r.expect(t, "", 302, bodyOf(""), header("Vary", ""), header("Content-Encoding", ""))
}
