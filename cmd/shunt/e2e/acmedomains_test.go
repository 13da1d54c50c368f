package e2e

import (
	"crypto/tls"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// orders returns how many orders the authority has taken. It refuses one request in ten, which is then sent again.
func (a *acmeServer) orders() int { return strings.Count(a.said.String(), "Added order ") }

// greet shakes hands with a server, and asks for a name.
func (c *acmeClient) greet(name string) error {
	conn, err := net.DialTimeout("tcp", c.listen, 10*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return tls.Client(conn, &tls.Config{RootCAs: c.from.roots, ServerName: name}).Handshake()
}

func (c *acmeClient) run(args ...string) string {
	c.t.Helper()
	r := shunt(c.t, "", nil, append(args, "--data", c.dir)...)
	expect.MustThat(c.t, r.code == exitDone, "%v: got %+v", args, r)
	return r.stdout
}

// TestACertificateOfEachRegisteredDomainIsGot registers three domains, of which one does not lead here.
func TestACertificateOfEachRegisteredDomainIsGot(t *testing.T) {
	needACME(t)
	nowhere := freeAddress(t)
	c := &acmeClient{t: t, dir: filepath.Join(t.TempDir(), "data"), listen: freeAddress(t)}
	c.from = startACME(t, c.listen, nowhere, 90*24*3600)
	c.start()
	for _, args := range [][]string{{acmeLostDomain}, {"go.example"}, {"get.example", "--alias", "www.get.example"}} {
		c.run(append([]string{"domain", "add"}, args...)...)
	}
	c.run("add", "https://target.example/", "--alias", "known", "--domain", "get.example")
	hosts, serials := []string{acmeTestDomain, "go.example", "get.example", "www.get.example"}, map[string]*big.Int{}
	for _, host := range hosts {
		_, serials[host] = c.awaitHost(host, "/", nil)
	}
	location, _, err := c.askHost("www.get.example", "/known")
	expect.That(t, err == nil && location == "https://target.example/", "got Location %q, %v", location, err)
	c.wantLost()
	c.wantNoOrderBySNI()
	c.terminate()
	c.from.stop()
	c.start()
	for _, host := range hosts {
		_, got := c.awaitHost(host, "/", nil)
		expect.That(t, got.Cmp(serials[host]) == 0, "after a restart without the authority, %s has certificate %d, want %d", host, got, serials[host])
	}
	c.run("domain", "rm", "go.example")
	expect.That(t, c.greet("go.example") != nil, "a removed domain has a certificate")
	check := c.run("check", "--json")
	expect.That(t, strings.Contains(check, `"ok":true`) || strings.Contains(check, `"ok": true`), "check: %s", check)
	c.terminate()
}

// wantLost checks that the domain without an address has no certificate, and that everybody is told why.
func (c *acmeClient) wantLost() {
	c.t.Helper()
	const why = acmeLostDomain + " has no address in DNS"
	c.awaitLog(why)
	err := c.greet(acmeLostDomain)
	expect.That(c.t, err != nil, "got a certificate of %s", acmeLostDomain)
	shown := c.run("domain", "show", acmeLostDomain)
	expect.That(c.t, strings.Contains(shown, why) && strings.Contains(shown, "failing"), "domain show: %s", shown)
	listed := c.run("domain", "ls")
	expect.That(c.t, strings.Contains(listed, "failing: "+why) && strings.Contains(listed, "valid until"), "domain ls: %s", listed)
	checked := shunt(c.t, "", nil, "domain", "check", acmeLostDomain, "--data", c.dir)
	expect.That(c.t, checked.code == exitFailed && strings.Contains(checked.stdout, why), "domain check: %+v", checked)
	entries := c.run("audit")
	expect.That(c.t, strings.Contains(entries, why) && !strings.Contains(entries, "PRIVATE"), "audit: %s", entries)
}

// wantNoOrderBySNI checks that names which nobody registered get an alert, and no order.
func (c *acmeClient) wantNoOrderBySNI() {
	c.t.Helper()
	before := c.from.orders()
	expect.That(c.t, before == 4, "got %d orders, want 4", before)
	for i := range 1000 {
		err := c.greet(fmt.Sprintf("sni-%d.example", i))
		expect.That(c.t, err != nil && strings.Contains(err.Error(), "unrecognized name"), "an unknown name: got %v, want an alert", err)
	}
	time.Sleep(2 * time.Second) // two looks of the server
	expect.Equal(c.t, c.from.orders(), before, "orders after 1,000 unknown names")
}

// TestCertificatesOfOneNodeServeOnAll has a cluster whose second node no authority can reach.
func TestCertificatesOfOneNodeServeOnAll(t *testing.T) {
	needACME(t)
	var from *acmeServer
	place := func(n *siteNode) {
		address := strings.TrimPrefix(n.url, "http://")
		if from == nil {
			from = startACME(t, address, freeAddress(t), 90*24*3600)
			n.site.options.nodes = []string{
				"--acme-domain", acmeTestDomain, "--acme-accept-terms", "--acme-directory", from.directory, "--acme-test", from.internet, "--acme-check", "any",
			}
		}
		n.starter = []string{"env", "SSL_CERT_FILE=" + from.trust}
	}
	s := newSiteOn(t, siteOptions{place: place}, "a", "b")
	var at []*acmeClient
	for _, n := range s.nodes {
		at = append(at, &acmeClient{t: t, from: from, dir: n.data, listen: strings.TrimPrefix(n.url, "http://"), process: n.process})
	}
	at[1].run("domain", "add", "go.example") // by the other node
	hosts := []string{acmeTestDomain, "go.example"}
	for _, host := range hosts {
		_, want := at[0].awaitHost(host, "/", nil)
		_, got := at[1].awaitHost(host, "/", nil)
		expect.That(t, got.Cmp(want) == 0, "%s: the second node has certificate %d, the first %d", host, got, want)
	}
	s.nodes[0].kill()
	s.await(func() bool { return s.leader() == s.nodes[1] }, "the other node leads")
	for _, host := range hosts {
		at[1].awaitHost(host, "/", nil)
	}
	expect.Equal(t, from.orders(), len(hosts), "orders")
}
