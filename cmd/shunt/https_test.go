package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"
)

// An authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64 // the last serial number
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, n: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.key, a.cert = a.sign(template, template, nil)
	return a
}

func (a *authority) sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

// issue returns a certificate for this machine with its key, in PEM.
func (a *authority) issue() (certPEM, keyPEM []byte) {
	a.t.Helper()
	a.n++
	key, cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(a.n), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, a.cert, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// certFolder is a folder with a pair that can be replaced.
type certFolder struct {
	t         *testing.T
	cert, key string
}

func newCertFolder(t *testing.T, certPEM, keyPEM []byte) certFolder {
	t.Helper()
	dir := t.TempDir()
	f := certFolder{t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	f.put(f.cert, certPEM)
	f.put(f.key, keyPEM)
	return f
}

func (f certFolder) put(path string, text []byte) {
	f.t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// serial returns the number of the certificate that a handshake is given.
func serial(t *testing.T, from certSource) int64 {
	t.Helper()
	c, err := from.certificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf.SerialNumber.Int64()
}

func TestAReplacedCertificateIsTakenAndABadOneIsSaidOnce(t *testing.T) {
	a := newAuthority(t)
	files := newCertFolder(t, nil, nil)
	firstCert, firstKey := a.issue()
	files.put(files.cert, firstCert)
	files.put(files.key, firstKey)
	var log bytes.Buffer
	source, err := openCertFiles(files.cert, files.key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	step := func(name string, looks int, want int64, warnings, taken int) {
		t.Helper()
		for range looks {
			source.look()
		}
		w, i := strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "has been replaced\"")
		if got := serial(t, source); got != want || w != warnings || i != taken {
			t.Errorf("%s: got certificate %d, %d warnings, %d taken; want %d, %d, %d:\n%s", name, got, w, i, want, warnings, taken, &log)
		}
	}
	step("nothing has changed", 3, 2, 0, 0)
	cert, key := a.issue()
	files.put(files.cert, cert)
	step("a certificate whose key is to come", 1, 2, 0, 0)
	files.put(files.key, key)
	step("both, just now", 1, 2, 0, 0)
	step("both", 1, 3, 0, 1)
	files.put(files.key, firstKey)
	step("another's key", 5, 3, 1, 1)
	files.put(files.cert, []byte("nonsense"))
	step("nonsense", 5, 3, 2, 1)
	if err := os.Remove(files.cert); err != nil {
		t.Fatal(err)
	}
	step("nothing", 5, 3, 3, 1)
	files.put(files.cert, cert)
	files.put(files.key, key)
	step("the old pair again", 5, 3, 3, 1)
	cert, key = a.issue()
	files.put(files.cert, cert)
	files.put(files.key, key)
	step("a third one", 5, 4, 3, 2)
	files.put(files.cert, append(cert, firstCert...))
	step("the third one with a longer chain", 5, 4, 3, 3)
	if n := len(source.current.Load().Certificate); n != 2 {
		t.Errorf("got %d certificates, want the chain of 2", n)
	}
	if strings.Contains(log.String(), "PRIVATE") {
		t.Error("a key is in the log")
	}
}

func TestAHalfRenewedPairIsSaidToBeThat(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue()
	_, laterKey := a.issue()
	files := newCertFolder(t, cert, key)
	var log bytes.Buffer
	source, err := openCertFiles(files.cert, files.key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	otherKind := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	for i, replaced := range [][]byte{laterKey, otherKind} {
		files.put(files.key, replaced)
		for range 4 {
			source.look()
		}
		if said := strings.Count(log.String(), "does not match its key yet"); said != i+1 || strings.Contains(log.String(), "tls:") {
			t.Errorf("got it said %d times, want %d:\n%s", said, i+1, &log)
		}
		if _, err := openCertFiles(files.cert, files.key, nil); err == nil || !strings.Contains(err.Error(), "the key does not belong to the certificate") {
			t.Errorf("at start: got %v", err)
		}
	}
}

// handshake is a client's, with what config says.
func handshake(t *testing.T, from certSource, config *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	server := tls.Server(ours, tlsConfig(from))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Handshake() // the client tells
		_ = ours.Close()
	}()
	client := tls.Client(theirs, config)
	err := client.Handshake()
	_ = theirs.Close()
	<-ended
	return client.ConnectionState(), err
}

func TestTLSIsOfToday(t *testing.T) {
	a := newAuthority(t)
	certPEM, keyPEM := a.issue()
	files := newCertFolder(t, certPEM, keyPEM)
	source, err := openCertFiles(files.cert, files.key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config   *tls.Config
		ok       bool
		protocol string
	}{
		"TLS 1.0":                      {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}, false, ""},
		"TLS 1.1":                      {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false, ""},
		"TLS 1.2":                      {&tls.Config{MaxVersion: tls.VersionTLS12}, true, ""},
		"TLS 1.3":                      {&tls.Config{MinVersion: tls.VersionTLS13}, true, ""},
		"TLS 1.2, CBC":                 {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}, false, ""},
		"a browser":                    {&tls.Config{NextProtos: []string{"h2", "http/1.1"}}, true, "http/1.1"},
		"HTTP/2 only":                  {&tls.Config{NextProtos: []string{"h2"}}, false, ""},
		"a challenge that nobody made": {&tls.Config{NextProtos: []string{acme.ALPNProto}}, false, ""},
	} {
		c.config.RootCAs, c.config.ServerName = a.pool(), "localhost"
		state, err := handshake(t, source, c.config)
		if (err == nil) != c.ok || c.ok && state.NegotiatedProtocol != c.protocol {
			t.Errorf("%s: got %v, protocol %q, want %v, %q", name, err, state.NegotiatedProtocol, c.ok, c.protocol)
		}
	}
}

func TestAnACMESourceIsForItsDomainOnlyAndNeverWaits(t *testing.T) {
	asked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer asked.Close()
	dir := t.TempDir()
	source := newACMESource(&httpsSettings{acmeTerms: true, acmeDirectory: asked.URL}, "sho.example", dir, slog.New(slog.DiscardHandler))
	for _, name := range []string{"sho.example", "SHO.example.", "", "other.example", "www.sho.example"} {
		if _, err := source.certificate(&tls.ClientHelloInfo{ServerName: name}); err == nil {
			t.Errorf("%q: got a certificate that nobody has issued", name)
		}
	}
	if err := source.manager.HostPolicy(t.Context(), "other.example"); err == nil {
		t.Error("a certificate for another name may be asked for")
	}
	if err := source.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("got %v, want the authority's answer", err)
	}
	certPEM, keyPEM := newAuthority(t).issue()
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.take(&pair, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"sho.example": true, "SHO.Example.": true, "": true, "other.example": false} {
		if _, err := source.certificate(&tls.ClientHelloInfo{ServerName: name}); (err == nil) != want {
			t.Errorf("%q: got %v, want a certificate: %v", name, err, want)
		}
	}
	if protocols := strings.Join(tlsConfig(source).NextProtos, " "); protocols != "http/1.1 "+acme.ALPNProto {
		t.Errorf("got protocols %s", protocols)
	}
	for host, want := range map[string]int{"other.example": 403, "sho.example": 404, "sho.example:80": 404, "other.example:80": 403} {
		r := httptest.NewRequest("GET", "http://"+host+"/.well-known/acme-challenge/x", nil)
		w := httptest.NewRecorder()
		source.challenges().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("a challenge of %s: got %d, want %d", host, w.Code, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := source.Run(ended); err != nil {
		t.Errorf("at the end: got %v", err)
	}
	err = filepath.WalkDir(filepath.Join(dir, acmeFolder), func(path string, d os.DirEntry, err error) error {
		if info, statErr := d.Info(); statErr != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: others may read it (%v)", path, statErr)
		}
		return err
	})
	if err != nil {
		t.Errorf("the account's key is not kept: %v", err)
	}
}

func TestSettingsOfHTTPSThatDoNotGoTogetherAreRefused(t *testing.T) {
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

func TestTheBaseURLOfADomainWithACMEIsThatDomain(t *testing.T) {
	for want, s := range map[string]dataSettings{
		"https://sho.example":    {listen: ":443", acmeDomain: "sho.example"},
		"https://other.example":  {listen: ":443", acmeDomain: "sho.example", baseURL: "https://other.example"},
		"https://127.0.0.1:4711": {listen: "127.0.0.1:0", secure: true},
	} {
		if got, err := s.resolveBaseURL("127.0.0.1:4711"); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// The whole program, with files that are replaced under it.
func TestServeSpeaksHTTPSAndRedirectsPlainHTTP(t *testing.T) {
	a := newAuthority(t)
	certPEM, keyPEM := a.issue()
	files := newCertFolder(t, certPEM, keyPEM)
	plain := freeAddress(t)
	dir := t.TempDir()
	p := startServer(t, dir, "--tls-cert", files.cert, "--tls-key", files.key, "--http-redirect-listen", plain)
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool()}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	get := func(url string) *http.Response {
		t.Helper()
		r, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
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
	certPEM, keyPEM = a.issue()
	files.put(files.cert, certPEM)
	files.put(files.key, keyPEM)
	for get(p.public + "/known").TLS.PeerCertificates[0].SerialNumber.Int64() != a.n {
		time.Sleep(50 * time.Millisecond) // until it is seen, or the test's time is over
	}
}
