package rules

import (
	"bytes"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// parseNetwork returns an address and a mask of the bits that count, as the engine keeps them; nil: text is no network.
func parseNetwork(text string) []byte {
	if address, mask, ok := parseWildcards(text); ok {
		return append(address, mask...)
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	address, size := prefix.Addr(), prefix.Bits()
	if address.Is4In6() && size >= 96 {
		address, size = address.Unmap(), size-96
	}
	masked := netip.PrefixFrom(address, size).Masked().Addr().AsSlice()
	return append(masked, maskOf(len(masked), size)...)
}

// parseWildcards reads an IPv4 address of which some numbers are a star. ok is false if text is something else.
func parseWildcards(text string) (address, mask []byte, ok bool) {
	if !strings.Contains(text, "*") {
		return nil, nil, false
	}
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseUint(part, 10, 8)
		switch {
		case part == "*":
			address, mask = append(address, 0), append(mask, 0)
		case err != nil || part != strconv.Itoa(int(n)):
			return nil, nil, false
		default:
			address, mask = append(address, byte(n)), append(mask, 0xff)
		}
	}
	return address, mask, len(address) == 4
}

// maskOf returns a mask of sizeBytes bytes whose first n bits are set.
func maskOf(sizeBytes, n int) []byte {
	mask := make([]byte, sizeBytes)
	for i := range mask {
		mask[i] = byte(0xff << (8 - min(max(n-8*i, 0), 8)))
	}
	return mask
}

// networkText returns a network as the API shows it: an address, a CIDR, or an address with stars.
func networkText(b []byte) string {
	address, mask := b[:len(b)/2], b[len(b)/2:]
	ones := 0
	for _, m := range mask {
		ones += bits.OnesCount8(m)
	}
	addr, _ := netip.AddrFromSlice(address)
	switch {
	case ones == 8*len(mask):
		return addr.String()
	case bytes.Equal(mask, maskOf(len(mask), ones)):
		return netip.PrefixFrom(addr, ones).String()
	}
	parts := make([]string, len(address))
	for i := range parts {
		if parts[i] = "*"; mask[i] != 0 {
			parts[i] = strconv.Itoa(int(address[i]))
		}
	}
	return strings.Join(parts, ".")
}

// networksApart reports whether no address is in both of two networks, as the engine keeps them.
func networksApart(a, b string) bool {
	size := len(a) / 2
	if len(a) != len(b) {
		return true
	}
	for i := range size {
		if (a[i]^b[i])&a[size+i]&b[size+i] != 0 {
			return true
		}
	}
	return false
}

// networkWithin reports whether each address of network a is in b.
func networkWithin(a, b string) bool {
	size := len(a) / 2
	if len(a) != len(b) {
		return false
	}
	for i := range size {
		if mask := b[size+i]; mask&^a[size+i] != 0 || a[i]&mask != b[i] {
			return false
		}
	}
	return true
}
