package api

import (
	"net/netip"
	"strings"
	"testing"
)

func TestTheQueryIsPutBeforeTheFragment(t *testing.T) {
	for name, c := range map[string]struct{ target, query, want string }{
		"no query sent":             {"http://a/b?c#d", "", "http://a/b?c#d"},
		"target without query":      {"http://a/b", "x=1", "http://a/b?x=1"},
		"target with query":         {"http://a/b?c", "x=1", "http://a/b?c&x=1"},
		"target with fragment":      {"http://a/b#d", "x=1", "http://a/b?x=1#d"},
		"target with both":          {"http://a/b?c#d", "x=1", "http://a/b?c&x=1#d"},
		"target without path":       {"http://a", "x=1", "http://a?x=1"},
		"target ends in ?":          {"http://a/?", "x", "http://a/?x"},
		"target ends in &":          {"http://a/?c&", "x", "http://a/?c&x"},
		"question mark in fragment": {"http://a/#d?e", "x", "http://a/?x#d?e"},
		"query is not decoded":      {"http://a/", "%41+%zz", "http://a/?%41+%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := appendLocation(nil, []byte(c.target), []byte(c.query)); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPermanentRedirectIsKeptBrieflyAndNeverPastItsExpiry(t *testing.T) {
	const now = 1_800_000_000_000
	for name, c := range map[string]struct {
		expiresAt int64
		want      string
	}{
		"never expires":       {0, "private, max-age=90"},
		"expires late":        {now + 90_000, "private, max-age=90"},
		"expires soon":        {now + 89_999, "private, max-age=89"},
		"expires immediately": {now + 1, "private, max-age=0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := appendMaxAge([]byte("http://a"), c.expiresAt, now); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAVisitorIsAnAddressAndAUserAgent(t *testing.T) {
	hash := func(address string, agent uint64) uint64 {
		return visitorHash(7, 8, netip.MustParseAddr(address), agent)
	}
	base := hash("192.0.2.1", 1)
	for name, c := range map[string]struct {
		got  uint64
		same bool
	}{
		"the same again":           {hash("192.0.2.1", 1), true},
		"IPv4-mapped":              {hash("::ffff:192.0.2.1", 1), true},
		"the address beside":       {hash("192.0.2.2", 1), false},
		"another User-Agent":       {hash("192.0.2.1", 2), false},
		"another key":              {visitorHash(7, 9, netip.MustParseAddr("192.0.2.1"), 1), false},
		"no address at all":        {visitorHash(7, 8, netip.Addr{}, 1), false},
		"IPv6 with the same bytes": {hash("::c000:201", 1), false},
	} {
		if (c.got == base) != c.same {
			t.Errorf("%s: got the same visitor == %v, want %v", name, c.got == base, c.same)
		}
	}
	if hash("2001:db8:1:2::1", 1) != hash("2001:db8:1:2:ffff::9", 1) {
		t.Error("two addresses of one /64 are two visitors")
	}
	if hash("2001:db8:1:2::1", 1) == hash("2001:db8:1:3::1", 1) {
		t.Error("two /64s are one visitor")
	}
}

func TestPrefetchHeadersAreKnownInEverySpelling(t *testing.T) {
	for line, want := range map[string]bool{
		"Sec-Purpose: prefetch":           true,
		"Sec-Purpose: prefetch;prerender": true,
		"Sec-Purpose: PreFetch":           true,
		"Purpose: prefetch":               true,
		"X-Purpose: preview":              true,
		"X-Moz: prefetch":                 true,
		"Purpose: : preview":              true,
		"Sec-Purpose: navigate":           false,
		"X-Moz: prefetc":                  false,
		"Sec-Fetch-Dest: prefetch":        false,
		"Purpose:":                        false,
	} {
		name, value, _ := strings.Cut(line, ":")
		ctx := requestFrom(tcpAddr("192.0.2.1"), name, strings.TrimSpace(value))
		if got := isPrefetch(ctx.Request.Header.RawHeaders()); got != want {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}

func TestEveryLineOfAPrefetchHeaderCounts(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want bool
	}{
		"in the second line":         {"Purpose: foo\r\nPurpose: prefetch\r\n", true},
		"in the first line":          {"Purpose: prefetch\r\nPurpose: foo\r\n", true},
		"after another header":       {"Sec-Purpose: navigate\r\nAccept: */*\r\nx-moz:PREVIEW\r\n", true},
		"without the last line end":  {"Purpose: prefetch", true},
		"in the line behind":         {"Purpose: foo\r\nAccept: prefetch\r\n", false},
		"in the name":                {"Prefetch: Purpose: prefetch\r\n", false},
		"a longer name":              {"X-Purposes: prefetch\r\n", false},
		"a line that is only a name": {"Purpose:\r\nX-Moz:", false},
		"empty lines":                {"\r\n\n\r\n", false},
		"nothing":                    {"", false},
	} {
		if got := isPrefetch([]byte(c.raw)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	ctx := requestFrom(tcpAddr("192.0.2.1"), "Purpose", "foo", "Cookie", "a=b; c=d", "Purpose", "prefetch")
	var got bool
	allocations := testing.AllocsPerRun(100, func() { got = isPrefetch(ctx.Request.Header.RawHeaders()) })
	if !got || allocations != 0 {
		t.Errorf("two lines and cookies: got %v and %v allocations, want true and 0", got, allocations)
	}
}
