package target

import (
	"net/netip"
	"slices"
	"strings"
)

// A block is a row of the table of special-purpose addresses.
type block struct {
	prefix netip.Prefix
	public bool // an exception to a larger block below it in the table
}

func special(prefix string) block { return block{prefix: netip.MustParsePrefix(prefix)} }

// specialBlocks are the addresses that do not lead to one host of the public internet: those that
// the IANA special-purpose address registries (RFC 6890; iana-ipv4-special-registry and
// iana-ipv6-special-registry) list as not globally reachable, and multicast (RFC 5771, RFC 4291).
// The first block that contains an address decides.
//
// The documentation networks (192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24, 2001:db8::/32,
// 3fff::/20) are left out: nobody routes them, so they lead nowhere, and people write examples with
// them.
var specialBlocks = []block{
	special("0.0.0.0/8"),      // this network, and unspecified
	special("10.0.0.0/8"),     // private (RFC 1918)
	special("100.64.0.0/10"),  // shared, inside a carrier's NAT
	special("127.0.0.0/8"),    // loopback
	special("169.254.0.0/16"), // link-local, and the metadata services of clouds
	special("172.16.0.0/12"),  // private
	special("192.0.0.0/24"),   // protocol assignments; its two anycast addresses (PCP, TURN) serve no pages
	special("192.168.0.0/16"), // private
	special("198.18.0.0/15"),  // benchmarking of network devices
	special("224.0.0.0/4"),    // multicast
	special("240.0.0.0/4"),    // reserved, and 255.255.255.255, the broadcast of this network
	special("::/128"),         // unspecified
	special("::1/128"),        // loopback
	special("64:ff9b:1::/48"), // NAT64 for local use: only its network knows where an IPv4 address is in it
	special("100::/64"),       // discard
	special("100:0:0:1::/64"), // dummy
	{teredo, true},            // the addresses that it carries decide
	special("2001::/23"),      // protocol assignments: benchmarking, ORCHID and the like
	special("5f00::/16"),      // segment identifiers
	special("fc00::/7"),       // unique local
	special("fe80::/10"),      // link-local
	special("fec0::/10"),      // site-local of old (RFC 3879)
	special("ff00::/8"),       // multicast
}

var teredo = netip.MustParsePrefix("2001::/32")

// An embedding is an IPv6 prefix whose addresses carry an IPv4 address.
type embedding struct {
	prefix   netip.Prefix
	at       int  // the first byte of the IPv4 address
	inverted bool // each bit of the IPv4 address is inverted
}

// embeddings are the transition mechanisms. Such an address is private if an IPv4 address that it
// carries is: one that carries only public addresses leads to the public internet, if anywhere, and
// is allowed. A NAT64 prefix that a network has chosen for itself (RFC 6052, 2.2) cannot be
// distinguished from other addresses.
var embeddings = []embedding{
	{netip.MustParsePrefix("::/96"), 12, false},           // IPv4-compatible (RFC 4291, 2.5.5.1)
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false}, // IPv4-translated (RFC 7915)
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},    // NAT64 (RFC 6052)
	{netip.MustParsePrefix("2002::/16"), 2, false},        // 6to4 (RFC 3056)
	{teredo, 4, false}, // Teredo's server (RFC 4380, 4)
	{teredo, 12, true}, // and its client
}

// in returns the IPv4 address that addr carries; ok is false if addr does not have e's prefix.
func (e embedding) in(addr netip.Addr) (inner netip.Addr, ok bool) {
	if !e.prefix.Contains(addr) {
		return netip.Addr{}, false
	}
	bytes := addr.As16()
	v4 := [4]byte(bytes[e.at:])
	if e.inverted {
		for i := range v4 {
			v4[i] ^= 0xff
		}
	}
	return netip.AddrFrom4(v4), true
}

// inISATAP returns the IPv4 address of an ISATAP interface identifier, which may follow any /64
// prefix (RFC 5214, 6.1). It begins with 00-00-5E-FE, or with 02-00-5E-FE if its sender claims that
// the IPv4 address is globally unique.
func inISATAP(addr netip.Addr) (inner netip.Addr, ok bool) {
	bytes := addr.As16()
	if !addr.Is6() || bytes[8]&^2 != 0 || bytes[9] != 0 || bytes[10] != 0x5e || bytes[11] != 0xfe {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(bytes[12:])), true
}

// carried returns addr and the IPv4 addresses that it carries.
func carried(addr netip.Addr) []netip.Addr {
	all := []netip.Addr{addr}
	for _, e := range embeddings {
		if inner, ok := e.in(addr); ok {
			all = append(all, inner)
		}
	}
	if inner, ok := inISATAP(addr); ok {
		all = append(all, inner)
	}
	return all
}

// specialAddr reports whether addr itself is in a special-purpose block. It ignores the addresses
// that addr carries.
func specialAddr(addr netip.Addr) bool {
	for _, b := range specialBlocks {
		if b.prefix.Contains(addr) {
			return !b.public
		}
	}
	return false
}

// machineNames are the names of this machine in addition to localhost: those in the /etc/hosts that
// Debian, Fedora and SUSE install, and those that systemd-resolved answers by itself. Names are
// never looked up, so a name that an operator has given to the machine is not known here.
var machineNames = []string{
	"localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6",
	"ip6-localhost", "ip6-loopback", "ipv6-localhost", "ipv6-loopback", "_outbound", "_localdnsstub", "_localdnsproxy",
}

// localNames are the other names in those files: of the gateway, of IPv6's multicast groups and
// prefixes, and of the broadcast address (macOS).
var localNames = []string{
	"_gateway", "broadcasthost", "ip6-allhosts", "ip6-allnodes", "ip6-allrouters", "ip6-localnet", "ip6-mcastprefix",
	"ipv6-allhosts", "ipv6-allnodes", "ipv6-allrouters", "ipv6-localnet", "ipv6-mcastprefix",
}

// machineName reports whether name is a name of this machine: localhost or a name below it (RFC
// 6761, 6.3), a name below localhost.localdomain (as in systemd-resolved), or one of machineNames.
func machineName(name string) bool {
	return lastLabel(name) == "localhost" || strings.HasSuffix(name, ".localhost.localdomain") ||
		slices.Contains(machineNames, name)
}

// PublicAddr reports whether addr is an address that the public internet routes to one host, as far as addr says it.
func PublicAddr(addr netip.Addr) bool {
	return addr.IsValid() && addr.Zone() == "" && !slices.ContainsFunc(carried(addr.Unmap()), specialAddr)
}

// private reports whether h is an address that the public internet does not route to one host
// (private, loopback, link-local, multicast, reserved and so on), in every spelling and however an
// IPv6 address carries it, or a name that every machine gives to itself or to its network.
func (h host) private() bool {
	if h.addr.IsValid() {
		return slices.ContainsFunc(carried(h.addr), specialAddr)
	}
	name := h.name()
	return machineName(name) || slices.Contains(localNames, name)
}
