package http1

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// requestFrom returns the context of a request of peer with header lines (name, value, name,
// value…).
func requestFrom(peer net.Addr, lines ...string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	for i := 0; i < len(lines); i += 2 {
		req.Header.Add(lines[i], lines[i+1])
	}
	return parsed(&req, peer)
}

// parsed returns req as the server sees it after reading it from peer, with its raw headers.
func parsed(req *fasthttp.Request, peer net.Addr) *fasthttp.RequestCtx {
	req.Header.SetHost("any.example")
	var read fasthttp.Request
	if err := read.Header.Read(bufio.NewReaderSize(bytes.NewReader(req.Header.Header()), MaxHeaderBytes)); err != nil {
		panic(err) // the test's own headers are wrong
	}
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&read, peer, nil)
	return ctx
}

func tcpAddr(addr string) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 4711))
}

var someProxies = Proxies{
	Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:aaaa::/48"), netip.MustParsePrefix("127.0.0.1/32")},
	Header:  "X-Forwarded-For",
}

func TestOnlyTheConfiguredHeaderIsUsed(t *testing.T) {
	p := Proxies{Trusted: someProxies.Trusted, Header: "CF-Connecting-IP"}
	ctx := requestFrom(tcpAddr("10.0.0.1"), "X-Forwarded-For", "1.1.1.1", "Cf-Connecting-Ip", "192.0.2.7", "X-Real-Ip", "2.2.2.2")
	expect.Equal(t, p.ClientAddr(ctx, PeerAddr(ctx)), netip.MustParseAddr("192.0.2.7"))
}

func TestOnlyATrustedProxyMayNameTheCountry(t *testing.T) {
	p := Proxies{Trusted: someProxies.Trusted, CountryHeader: "CF-IPCountry"}
	for name, c := range map[string]struct {
		peer  string
		lines []string
		want  string
	}{
		"a trusted peer":    {"10.0.0.1", []string{"CF-IPCountry", "DE"}, "DE"},
		"in any case":       {"10.0.0.1", []string{"cf-ipcountry", "de"}, "de"},
		"an untrusted peer": {"192.0.2.1", []string{"CF-IPCountry", "DE"}, ""},
		"no header":         {"10.0.0.1", nil, ""},
		"another header":    {"10.0.0.1", []string{"X-Country", "DE"}, ""},
		"two lines":         {"10.0.0.1", []string{"CF-IPCountry", "US", "CF-IPCountry", "DE"}, "DE"},
	} {
		ctx := requestFrom(tcpAddr(c.peer), c.lines...)
		got := p.CountryCode(ctx, PeerAddr(ctx))
		expect.Equal(t, string(got), c.want, "%s: got %q", name, got)
	}
	ctx := requestFrom(tcpAddr("10.0.0.1"), "CF-IPCountry", "DE")
	got := someProxies.CountryCode(ctx, PeerAddr(ctx))
	expect.That(t, got == nil, "without the setting: got %q, want nothing", got)
}

func TestOnlyATrustedProxyMayNameTheHost(t *testing.T) {
	p := Proxies{Trusted: someProxies.Trusted, HostHeader: "X-Forwarded-Host"}
	for name, c := range map[string]struct {
		peer  string
		lines []string
		want  string
	}{
		"a trusted peer":              {"10.0.0.1", []string{"X-Forwarded-Host", "b.test"}, "b.test"},
		"in any case, with a port":    {"10.0.0.1", []string{"x-forwarded-host", "B.Test.:8443"}, "B.Test.:8443"},
		"an untrusted peer":           {"192.0.2.1", []string{"X-Forwarded-Host", "b.test"}, ""},
		"no header":                   {"10.0.0.1", nil, ""},
		"another header":              {"10.0.0.1", []string{"X-Host", "b.test"}, ""},
		"two values":                  {"10.0.0.1", []string{"X-Forwarded-Host", "a.test,\tb.test "}, "b.test"},
		"two lines":                   {"10.0.0.1", []string{"X-Forwarded-Host", "a.test, c.test", "X-Forwarded-Host", "b.test"}, "b.test"},
		"the last line is empty":      {"10.0.0.1", []string{"X-Forwarded-Host", "a.test", "X-Forwarded-Host", ""}, ""},
		"the last value is empty":     {"10.0.0.1", []string{"X-Forwarded-Host", "a.test,"}, ""},
		"an address":                  {"10.0.0.1", []string{"X-Forwarded-Host", "https://b.test/"}, ""},
		"two words":                   {"10.0.0.1", []string{"X-Forwarded-Host", "a.test b.test"}, ""},
		"a port that is not a number": {"10.0.0.1", []string{"X-Forwarded-Host", "b.test:x"}, ""},
		"IPv6":                        {"10.0.0.1", []string{"X-Forwarded-Host", "[::1]:80"}, "[::1]:80"},
	} {
		ctx := requestFrom(tcpAddr(c.peer), c.lines...)
		expect.Equal(t, string(p.NamedHost(ctx, PeerAddr(ctx))), c.want, "%s", name)
	}
	ctx := requestFrom(tcpAddr("10.0.0.1"), "X-Forwarded-Host", "b.test")
	expect.That(t, someProxies.NamedHost(ctx, PeerAddr(ctx)) == nil, "without the setting a host is named")
}

func TestAPeerWithoutAnAddressIsThisMachine(t *testing.T) {
	ctx := requestFrom(&net.UnixAddr{Name: "@", Net: "unix"}, "X-Forwarded-For", "192.0.2.7")
	expect.Equal(t, PeerAddr(ctx), thisMachine, "peer")
	expect.Equal(t, someProxies.ClientAddr(ctx, PeerAddr(ctx)), netip.MustParseAddr("192.0.2.7"), "client, if 127.0.0.1 is trusted")
}

func TestFindingTheClientDoesNotAllocate(t *testing.T) {
	for _, hop := range []string{"192.0.2.7, 10.0.0.2", "[2001:db8::7]:443", "2001:db8::7"} {
		ctx := requestFrom(tcpAddr("10.0.0.1"), "X-Forwarded-For", hop)
		if n := testing.AllocsPerRun(100, func() { someProxies.ClientAddr(ctx, PeerAddr(ctx)) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", hop, n)
		}
	}
}

// FuzzForwardedFor checks that the client is the peer or an address in the header, and that the
// address is not a trusted proxy, unless all hops to its right are.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"192.0.2.7", "a, 10.0.0.1", "[::1]:1,,", "%", "[", "1:2", "fe80::1%", ":", "[]:", "::ffff:10.0.0.1"} {
		f.Add(seed, "10.0.0.3")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		peer := netip.MustParseAddr("10.0.0.1")
		addr, decided := someProxies.rightmostHop(peer, []byte(second))
		if !decided {
			addr, decided = someProxies.rightmostHop(addr, []byte(first))
		}
		expect.MustThat(t, addr.IsValid() && addr.Zone() == "" && !addr.Is4In6(), "%q, %q: got %v, want a plain address", first, second, addr)
		expect.MustThat(t, decided || someProxies.Trust(addr), "%q, %q: got %v, which no trusted proxy named", first, second, addr)
	})
}
