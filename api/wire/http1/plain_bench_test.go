package http1

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// BenchmarkPlain measures the reader beside the gate, with requests of ordinary clients in one
// piece. The proxy is trusted. mixed are different clients in turns, with headers of different
// lengths, so that the processor cannot learn where lines end; its ns/op are those of one request.
func BenchmarkPlain(b *testing.B) {
	rd := newReader()
	for _, client := range []string{"curl", "wrk", "Firefox", "Chrome", "nginx 1.22"} {
		benchmarkReaders(b, rd, client, [][]byte{[]byte(ordinary[client])})
	}
	benchmarkReaders(b, rd, "mixed", mixed(512))
}

func benchmarkReaders(b *testing.B, rd *Reader, client string, requests [][]byte) {
	b.Run("reader=plain/client="+client, func(b *testing.B) {
		b.ReportAllocs()
		var r Plain
		for i := 0; b.Loop(); i = (i + 1) % len(requests) {
			n, _ := rd.Read(requests[i], trustedPeer, &r)
			expect.MustEqual(b, n, len(requests[i]), "not plain")
		}
	})
	b.Run("reader=plain, next/client="+client, func(b *testing.B) {
		b.ReportAllocs()
		var r Plain
		rd.Read(requests[0], trustedPeer, &r)
		for i := 0; b.Loop(); i = (i + 1) % len(requests) {
			n, _ := rd.ReadNext(requests[i], trustedPeer, &r)
			expect.MustEqual(b, n, len(requests[i]), "not plain")
		}
	})
	b.Run("reader=gate/client="+client, func(b *testing.B) {
		b.ReportAllocs()
		var g Gate
		for i := 0; b.Loop(); i = (i + 1) % len(requests) {
			g.part = partHead // after Connection: close, too
			expect.MustEqual(b, g.Pass(requests[i]), len(requests[i]), "refused")
		}
	})
}

// mixed returns n requests of the ordinary clients, each with another code, User-Agent and cookie.
func mixed(n int) (requests [][]byte) {
	source := rand.New(rand.NewPCG(1, 2))
	clients := slices.Sorted(maps.Keys(ordinary))
	for range n {
		raw := ordinary[clients[source.IntN(len(clients))]]
		raw = strings.Replace(raw, "/aB3dE6gH", "/"+strings.Repeat("a", 4+source.IntN(9)), 1)
		raw = strings.Replace(raw, "Mozilla/5.0", "Mozilla/5.0"+strings.Repeat("x", source.IntN(60)), 1)
		if source.IntN(3) == 0 {
			raw = strings.Replace(raw, "\r\n\r\n", "\r\nCookie: "+strings.Repeat("y", source.IntN(200))+"\r\n\r\n", 1)
		}
		requests = append(requests, []byte(raw))
	}
	return requests
}
