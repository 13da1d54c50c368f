package http1

import (
	"strings"
	"testing"
)

// BenchmarkGate measures the gate with a request in one piece: that of the load benchmark, that
// of a browser, that of a browser through a proxy.
func BenchmarkGate(b *testing.B) {
	small := "GET /aB3dE6gH HTTP/1.1\r\nHost: x\r\nUser-Agent: bench/17\r\n\r\n"
	browser := "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nReferer: https://www.example.com/a/b\r\nUpgrade-Insecure-Requests: 1\r\n" +
		"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-User: ?1\r\nPriority: u=1\r\n\r\n"
	proxied := strings.Replace(browser, "\r\n\r\n", "\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\r\n", 1)
	for name, raw := range map[string]string{"small": small, "browser": browser, "proxied": proxied} {
		b.Run("request="+name, func(b *testing.B) {
			b.ReportAllocs()
			var g Gate
			text := []byte(raw)
			for range b.N {
				if n := g.Pass(text); n != len(text) {
					b.Fatalf("%d of %d bytes let through: %v", n, len(text), g.Refused)
				}
			}
		})
	}
}
