package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// An acmeClient is a server that gets its certificate from an acmeServer.
type acmeClient struct {
	t      *testing.T
	from   *acmeServer
	dir    string
	listen string
	args   []string
	*process
}

func (c *acmeClient) start() {
	c.t.Helper()
	args := append([]string{
		"--listen", c.listen, "--acme-domain", acmeTestDomain, "--acme-accept-terms", "--acme-directory", c.from.directory, "--log-format", "text",
		"--acme-test", c.from.internet,
	}, c.args...)
	if !slices.Contains(args, "--acme-check") {
		args = append(args, "--acme-check", "any")
	}
	c.process = launchThrough(c.t, []string{"env", "SSL_CERT_FILE=" + c.from.trust}, c.dir, args...).waitReady()
}

// ask sends a request over TLS, and returns the Location of the answer and the serial number of the
// certificate.
func (c *acmeClient) ask(path string) (location string, serial *big.Int, err error) {
	return c.askHost(acmeTestDomain, path)
}

// askHost is ask of a host.
func (c *acmeClient) askHost(host, path string) (location string, serial *big.Int, err error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	conn, err := tls.DialWithDialer(dialer, "tcp", c.listen, &tls.Config{RootCAs: c.from.roots, ServerName: host})
	if err != nil {
		return "", nil, err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host)
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", nil, err
	}
	_, after, _ := bytes.Cut(answer, []byte("\r\nLocation: "))
	line, _, _ := bytes.Cut(after, []byte("\r\n"))
	return string(line), conn.ConnectionState().PeerCertificates[0].SerialNumber, nil
}

const acmePollInterval = 20 * time.Millisecond

// await asks until it gets an answer with a certificate of another serial number than not.
func (c *acmeClient) await(path string, not *big.Int) (location string, serial *big.Int) {
	c.t.Helper()
	return c.awaitHost(acmeTestDomain, path, not)
}

// awaitHost is await of a host.
func (c *acmeClient) awaitHost(host, path string, not *big.Int) (location string, serial *big.Int) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(acmePollInterval) {
		location, serial, err := c.askHost(host, path)
		if err == nil && (not == nil || serial.Cmp(not) != 0) {
			return location, serial
		}
		expect.MustThat(c.t, err == nil || not == nil, "while there is a certificate: %v", err)
	}
	c.t.Fatalf("no certificate was obtained:\n%s\n%s", c.stderr(), c.from.said.String())
	return "", nil
}

func needACME(t *testing.T) {
	if os.Getenv("SHUNTTEST_ACME") == "" {
		t.Skip("make acme runs it: it needs an ACME authority")
	}
}

func TestACertificateIsObtainedByEitherChallengeAndKept(t *testing.T) {
	needACME(t)
	for challenge, redirect := range map[string]bool{"tls-alpn-01": false, "http-01": true} {
		t.Run(challenge, func(t *testing.T) {
			nowhere, plain := freeAddress(t), freeAddress(t)
			c := &acmeClient{t: t, dir: filepath.Join(t.TempDir(), "data"), listen: freeAddress(t)}
			if redirect {
				c.args = []string{"--http-redirect-listen", plain}
				c.from = startACME(t, nowhere, plain, 90*24*3600)
			} else {
				c.from = startACME(t, c.listen, nowhere, 90*24*3600)
			}
			c.start()
			_, first := c.await("/", nil)
			r := shunt(t, "", nil, "add", "https://target.example/", "--alias", "known", "--data", c.dir)
			expect.That(t, r.code == exitDone && r.stdout == "https://sho.example/known\n", "add: got %+v", r)
			c.wantSame("while it runs", first)
			c.terminate()
			c.start()
			c.wantSame("after a restart", first)
			c.terminate()
			c.from.stop()
			c.start()
			c.wantSame("after a restart without the authority", first)
			c.terminate()
			c.wantNoneSaid()
		})
	}
}

// wantSame checks that c redirects with the certificate of this serial number.
func (c *acmeClient) wantSame(when string, serial *big.Int) {
	c.t.Helper()
	if location, got := c.await("/known", nil); location != "https://target.example/" || got.Cmp(serial) != 0 {
		c.t.Errorf("%s: got Location %q by certificate %d, want certificate %d", when, location, got, serial)
	}
}

// wantNoneSaid checks that without a certificate and without the authority the server runs, refuses
// handshakes, and logs the cause.
func (c *acmeClient) wantNoneSaid() {
	c.t.Helper()
	c.dir = filepath.Join(c.t.TempDir(), "data")
	c.start()
	c.awaitLog("no certificate; trying again")
	for _, want := range []string{c.from.directory, "nothing listens on", "must lead to --listen"} {
		expect.That(c.t, strings.Contains(c.stderr(), want), "%q was not logged:\n%s", want, c.stderr())
	}
	_, _, err := c.ask("/known")
	expect.That(c.t, err != nil, "got an answer without a certificate")
	c.terminate()
}

// A certificate that is valid for 45 seconds is renewed after about 30. Until then every client
// gets an answer.
func TestACertificateIsRenewedWhileItIsServed(t *testing.T) {
	needACME(t)
	c := &acmeClient{t: t, dir: filepath.Join(t.TempDir(), "data"), listen: freeAddress(t)}
	c.from = startACME(t, c.listen, freeAddress(t), 45)
	c.start()
	_, first := c.await("/", nil)
	c.await("/", first)
	c.terminate()
}

func TestAFailedVerificationByAnAuthorityIsLogged(t *testing.T) {
	needACME(t)
	nowhere := freeAddress(t)
	c := &acmeClient{t: t, dir: filepath.Join(t.TempDir(), "data"), listen: freeAddress(t)}
	c.from = startACME(t, nowhere, nowhere, 3600)
	c.args = []string{"--acme-check", "off"}
	c.start()
	c.awaitLog(acmeNeeds)
	c.terminate()
}
