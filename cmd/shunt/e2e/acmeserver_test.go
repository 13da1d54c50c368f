package e2e

import (
	"crypto/tls"
	"crypto/x509"
	endian "encoding/binary" // binary is the program under test
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"

	"golang.org/x/net/dns/dnsmessage"
)

// An acmeServer is a real ACME authority on this machine: the test server of Let's Encrypt.
type acmeServer struct {
	t         *testing.T
	cmd       *exec.Cmd
	directory string
	internet  string         // what --acme-test names
	trust     string         // PEM file of its root
	roots     *x509.CertPool // of the certificates that it issues
	said      syncBuffer
	ended     chan struct{}
}

const acmeTestDomain = "sho.example"

// startACME starts an authority that expects the answers to its challenges at the two addresses,
// and whose certificates are valid for validSeconds. It refuses one nonce in ten, as the protocol
// allows.
func startACME(t *testing.T, alpnAddress, httpAddress string, validSeconds int) *acmeServer {
	t.Helper()
	own := certtest.NewAuthority(t)
	certPEM, keyPEM := own.Issue()
	files := certtest.NewFolder(t, certPEM, keyPEM)
	listen, management, dns := freeAddress(t), freeAddress(t), serveDNS(t)
	internet := fmt.Sprintf("%s,%d,%d", dns, portOf(t, httpAddress), portOf(t, alpnAddress))
	a := &acmeServer{t: t, internet: internet, directory: "https://" + listen + "/dir", trust: writeFile(t, "trust.pem", string(own.PEM())), ended: make(chan struct{})}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": listen, "managementListenAddress": management, "certificate": files.Cert, "privateKey": files.Key,
		"httpPort": portOf(t, httpAddress), "tlsPort": portOf(t, alpnAddress), "keyAlgorithm": "ecdsa",
		"retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles":   map[string]any{"default": map[string]any{"description": "for tests", "validityPeriod": validSeconds}},
	}})
	expect.OK(t, err)
	a.cmd = exec.Command(os.Getenv("SHUNTTEST_ACME"), "-config", writeFile(t, "acme.json", string(config)), "-dnsserver", dns, "-strict")
	a.cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=10", "PEBBLE_AUTHZREUSE=0")
	a.cmd.Stdout, a.cmd.Stderr = &a.said, &a.said
	expect.OK(t, a.cmd.Start())
	timeout := killAtDeadline(t, a.cmd.Process)
	go func() { _ = a.cmd.Wait(); timeout.Stop(); close(a.ended) }()
	t.Cleanup(a.stop)
	a.roots = x509.NewCertPool()
	root := a.get(own, "https://"+management+"/roots/0")
	expect.MustThat(t, a.roots.AppendCertsFromPEM(root), "the authority's root is %q", root)
	return a
}

// get requests url from the authority until it answers.
func (a *acmeServer) get(own *certtest.Authority, url string) (body []byte) {
	a.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: own.Pool()}, DisableKeepAlives: true}}
	err := errors.New("not asked")
	for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); {
		var answer *http.Response
		if answer, err = client.Get(url); err == nil {
			body, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
	}
	expect.MustThat(a.t, err == nil, "the authority does not answer: %v\n%s", err, a.said.String())
	return body
}

func (a *acmeServer) stop() {
	_ = a.cmd.Process.Kill() // it may have ended
	<-a.ended
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.Atoi(text)
	expect.OK(t, err)
	return port
}

// acmeLostDomain is a name without an address.
const acmeLostDomain = "lost.example"

// serveDNS serves DNS over TCP, which the authority uses: every name but acmeLostDomain is 127.0.0.1.
func serveDNS(t *testing.T) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				_ = answerDNS(conn) // the authority reports missing answers
			})
		}
	})
	return ln.Addr().String()
}

// answerDNS answers the one question of a message, which its length precedes (RFC 1035, 4.2.2).
func answerDNS(conn net.Conn) error {
	var size uint16
	if err := endian.Read(conn, endian.BigEndian, &size); err != nil {
		return err
	}
	packet := make([]byte, size)
	if _, err := io.ReadFull(conn, packet); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil {
		return err
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Name.String() == acmeLostDomain+"." {
		m.RCode = dnsmessage.RCodeNameError
	} else if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	answer, err := m.Pack()
	if err != nil {
		return err
	}
	_, err = conn.Write(append(endian.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	return err
}
