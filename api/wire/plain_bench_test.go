package wire

import (
	"net/netip"
	"testing"
)

// BenchmarkPlain measures the reader beside the gate (BenchmarkGate), with requests of ordinary
// clients in one piece. The proxy is trusted.
func BenchmarkPlain(b *testing.B) {
	rd := NewReader(&someProxies, somePurposes)
	peer := netip.MustParseAddr("10.0.0.1")
	for _, client := range []string{"curl", "wrk", "Firefox", "Chrome", "nginx 1.22"} {
		text := []byte(ordinary[client])
		b.Run("reader=plain/client="+client, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			var r Plain
			for b.Loop() {
				if n, _ := rd.Read(text, peer, &r); n != len(text) {
					b.Fatal("not plain")
				}
			}
		})
		b.Run("reader=gate/client="+client, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var g gate
				if n := g.pass(text); n != len(text) {
					b.Fatal("refused")
				}
			}
		})
	}
}
