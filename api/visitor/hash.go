package visitor

import (
	"encoding/binary"
	"net/netip"

	"github.com/dchest/siphash"
)

// Hash is SipHash-2-4 of (address, SipHash-2-4 of the User-Agent): 24 bytes on the stack, and no copy of the
// User-Agent. An IPv4 address stands in its IPv6-mapped form; of an IPv6 address only the /64 counts, because a
// household or a phone has the rest to choose from.
func Hash(k0, k1 uint64, client netip.Addr, agent uint64) uint64 {
	var b [24]byte
	address := client.As16()
	if client.Is6() && !client.Is4In6() {
		copy(b[:8], address[:8])
	} else {
		copy(b[:16], address[:])
	}
	binary.LittleEndian.PutUint64(b[16:], agent)
	return siphash.Hash(k0, k1, b[:])
}
