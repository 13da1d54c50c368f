package e2e

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// This test runs the whole program, and replaces its certificate files meanwhile.
func TestServeSpeaksHTTPSAndRedirectsPlainHTTP(t *testing.T) {
	t.Parallel()
	a := certtest.NewAuthority(t)
	certPEM, keyPEM := a.Issue()
	files := certtest.NewFolder(t, certPEM, keyPEM)
	plain := freeAddress(t)
	dir := t.TempDir()
	p := startServer(t, dir, "--tls-cert", files.Cert, "--tls-key", files.Key, "--http-redirect-listen", plain)
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool()}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	get := func(url string) *http.Response {
		t.Helper()
		r, err := client.Get(url)
		expect.OK(t, err)
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		return r
	}
	expect.MustThat(t, strings.HasPrefix(p.public, "https://"), "it listens on %s", p.public)
	short := strings.TrimSpace(shunt(t, dir, nil, "add", "http://a.example/", "--alias", "known", "--data", dir).stdout)
	expect.Equal(t, short, p.public+"/known", "want %s/known", p.public)
	r := get(short)
	expect.That(t, r.StatusCode == 302 && r.Header.Get("Strict-Transport-Security") == "", "a redirect: got %d, %v", r.StatusCode, r.Header)
	r = get(p.public + "/unknown")
	expect.That(t, r.StatusCode == 404 && r.Header.Get("Strict-Transport-Security") == "max-age=31536000", "a page: got %d, %v", r.StatusCode, r.Header)
	r = get("http://" + plain + "/known?a=%zz")
	expect.That(t, r.StatusCode == 301 && r.Header.Get("Location") == p.public+"/known?a=%zz", "plain HTTP: got %d, %v", r.StatusCode, r.Header)
	certPEM, keyPEM = a.Issue()
	files.Put(files.Cert, certPEM)
	files.Put(files.Key, keyPEM)
	for get(p.public + "/known").TLS.PeerCertificates[0].SerialNumber.Int64() != a.N {
		time.Sleep(50 * time.Millisecond) // until the server has seen it, or the test times out
	}
}
