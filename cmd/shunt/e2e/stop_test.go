package e2e

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// TestAStopWaitsForNoHalfRequest stops a server on whose connections half a head, half a body, requests whose answers
// nobody reads, and nothing at all have come. It ends by itself, so within the 8 s after which it would exit with 1.
func TestAStopWaitsForNoHalfRequest(t *testing.T) {
	t.Parallel()
	for _, front := range []string{"auto", "fasthttp"} {
		t.Run(front, func(t *testing.T) {
			t.Parallel()
			p := startServer(t, t.TempDir(), "--front", front)
			token := p.token()
			for name, text := range map[string]string{
				"half a head":          "GET /missing HTTP/1.1\r\nHost: a\r\nUser-",
				"half a body":          fmt.Sprintf("POST /api/v1/shorten HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"+`{"url":"htt`, token),
				"requests without end": strings.Repeat("GET /missing HTTP/1.1\r\nHost: a\r\n\r\n", 10) + "GET /mis",
				"nothing":              "",
			} {
				c, err := net.Dial("tcp", strings.TrimPrefix(p.public, "http://"))
				expect.OK(t, err, name)
				t.Cleanup(func() { _ = c.Close() })
				expect.OK(t, expect.Err(io.WriteString(c, text)), name)
			}
			ask(t, p.public+"/missing", "") // by now the server has read what came before
			p.terminate()
		})
	}
}
