package api

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"shunt/api/admin"
	"shunt/engine/expect"
)

// arrivedAt is a listener that gives every connection the same local address.
type arrivedAt struct {
	net.Listener
	local net.Addr
}

func (l arrivedAt) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return connAt{c, l.local}, nil
}

// adminAddress serves the admin address on a socket, to connections with that local address, and
// returns the address of the socket.
func (st *site) adminAddress(local string) string {
	st.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(st.t, err)
	st.serveOn(arrivedAt{ln, tcpAddr(local)}, st.ServeAdmin)
	st.t.Cleanup(st.shutDown)
	return ln.Addr().String()
}

// adminPaths are the paths that the admin address serves.
var adminPaths = []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/healthz", "/readyz"}

// wantAdmin checks that each of adminPaths is either shown, or refused with none of its content in
// the answer.
func wantAdmin(t *testing.T, addr, lines string, shown bool) {
	t.Helper()
	for _, path := range adminPaths {
		request := "GET " + path + " HTTP/1.1\r\n" + lines + "\r\nConnection: close\r\n\r\n"
		r := onlyAnswer(t, sendRaw(t, addr, request), "GET")
		switch {
		case r.header.Get("Access-Control-Allow-Origin") != "":
			t.Errorf("%s of %q: got %+v, want no CORS", path, lines, r)
		case shown && r.status != 200:
			t.Errorf("%s of %q: got %d %s, want it shown", path, lines, r.status, r.body)
		case !shown && (r.status != 403 || r.problem() != "forbidden"):
			t.Errorf("%s of %q: got %d, want it refused", path, lines, r.status)
		}
	}
}

func TestTheAdminAddressOnLoopbackTakesOnlyLoopbackNames(t *testing.T) {
	st := newSite(t, func(o *Options) { o.AdminHosts = nil })
	for _, local := range []string{"127.0.0.1", "::1"} {
		addr := st.adminAddress(local)
		for host, shown := range map[string]bool{
			"localhost": true, "localhost:8081": true, "LOCALHOST.:1": true, "shunt.localhost:8081": true, "127.0.0.1": true, "127.0.0.1:8081": true,
			"127.9.8.7:8081": true, "[::1]": true, "[::1]:8081": true, "[::ffff:127.0.0.1]:8081": true,
			"rebound.example": false, "rebound.example:8081": false, "localhost.rebound.example": false, "notlocalhost": false, "127.0.0.1.rebound.example": false,
			"localhost.localdomain:8081": false, "ip6-localhost": false, "0.0.0.0:8081": false, "192.168.1.5:8081": false, "[fe80::1]": false,
			"127.0.0.1,localhost": false,
		} {
			wantAdmin(t, addr, "Host: "+host, shown)
		}
	}
}

func TestTheAdminAddressAcceptsItsConfiguredNames(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.AdminHosts, o.Pprof = []string{"Metrics.Example.", "bücher.example:9", "192.0.2.7"}, true
	})
	for _, local := range []string{"127.0.0.1", "10.1.2.3"} {
		addr := st.adminAddress(local)
		for host, shown := range map[string]bool{
			"metrics.example": true, "METRICS.example.:8081": true, "xn--bcher-kva.example:8081": true, "192.0.2.7:8081": true, "localhost": true,
			local + ":8081": true, "rebound.example": false, "x.metrics.example": false, "192.0.2.8": false, "10.1.2.4": false,
		} {
			wantAdmin(t, addr, "Host: "+host, shown)
		}
	}
	for _, name := range []string{"", "*", "a b", "http://a", "a/b", "a:b"} {
		expect.That(t, expect.Err(admin.ParseHosts([]string{"fine", name})) != nil, "%q: got no error", name)
	}
}

func TestOtherAdminAddressesTakeAnyName(t *testing.T) {
	st := newSite(t, func(o *Options) { o.AdminHosts, o.Pprof = nil, true })
	addr := st.adminAddress("172.17.0.2")
	for _, host := range []string{"shunt", "shunt.monitoring.svc:8081", "172.17.0.2:8081", "localhost"} {
		wantAdmin(t, addr, "Host: "+host, true)
	}
}

func TestForeignPagesCannotUseTheAdminAddress(t *testing.T) {
	st := newSite(t, func(o *Options) { o.AdminHosts, o.Pprof = nil, true })
	const followed = "\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document"
	for _, local := range []string{"127.0.0.1", "172.17.0.2"} {
		addr := st.adminAddress(local)
		for lines, shown := range map[string]bool{
			"Sec-Fetch-Site: none" + followed:                                                    true,
			"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty":       true,
			"Sec-Fetch-Site: same-site" + followed:                                               true,
			"Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe":    false,
			"Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script":     false,
			"Sec-Fetch-Site: cross-site" + followed:                                              false,
			"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image":     false,
			"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: same-origin":                          false,
			"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site":                          false,
			"Sec-Fetch-Site: some-day":                                                           false,
			"Origin: http://page.example":                                                        false,
			"Origin: null":                                                                       false,
			"Sec-Fetch-Site: same-site\r\nOrigin: http://localhost:3000\r\nSec-Fetch-Mode: cors": false,
		} {
			wantAdmin(t, addr, "Host: localhost:8081\r\n"+lines, shown)
		}
		preflight := "OPTIONS /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://page.example\r\nAccess-Control-Request-Method: GET\r\nConnection: close\r\n\r\n"
		onlyAnswer(t, sendRaw(t, addr, preflight), "OPTIONS").expect(t, "a preflight", 403, header("Access-Control-Allow-Origin", ""))
	}
}

// Health checks of load balancers use HTTP/1.0 without a Host.
func TestAHealthCheckWithoutAHostIsAnswered(t *testing.T) {
	addr := newSite(t, func(o *Options) { o.AdminHosts = nil }).adminAddress("127.0.0.1")
	for request, want := range map[string]int{
		"GET /readyz HTTP/1.0\r\n\r\n":                            200,
		"GET /readyz HTTP/1.0\r\nHost: rebound.example\r\n\r\n":   403,
		"GET http://rebound.example/readyz HTTP/1.0\r\n\r\n":      403,
		"HEAD /readyz HTTP/1.0\r\nSec-Fetch-Site: same\r\n\r\n":   403,
		"GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n":       400,
		"GET http://127.0.0.1/readyz HTTP/1.0\r\nHost: x\r\n\r\n": 200, // RFC 9112, 3.2.2: such a target replaces Host
	} {
		method, _, _ := strings.Cut(request, " ")
		onlyAnswer(t, sendRaw(t, addr, request), method).expect(t, fmt.Sprintf("%q", request), want)
	}
}
