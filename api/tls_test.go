package api

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

// ownCertificate returns a certificate. Its key signs in a tenth of the time of an RSA key.
var ownCertificate = sync.OnceValues(func() (c tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

// secureAddress serves the public address over TLS on a socket, to clients whose address is from.
func (st *site) secureAddress(from string) (addr string) {
	st.t.Helper()
	certificate, err := ownCertificate()
	expect.OK(st.t, err)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(st.t, err)
	at := new(atomic.Pointer[net.TCPAddr])
	at.Store(tcpAddr(from))
	st.serveOn(tls.NewListener(withAddr{ln, at}, config), st.ServePublic)
	st.t.Cleanup(st.shutDown)
	return ln.Addr().String()
}

func dialTLS(t testing.TB, addr string) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	expect.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	expect.NoError(t, c.SetDeadline(time.Now().Add(patienceOfTests)))
	return c
}

// askTLS sends a request on a new connection.
func askTLS(t testing.TB, addr, method, raw string) reply {
	t.Helper()
	c := dialTLS(t, addr)
	defer c.Close()
	expect.OK(t, expect.Err(io.WriteString(c, raw)))
	return readReply(t, bufio.NewReader(c), method)
}

func TestTokensAreAcceptedOverTLSFromAnywhere(t *testing.T) {
	st := newSite(t, nil)
	addr := st.secureAddress("192.0.2.1")
	c := dialTLS(t, addr)
	r := bufio.NewReader(c)
	for range 2 {
		expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", "/api/v1/me", "", "Authorization: Bearer "+st.token))))
		readReply(t, r, "GET").expect(t, "", 200)
	}
}

func TestALiveStreamContinuesOverTLS(t *testing.T) {
	t.Parallel()
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"promo"}`)
	addr := st.secureAddress("192.0.2.1")
	c := dialTLS(t, addr)
	expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", "/api/v1/stats/promo/live", "", "Authorization: Bearer "+st.token))))
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	expect.OK(t, err)
	lines := bufio.NewScanner(response.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data:") {
				expect.Contains(t, lines.Text(), want)
				return
			}
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
	}
	next(`"hits":0`)
	askTLS(t, addr, "GET", requestText("GET", "/promo", "", browser)).need(t, "", 302)
	next(`"hits":1`)
	for range 5 {
		st.public.Sweep()
	}
	askTLS(t, addr, "GET", requestText("GET", "/promo", "", browser)).need(t, "", 302)
	next(`"hits":2`)
}

func TestPagesAndAPIAnswersOverTLSDemandHTTPS(t *testing.T) {
	st := newSite(t, func(o *Options) { o.HSTSMaxAge = 365 * 24 * time.Hour })
	st.shorten(`{"url":"http://a/","alias":"known"}`)
	addr := st.secureAddress("192.0.2.1")
	token := "Authorization: Bearer " + st.token
	for path, want := range map[string]string{
		"/unknown": "max-age=31536000", "/no/such/path": "max-age=31536000", "/api/v1/me": "max-age=31536000",
		"/api/v1/links/none": "max-age=31536000", "/known": "",
	} {
		expect.Equal(t, askTLS(t, addr, "GET", requestText("GET", path, "", token)).header.Get("Strict-Transport-Security"), want, path)
		if got := st.get(path, token).header.Get("Strict-Transport-Security"); got != "" { // RFC 6797, 7.2
			t.Errorf("%s over plain HTTP: got %q", path, got)
		}
	}
}
