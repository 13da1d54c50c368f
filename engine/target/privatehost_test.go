package target

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"shunt/engine/expect"
)

// notPublic are the first and the last addresses of the blocks that the public internet does not
// route to one host.
var notPublic = [][2]string{
	{"0.0.0.0", "0.255.255.255"}, {"10.0.0.0", "10.255.255.255"}, {"100.64.0.0", "100.127.255.255"}, {"127.0.0.0", "127.255.255.255"},
	{"169.254.0.0", "169.254.255.255"}, {"172.16.0.0", "172.31.255.255"}, {"192.0.0.0", "192.0.0.255"}, {"192.168.0.0", "192.168.255.255"},
	{"198.18.0.0", "198.19.255.255"}, {"224.0.0.0", "239.255.255.255"}, {"240.0.0.0", "255.255.255.255"},
	{"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"}, {"100::", "100::1:ffff:ffff:ffff:ffff"}, {"2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	{"fe80::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
}

// privacy returns whether a host is refused where private targets are, if it is taken elsewhere.
func privacy(t *testing.T, host string) string {
	t.Helper()
	raw := "http://" + host + ":8080/x"
	if _, err := (Policy{}).Parse(raw); err != nil {
		t.Errorf("%s, allowing private: got %v, want it taken", raw, err)
	}
	_, err := Policy{RefusePrivate: true}.Parse(raw)
	if err == nil {
		return "public"
	}
	return fieldCode(err)
}

func wantPrivate(t *testing.T, host, want string) {
	t.Helper()
	expect.Equal(t, privacy(t, host), want, host)
}

// literal returns addr as the host of a target.
func literal(addr netip.Addr) string {
	if addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

func TestSpecialBlocksArePrivateFromFirstToLastAddress(t *testing.T) {
	edges := []netip.Addr{} // of all blocks: a block that adjoins another has no public neighbour there
	for _, ends := range notPublic {
		edges = append(edges, netip.MustParseAddr(ends[0]), netip.MustParseAddr(ends[1]))
	}
	for _, edge := range edges {
		wantPrivate(t, literal(edge), "private")
	}
	for _, ends := range notPublic {
		before, after := netip.MustParseAddr(ends[0]).Prev(), netip.MustParseAddr(ends[1]).Next()
		carries := netip.MustParsePrefix("2001::/32").Contains(before) // Teredo: it carries 0.0.0.0
		if before.IsValid() && !slices.Contains(edges, before) && !carries {
			wantPrivate(t, literal(before), "public")
		}
		if after.IsValid() && !slices.Contains(edges, after) {
			wantPrivate(t, literal(after), "public")
		}
	}
}

// transitions are IPv6 addresses that carry an IPv4 address, given as its four bytes.
var transitions = map[string]func(a, b, c, d byte) string{
	"IPv4-mapped":      func(a, b, c, d byte) string { return fmt.Sprintf("[::ffff:%d.%d.%d.%d]", a, b, c, d) },
	"IPv4-compatible":  func(a, b, c, d byte) string { return fmt.Sprintf("[::%d.%d.%d.%d]", a, b, c, d) },
	"IPv4-translated":  func(a, b, c, d byte) string { return fmt.Sprintf("[::ffff:0:%d.%d.%d.%d]", a, b, c, d) },
	"NAT64":            func(a, b, c, d byte) string { return fmt.Sprintf("[64:FF9B::%d.%d.%d.%d]", a, b, c, d) },
	"6to4":             func(a, b, c, d byte) string { return fmt.Sprintf("[2002:%02x%02x:%02x%02x:7::8]", a, b, c, d) },
	"Teredo, a server": func(a, b, c, d byte) string { return fmt.Sprintf("[2001:0:%02x%02x:%02x%02x::f7f7:f7f7]", a, b, c, d) },
	"Teredo, a client": func(a, b, c, d byte) string {
		return fmt.Sprintf("[2001:0000:808:808:8000:63bf:%02x%02x:%02x%02x]", ^a, ^b, ^c, ^d)
	},
	"ISATAP":                  func(a, b, c, d byte) string { return fmt.Sprintf("[2620:0:1:2::5efe:%d.%d.%d.%d]", a, b, c, d) },
	"ISATAP, globally unique": func(a, b, c, d byte) string { return fmt.Sprintf("[2620:0:1:2:200:5EFE:%d.%d.%d.%d]", a, b, c, d) },
}

func TestAnAddressIsAsPrivateAsTheOneItCarries(t *testing.T) {
	for name, write := range transitions {
		t.Run(name, func(t *testing.T) {
			for _, ends := range notPublic {
				for _, text := range ends {
					if addr := netip.MustParseAddr(text); addr.Is4() {
						v4 := addr.As4()
						wantPrivate(t, write(v4[0], v4[1], v4[2], v4[3]), "private")
					}
				}
			}
			wantPrivate(t, write(8, 8, 8, 8), "public")
			wantPrivate(t, write(203, 0, 113, 1), "public")
		})
	}
}
