package http1

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

var somePurposes = []string{"Sec-Purpose", "purpose", "x-purpose", "X-Moz"}

func newReader() *Reader { return NewReader(&manyProxies, somePurposes) }

func TestOrdinaryRequestsArePlain(t *testing.T) {
	rd := newReader()
	for client, raw := range ordinary {
		for _, peer := range []netip.Addr{trustedPeer, strangePeer} {
			expect.Equal(t, checkPlain(t, rd, []byte(raw+wiretest.Smuggled), peer), len(raw), client)
		}
	}
}

func TestNothingThatIsRefusedIsPlain(t *testing.T) {
	rd := newReader()
	for _, row := range wiretest.Refused() {
		if n := checkPlain(t, rd, []byte(row.Raw), trustedPeer); n != 0 {
			t.Errorf("%s: %q is plain", row.Name, row.Raw[:n])
		}
	}
}

func TestAcceptedRequestsAreReadAsByFasthttp(t *testing.T) {
	rd := newReader()
	plain := 0
	for _, row := range wiretest.Accepted() {
		if checkPlain(t, rd, []byte(row.Raw), trustedPeer) > 0 {
			plain++
		}
	}
	expect.That(t, plain >= 15, "only %d of the accepted requests are plain", plain)
}

// leftover returns a Plain that has been used before.
func leftover() Plain {
	x := []byte("x")
	return Plain{Raw: x, Segment: x, Query: x, UserAgent: x, Referrer: x, Purposes: x, Country: x, Host: x, Head: true, Closes: true, NowMs: 42}
}

func TestWhatFieldsLackIsNotThatOfTheRequestBefore(t *testing.T) {
	raw := "GET /a HTTP/1.1\r\nHost: b\r\n\r\n"
	got := leftover()
	n, _ := newReader().Read([]byte(raw), strangePeer, &got)
	expect.MustEqual(t, n, len(raw), "not plain")
	comparePlain(t, &got, &Plain{Raw: []byte(raw), Segment: []byte("a"), Host: []byte("b"), Peer: strangePeer, Client: strangePeer})
}

func TestLongNamesAndManyLinesOfTheClient(t *testing.T) {
	const head = "GET /a HTTP/1.1\r\nHost: a\r\n"
	for raw, want := range map[string]string{
		head + "User-Agent: a b\r\nUser-Agent" + strings.Repeat("s", 256) + ": c\r\n\r\n":  `a of "" by "a b"`,
		head + strings.Repeat("X-Forwarded-For: 192.0.2.7\r\n", maxClientLines+1) + "\r\n": "not plain",
	} {
		expect.Equal(t, plainText(t, raw), want, "%.60q", raw)
	}
}

func TestABeginningIsGivenUpAsSoonAsItCannotBePlain(t *testing.T) {
	rd := newReader()
	for raw, want := range map[string]bool{
		"": true, "G": true, "HEAD": true, "GET ": true, "GET /": true, "HEAD /": true, "GET /a": true, "GET /a/": true, "GET /a?b": true,
		"GET /a HTTP/1": true, "GET /a HTTP/1.1\r": true, "GET /a HTTP/1.1\r\n": true, "GET /a HTTP/1.1\r\nHo": true, "GET /a HTTP/1.1\r\nHost:": true,
		"GET /a HTTP/1.1\r\nHost: a\r\n\r": true,
		"GET /" + strings.Repeat("a", 64):  true, "GET /a?" + strings.Repeat("b", 9000): true,
		"\r": false, "\x16\x03\x01": false, "P": false, "GO": false, "HELO": false, "GET *": false, "GET h": false, "GET //": false, "GET /?": false,
		"GET /api/": true, "GET /api/v": false, "GET /_": true, "GET /_/": false, "GET /a.": false, "GET /a#": false, "GET /a?b#": false, "GET /a  ": false,
		"GET /a HTTP/2": false, "GET /a HTTP/1.1\n": false, "GET /a HTTP/1.1\r\r": false, "GET /a HTTP/1.1\r\n ": false, "GET /a HTTP/1.1\r\n:": false,
		"GET /a HTTP/1.1\r\nHost ": false, "GET /a HTTP/1.1\r\nHost: \t": false, "GET /a HTTP/1.1\r\nHost: a/\r\n": false,
		"GET /a HTTP/1.1\r\nContent-Length: 0\r\n":                        false,
		"GET /" + strings.Repeat("a", 65):                                 false,
		"GET /a?" + strings.Repeat("b", maxRequestLineBytes):              false,
		"GET /a HTTP/1.1\r\n" + strings.Repeat("X:\r\n", maxFields) + "Y": false,
		"GET /a HTTP/1.1\r\nX: " + strings.Repeat("b", MaxHeaderBytes):    false,
	} {
		var r Plain
		n, more := rd.Read([]byte(raw), trustedPeer, &r)
		expect.That(t, n == 0 && more == want, "%.60q: got %d, %v, want 0, %v", raw, n, more, want)
	}
}

