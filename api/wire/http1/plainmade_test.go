package http1

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/api/wiretest"
	"shunt/engine/expect"
)

// drawPlain draws a plain request.
func drawPlain(t *rapid.T) string {
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"GET /", "HEAD /"}).Draw(t, "method"))
	b.WriteString(rapid.StringMatching(`[0-9A-Za-z-][0-9A-Za-z_-]{0,63}`).Draw(t, "code"))
	b.WriteString(rapid.SampledFrom([]string{"", "/"}).Draw(t, "slash"))
	b.WriteString(rapid.StringMatching(`(\?[!"$-~]{0,40})?`).Draw(t, "query"))
	version := rapid.SampledFrom([]string{"1", "1", "1", "0"}).Draw(t, "version")
	b.WriteString(" HTTP/1." + version + "\r\n")
	lines := []string{"Host:" + drawOf(t, "host", " a", "sho.rt", "  [::1]:80 ", " a_b.example:", " 127.0.0.1:8080")}
	for _, optional := range []struct {
		name string
		line func() string
	}{
		{"user agent", func() string { return "User-Agent:" + drawValue(t) }},
		{"referrer", func() string { return "referer:" + drawValue(t) }},
		{"connection", func() string {
			if version == "0" {
				return "Connection: close"
			}
			return "connection:" + drawOf(t, "option", " close", "  close ", " keep-alive", "Keep-Alive")
		}},
		{"country", func() string { return "CF-IPCountry:" + drawValue(t) }},
		{"named host", func() string {
			return drawOf(t, "header", "X-Forwarded-Host:", "x-forwarded-host:") + drawOf(t, "named", "", " b.example", "b:80 ", " a, B.example.", "a ,", " a b", "http://a", "[::1]", ",")
		}},
		{"purpose", func() string { return drawOf(t, "purpose", "Sec-Purpose", "purpose", "X-MOZ") + ":" + drawValue(t) }},
		{"client", func() string { return "X-Forwarded-For:" + drawHops(t) }},
		{"second client", func() string { return "x-forwarded-for:" + drawHops(t) }},
	} {
		if rapid.Bool().Draw(t, optional.name) {
			lines = append(lines, optional.line())
		}
	}
	for range rapid.IntRange(0, 12).Draw(t, "others") {
		lines = append(lines, drawName(t)+":"+drawValue(t))
	}
	for _, line := range rapid.Permutation(lines).Draw(t, "lines") {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n"
}

func drawOf(t *rapid.T, label string, values ...string) string {
	return rapid.SampledFrom(values).Draw(t, label)
}

// drawValue draws a value of printable ASCII, with the spaces around it.
func drawValue(t *rapid.T) string { return rapid.StringMatching(`[ -~]{0,70}`).Draw(t, "value") }

// drawName draws the name of a field without rules.
func drawName(t *rapid.T) string {
	return drawOf(t, "name", "Accept", "accept-language", "Accept-Encoding", "Cookie", "X", "A", "H", "Hosts", "Hos", "c", "U", "Refererr", "TE",
		"Upgrade-Insecure-Requests", "sec-ch-ua-platform", "Content-Type", "Contents-Length", "X-B3-TraceId", "X_Y.z~", "!#$%&'*+-.^_`|~0",
		"Connection-", "-connection", "X-Forwarded-Foo", "User-Agents", "transfer-encodinh", strings.Repeat("long-", 60))
}

func drawHops(t *rapid.T) string {
	return drawOf(t, "hops", "", " 192.0.2.7", " 203.0.113.9, 192.0.2.7 ", "10.0.0.9", " unknown", " [2001:db8::1]:80,, 10.0.0.2", ", ,")
}

func TestEveryRequestOfAnOrdinaryFormIsPlain(t *testing.T) {
	rd := newReader()
	rapid.Check(t, func(t *rapid.T) {
		raw := drawPlain(t)
		expect.MustEqual(t, checkPlain(t, rd, []byte(raw+wiretest.Smuggled), trustedPeer), len(raw), "%q", raw)
		checkPlain(t, rd, []byte(raw), strangePeer)
	})
}

// oddities are parts that change what a request is, or how it may be read.
var oddities = []string{
	"\r\n", "\n", "\r", "\r\n\r\n", " ", "\t", ":", "\x00", "\x7f", "\xff", "\x0b", "/", "?", "#", "%", "GET /a HTTP/1.1\r\n", " HTTP/1.0", "\r\n ", "\r\n\t", "\r\n:",
	"\r\nHost: b", "\r\nConnection: close", "\r\nConnection: keep-alive, close", "\r\nContent-Length: 5", "\r\nTransfer-Encoding: chunked", "\r\nExpect: 100-continue",
	"\r\nUpgrade: h2c", "\r\nTrailer: X", "\r\nUser-Agent: c", "\r\nReferer: d", "\r\nX-Forwarded-For: 192.0.2.8", "\r\nCF-IPCountry: FR", "\r\nX : y", "\r\nX\t: y",
	"\r\nSec-Purpose: prefetch", "Host", "close", "chunked", "[::1]",
}

func TestARequestWithOdditiesIsReadAsByGateAndFasthttp(t *testing.T) {
	rd := newReader()
	rapid.Check(t, func(t *rapid.T) {
		raw := drawPlain(t)
		for range rapid.IntRange(1, 3).Draw(t, "oddities") {
			from := rapid.IntRange(0, len(raw)).Draw(t, "from")
			to := min(len(raw), from+rapid.IntRange(0, 3).Draw(t, "cut"))
			raw = raw[:from] + rapid.SampledFrom(oddities).Draw(t, "oddity") + raw[to:]
		}
		checkPlain(t, rd, []byte(raw), trustedPeer)
	})
}

func TestPipelinedPlainRequestsAreReadOneByOne(t *testing.T) {
	rd := newReader()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawPlain), 1, 5).Draw(t, "requests")
		rest := []byte(strings.Join(all, ""))
		for i, raw := range all {
			var r Plain
			n, more := rd.Read(rest, trustedPeer, &r)
			expect.MustThat(t, n == len(raw) && !more && string(r.Raw) == raw, "request %d, %q: got %d, %v", i, raw, n, more)
			rest = rest[n:]
		}
	})
}
