package e2e

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
)

func TestConflictingHTTPSSettingsAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--tls-cert=a":                        "need each other",
		"--tls-key=a":                         "need each other",
		"--tls-cert=/nonexistent --tls-key=a": "--tls-cert: /nonexistent does not exist",
		"--acme-domain=sho.example":           "--acme-accept-terms",
		"--acme-domain=sho.example --acme-accept-terms --tls-cert=a": "choose one",
		"--acme-domain=localhost":                                    "the name of a domain",
		"--acme-domain=192.0.2.1":                                    "the name of a domain",
		"--acme-domain=sho.example:443":                              "the name of a domain",
		"--acme-email=nobody":                                        "must be an e-mail address",
		"--acme-directory=nowhere":                                   "must be a URL",
		"--hsts-max-age=soon":                                        "must be off, or a duration",
		"--hsts-max-age=4000d":                                       "must be off, or a duration",
		"--http-redirect-listen=127.0.0.1:0":                         "needs --tls-cert",
		"--http-redirect-listen=x":                                   "must be host:port",
		"--tls-cert=a --tls-key=b --http-redirect-listen=:0 --base-url=http://a.example": "must begin with https://",
	} {
		got := shunt(t, t.TempDir(), nil, append([]string{"serve"}, strings.Fields(args)...)...)
		if code := got.code; code == exitDone || !strings.Contains(got.stderr, want) || code != exitUsage && !strings.Contains(args, "nonexistent") {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
}

// This test runs the whole program, and replaces its certificate files meanwhile.
func TestServeSpeaksHTTPSAndRedirectsPlainHTTP(t *testing.T) {
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
		must(t, err)
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		return r
	}
	if !strings.HasPrefix(p.public, "https://") {
		t.Fatalf("it listens on %s", p.public)
	}
	short := strings.TrimSpace(shunt(t, dir, nil, "add", "http://a.example/", "--alias", "known", "--data", dir).stdout)
	if short != p.public+"/known" {
		t.Errorf("got %q, want %s/known", short, p.public)
	}
	if r := get(short); r.StatusCode != 302 || r.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("a redirect: got %d, %v", r.StatusCode, r.Header)
	}
	if r := get(p.public + "/unknown"); r.StatusCode != 404 || r.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("a page: got %d, %v", r.StatusCode, r.Header)
	}
	if r := get("http://" + plain + "/known?a=%zz"); r.StatusCode != 301 || r.Header.Get("Location") != p.public+"/known?a=%zz" {
		t.Errorf("plain HTTP: got %d, %v", r.StatusCode, r.Header)
	}
	certPEM, keyPEM = a.Issue()
	files.Put(files.Cert, certPEM)
	files.Put(files.Key, keyPEM)
	for get(p.public + "/known").TLS.PeerCertificates[0].SerialNumber.Int64() != a.N {
		time.Sleep(50 * time.Millisecond) // until the server has seen it, or the test times out
	}
}
