package visitor

import (
	"encoding/binary"
	"net/netip"

	"github.com/dchest/siphash"
)

// Hash returns the visitor: SipHash-2-4 of (address, SipHash-2-4 of the User-Agent) under the key
// k0, k1. It hashes 24 bytes on the stack and does not copy the User-Agent. An IPv4 address is
// hashed in its IPv6-mapped form; of an IPv6 address only the /64 counts, because a household or a
// phone can choose the rest.
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