func TestTheLimitsOfPlainRequestsAreTheGates(t *testing.T) {
	const request, host = "GET /a HTTP/1.1\r\n", "Host: a\r\n"
	line := maxRequestLineBytes - len("GET /a? HTTP/1.1\r\n")
	for name, c := range map[string]struct {
		raw   func(n int) string
		limit int
	}{
		"bytes of the code":         {func(n int) string { return "GET /" + strings.Repeat("a", n) + " HTTP/1.1\r\n" + host + "\r\n" }, 64},
		"bytes of the request line": {func(n int) string { return "GET /a?" + strings.Repeat("b", n) + " HTTP/1.1\r\n" + host + "\r\n" }, line},
		"bytes of the head": {func(n int) string { return request + host + "X:" + strings.Repeat("b", n) + "\r\n\r\n" },
			MaxHeaderBytes - len(request+host+"X:\r\n\r\n")},
		"fields": {func(n int) string { return request + host + strings.Repeat("X: y\r\n", n) + "\r\n" }, maxFields - 1},
		"lines of the client": {func(n int) string { return request + host + strings.Repeat("X-Forwarded-For: ::1\r\n", n) + "\r\n" },
			maxClientLines},
	} {
		for _, n := range []int{c.limit, c.limit + 1} {
			raw := c.raw(n)
			expect.Equal(t, checkPlain(t, newReader(), []byte(raw), trustedPeer) == len(raw), n == c.limit, "%d %s: plain", n, name)
		}
	}
}

func TestSettingsThatNameSpecialFieldsMakeNothingPlain(t *testing.T) {
	raw := []byte(ordinary["curl"])
	for _, name := range []string{"Host", "user-agent", "Referer", "CONNECTION", "Content-Length", "Cookie", "Content-Type", "Trailer", "X-^", "X Y", "X:"} {
		for setting, rd := range map[string]*Reader{
			"the client": NewReader(&Proxies{Trusted: manyProxies.Trusted, Header: name}, somePurposes),
			"a country":  NewReader(&Proxies{Trusted: manyProxies.Trusted, CountryHeader: name}, somePurposes),
			"a host":     NewReader(&Proxies{Trusted: manyProxies.Trusted, HostHeader: name}, somePurposes),
			"a purpose":  NewReader(&manyProxies, append([]string{name}, somePurposes...)),
		} {
			var r Plain
			n, more := rd.Read(raw, trustedPeer, &r)
			expect.That(t, n == 0 && !more, "%s names %s: got %d, %v", name, setting, n, more)
		}
	}
}

func TestTooManyPurposesMakeNothingPlain(t *testing.T) {
	var purposes []string
	for i := range maxNames + 1 {
		purposes = append(purposes, "X-"+strings.Repeat("a", i))
	}
	raw := []byte(ordinary["curl"])
	for n, want := range map[int]int{maxNames: len(raw), maxNames + 1: 0} {
		var r Plain
		got, _ := NewReader(&Proxies{}, purposes[:n]).Read(raw, trustedPeer, &r)
		expect.Equal(t, got, want, "%d names", n)
	}
}

func TestOneFieldMayNameClientCountryHostAndPurpose(t *testing.T) {
	rd := NewReader(&Proxies{Trusted: manyProxies.Trusted, Header: "X-All", CountryHeader: "x-all", HostHeader: "X-all"}, []string{"X-ALL"})
	raw := "GET /a HTTP/1.1\r\nHost: b\r\nX-All: 192.0.2.7\r\n\r\n"
	var r Plain
	n, _ := rd.Read([]byte(raw), trustedPeer, &r)
	expect.MustEqual(t, n, len(raw), "not plain")
	expect.That(t, r.Client == netip.MustParseAddr("192.0.2.7") && string(r.Country) == "192.0.2.7" && string(r.Host) == "192.0.2.7" && bytes.HasPrefix(r.Purposes, []byte("X-All")),
		"client %v, country %q, host %q, purposes %q", r.Client, r.Country, r.Host, r.Purposes)
}

func TestReadingPlainRequestsAllocatesNothing(t *testing.T) {
	rd := newReader()
	for client, raw := range ordinary {
		b := []byte(raw)
		var r Plain
		if n := testing.AllocsPerRun(100, func() { rd.Read(b, trustedPeer, &r) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", client, n)
		}
	}
}
