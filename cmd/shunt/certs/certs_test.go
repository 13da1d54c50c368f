package certs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// serial returns the number of the certificate that a handshake is given.
func serial(t *testing.T, from Source) int64 {
	t.Helper()
	c, err := from.Certificate(&tls.ClientHelloInfo{})
	expect.OK(t, err)
	return c.Leaf.SerialNumber.Int64()
}

func pairOf(files certtest.Folder) Pair {
	return Pair{Cert: files.Cert, Key: files.Key, CertFlag: "--tls-cert", KeyFlag: "--tls-key"}
}

func TestANewCertificateIsUsedABadOneLoggedOnce(t *testing.T) {
	a := certtest.NewAuthority(t)
	files := certtest.NewFolder(t, nil, nil)
	firstCert, firstKey := a.Issue()
	files.Put(files.Cert, firstCert)
	files.Put(files.Key, firstKey)
	var log bytes.Buffer
	source, err := OpenFiles(pairOf(files), slog.New(slog.NewTextHandler(&log, nil)))
	expect.OK(t, err)
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
	got := source.State()
	expect.That(t, got == (State{NotAfter: source.current.Load().Leaf.NotAfter}) && !got.NotAfter.Before(time.Now()), "got the state %+v", got)
	cert, key := a.Issue()
	files.Put(files.Cert, cert)
	step("a certificate whose key is to come", 1, 2, 0, 0)
	files.Put(files.Key, key)
	step("both, just now", 1, 2, 0, 0)
	step("both", 1, 3, 0, 1)
	files.Put(files.Key, firstKey)
	step("another's key", 5, 3, 1, 1)
	files.Put(files.Cert, []byte("nonsense"))
	step("nonsense", 5, 3, 2, 1)
	expect.OK(t, os.Remove(files.Cert))
	step("nothing", 5, 3, 3, 1)
	files.Put(files.Cert, cert)
	files.Put(files.Key, key)
	step("the old pair again", 5, 3, 3, 1)
	cert, key = a.Issue()
	files.Put(files.Cert, cert)
	files.Put(files.Key, key)
	step("a third one", 5, 4, 3, 2)
	files.Put(files.Cert, append(cert, firstCert...))
	step("the third one with a longer chain", 5, 4, 3, 3)
	expect.Equal(t, len(source.current.Load().Certificate), 2, "certificates")
	expect.That(t, !strings.Contains(log.String(), "PRIVATE"), "a key is in the log")
}

func TestAHalfRenewedPairIsLoggedAsSuch(t *testing.T) {
	a := certtest.NewAuthority(t)
	cert, key := a.Issue()
	_, laterKey := a.Issue()
	files := certtest.NewFolder(t, cert, key)
	var log bytes.Buffer
	source, err := OpenFiles(pairOf(files), slog.New(slog.NewTextHandler(&log, nil)))
	expect.OK(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	expect.OK(t, err)
	otherKind := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	for i, replaced := range [][]byte{laterKey, otherKind} {
		files.Put(files.Key, replaced)
		for range 4 {
			source.look()
		}
		said := strings.Count(log.String(), "does not match its key yet")
		expect.That(t, said == i+1 && !strings.Contains(log.String(), "tls:"), "got it said %d times, want %d:\n%s", said, i+1, &log)
		_, err := OpenFiles(pairOf(files), nil)
		expect.That(t, err != nil && strings.Contains(err.Error(), "the key does not belong to the certificate"), "at start: got %v", err)
	}
}

// handshake is a client's, with what config says.
func handshake(t *testing.T, from Source, config *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	server := tls.Server(ours, TLSConfig(from))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Handshake() // the client reports it
		_ = ours.Close()
	}()
	client := tls.Client(theirs, config)
	err := client.Handshake()
	_ = theirs.Close()
	<-ended
	return client.ConnectionState(), err
}

func TestOnlyModernTLSIsSpoken(t *testing.T) {
	a := certtest.NewAuthority(t)
	certPEM, keyPEM := a.Issue()
	files := certtest.NewFolder(t, certPEM, keyPEM)
	source, err := OpenFiles(pairOf(files), slog.New(slog.DiscardHandler))
	expect.OK(t, err)
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
		c.config.RootCAs, c.config.ServerName = a.Pool(), "localhost"
		state, err := handshake(t, source, c.config)
		expect.That(t, (err == nil) == c.ok && (!c.ok || state.NegotiatedProtocol == c.protocol),
			"%s: got %v, protocol %q, want %v, %q", name, err, state.NegotiatedProtocol, c.ok, c.protocol)
	}
}

