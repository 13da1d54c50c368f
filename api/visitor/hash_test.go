package visitor

import (
	"net/netip"
	"testing"

	"shunt/engine/expect"
)

func TestAVisitorIsAnAddressAndAUserAgent(t *testing.T) {
	hash := func(address string, agent uint64) uint64 {
		return Hash(7, 8, netip.MustParseAddr(address), agent)
	}
	base := hash("192.0.2.1", 1)
	for name, c := range map[string]struct {
		got  uint64
		same bool
	}{
		"the same again":           {hash("192.0.2.1", 1), true},
		"IPv4-mapped":              {hash("::ffff:192.0.2.1", 1), true},
		"the next address":         {hash("192.0.2.2", 1), false},
		"another User-Agent":       {hash("192.0.2.1", 2), false},
		"another key":              {Hash(7, 9, netip.MustParseAddr("192.0.2.1"), 1), false},
		"no address at all":        {Hash(7, 8, netip.Addr{}, 1), false},
		"IPv6 with the same bytes": {hash("::c000:201", 1), false},
	} {
		expect.Equal(t, c.got == base, c.same, name)
	}
	expect.Equal(t, hash("2001:db8:1:2::1", 1), hash("2001:db8:1:2:ffff::9", 1), "two addresses of one /64 are two visitors")
	expect.That(t, hash("2001:db8:1:2::1", 1) != hash("2001:db8:1:3::1", 1), "two /64s are one visitor")
}
