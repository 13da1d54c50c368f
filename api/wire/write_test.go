package wire

import (
	"bytes"
	"net"
	"testing"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// A recorded connection keeps what is written to it.
type recorded struct {
	net.Conn
	sent bytes.Buffer
}

func (r *recorded) Write(b []byte) (int, error) { return r.sent.Write(b) }

func TestAnUnwantedInterimResponseIsDroppedHoweverItIsCut(t *testing.T) {
	for _, before := range []string{"", "HTTP/1.1 200 OK\r\n\r\n", "… HTTP/1.1 10", "H", "HTTP/1.1 100 Continue\r\n\r"} {
		whole := before + interimText
		for cut := range len(whole) + 1 {
			out := new(recorded)
			c := &conn{Served: conns.Served{Conn: out}, interim: interim{unwanted: true}}
			for _, piece := range []string{whole[:cut], whole[cut:], "HTTP/1.1 302 Found\r\n\r\n", interimText} {
				if piece == whole[cut:] && cut == len(whole) {
					continue // there is nothing left
				}
				n, err := c.Write([]byte(piece))
				expect.MustThat(t, n == len(piece) && err == nil, "got %d, %v", n, err)
			}
			expect.Equal(t, out.sent.String(), before+"HTTP/1.1 302 Found\r\n\r\n"+interimText, "%q, cut at %d", before, cut)
		}
	}
}