func TestAnACMESourceServesItsDomainOnlyAndNeverWaits(t *testing.T) {
	asked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer asked.Close()
	dir := t.TempDir()
	source := NewACME(ACMEOptions{Domain: "sho.example", Directory: asked.URL, AcceptTerms: true, DataDir: dir}, slog.New(slog.DiscardHandler))
	for _, name := range []string{"sho.example", "SHO.example.", "", "other.example", "www.sho.example"} {
		expect.That(t, expect.Err(source.Certificate(&tls.ClientHelloInfo{ServerName: name})) != nil, "%q: got a certificate that nobody has issued", name)
	}
	expect.That(t, source.manager.HostPolicy(t.Context(), "other.example") != nil, "a certificate for another name may be asked for")
	if err := source.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("got %v, want the authority's answer", err)
	}
	certPEM, keyPEM := certtest.NewAuthority(t).Issue()
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	expect.OK(t, err)
	expect.OK(t, source.take(&pair, nil))
	for name, want := range map[string]bool{"sho.example": true, "SHO.Example.": true, "": true, "other.example": false} {
		_, err := source.Certificate(&tls.ClientHelloInfo{ServerName: name})
		expect.That(t, (err == nil) == want, "%q: got %v, want a certificate: %v", name, err, want)
	}
	expect.Equal(t, strings.Join(TLSConfig(source).NextProtos, " "), "http/1.1 "+acme.ALPNProto)
	for host, want := range map[string]int{"other.example": 403, "sho.example": 404, "sho.example:80": 404, "other.example:80": 403} {
		r := httptest.NewRequest("GET", "http://"+host+"/.well-known/acme-challenge/x", nil)
		w := httptest.NewRecorder()
		source.Challenges().ServeHTTP(w, r)
		expect.Equal(t, w.Code, want, "a challenge of %s", host)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	expect.NoError(t, source.Run(ended), "at the end")
	err = filepath.WalkDir(filepath.Join(dir, acmeFolder), func(path string, d os.DirEntry, err error) error {
		info, statErr := d.Info()
		expect.That(t, statErr == nil && info.Mode().Perm()&0o077 == 0, "%s: others may read it (%v)", path, statErr)
		return err
	})
	expect.NoError(t, err, "the account's key is not kept")
}

func TestACertificateNotRenewedInTimeIsLogged(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		lifetime, left time.Duration
		overdue        bool
		wait           time.Duration
	}{
		"90 days, new":                  {90 * day, 90 * day, false, time.Hour},
		"90 days, to be renewed now":    {90 * day, 29 * day, false, time.Hour},
		"90 days, a week late":          {90 * day, 22 * day, true, time.Hour},
		"a year, to be renewed now":     {365 * day, 29 * day, false, time.Hour},
		"a day, to be renewed now":      {day, 7 * time.Hour, false, 48 * time.Minute},
		"a day, late":                   {day, 5 * time.Hour, true, 48 * time.Minute},
		"a day, over":                   {day, -time.Hour, true, 48 * time.Minute},
		"ten seconds, to be renewed":    {10 * time.Second, 3 * time.Second, false, time.Second},
		"half a minute, hardly renewed": {30 * time.Second, 7 * time.Second, true, time.Second},
	} {
		var log bytes.Buffer
		a := NewACME(ACMEOptions{Domain: "sho.example", DataDir: t.TempDir()}, slog.New(slog.NewTextHandler(&log, nil)))
		now := time.Now()
		a.current.Store(&tls.Certificate{Leaf: &x509.Certificate{NotBefore: now.Add(c.left - c.lifetime), NotAfter: now.Add(c.left)}})
		a.failing.Store(true) // as before an attempt that succeeded
		if wait := a.look(now); wait != c.wait || strings.Contains(log.String(), "has not been renewed") != c.overdue {
			t.Errorf("%s: looks again in %v, says %q; want %v, said: %v", name, wait, &log, c.wait, c.overdue)
		}
		want := State{NotAfter: now.Add(c.left), ACME: true, Failing: c.overdue}
		if c.overdue {
			want.Failures = 1
		}
		expect.Equal(t, a.State(), want, name)
	}
}
