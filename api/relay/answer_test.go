package relay

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
)

// TestNoStreamWaitsForAnyServerForEver: one that never led is cut off in the middle of its answer.
func TestNoStreamWaitsForAnyServerForEver(t *testing.T) {
	for name, c := range map[string]struct {
		events bool
		after  time.Duration
		err    error
	}{
		"an export": {false, exportSilence, ErrSilent},
		"events":    {true, eventSilence, io.EOF},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			body, node := io.Pipe()
			renewed, sent := 0, 0
			p := &passed{
				Stream: Stream{
					Renew: func(net.Conn) { renewed++ }, Sent: func(_ net.Conn, n int) { sent += n }, AwaitEnd: func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) },
					Stop: func() { body.Close(); server.Close() }, Overtaken: func() bool { return false },
				},
				body: body, conn: server, events: c.events, chunks: make(chan []byte), closed: make(chan struct{}),
			}
			go func() {
				_, _ = io.WriteString(node, "one")
				time.Sleep(c.after - 2*streamRenew)
				_, _ = io.WriteString(node, "two") // and then nothing
			}()
			b := make([]byte, 10)
			for range 2 {
				n, err := p.Read(b)
				expect.That(t, n == 3 && err == nil, "%s: got %d bytes, %v", name, n, err)
			}
			expect.Equal(t, sent, 6, "%s: bytes that give the client more time", name)
			since := time.Now()
			if n, err := p.Read(b); n != 0 || err != c.err || time.Since(since) != c.after {
				t.Errorf("%s: got %d bytes, %v after %v, want %v after %v", name, n, err, time.Since(since), c.err, c.after)
			}
			want := int((2*c.after - 2*streamRenew) / streamRenew)
			expect.That(t, renewed >= want-1, "%s: the client's patience was renewed %d times, want %d", name, renewed, want)
			expect.NoError(t, p.Close())
			client.Close()
		})
	}
}
