package cluster

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"testing"

	"shunt/engine/expect"
)

// TestAGateClosesWhatIsRefused over real connections, in both directions.
func TestAGateClosesWhatIsRefused(t *testing.T) {
	a, b, authority := certificates(t)
	server := &tls.Config{Certificates: []tls.Certificate{a}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority, MinVersion: tls.VersionTLS13}
	client := &tls.Config{Certificates: []tls.Certificate{b}, RootCAs: authority, ServerName: "a", MinVersion: tls.VersionTLS13}
	for name, refuse := range map[string]struct{ in, out func(*Gate) }{
		"a name":          {func(g *Gate) { g.Tell([]string{"b"}, nil) }, func(g *Gate) { g.Tell([]string{"a"}, nil) }},
		"a serial number": {func(g *Gate) { g.Tell(nil, []string{Serial(b.Leaf)}) }, func(g *Gate) { g.Tell(nil, []string{Serial(a.Leaf)}) }},
	} {
		in, out := NewGate(), NewGate()
		address := gatedEcho(t, in, server)
		dial := func() (net.Conn, error) { return out.Dialer(client)(t.Context(), "tcp", address) }
		expect.Error(t, expect.Err(dial()), errGateUntold, "%s: a gate that knows nothing", name)
		out.Tell(nil, nil)
		if conn, err := dial(); err == nil && echoes(conn) == nil { // TLS 1.3: the client is done first
			t.Errorf("%s: a listener that knows nothing lets a node in", name)
		}
		in.Tell(nil, nil)
		for _, step := range []func(){func() { refuse.in(in) }, func() { in.Tell(nil, nil); refuse.out(out) }} {
			in.Tell(nil, nil)
			out.Tell(nil, nil)
			conn, err := dial()
			expect.MustThat(t, err == nil && echoes(conn) == nil, "%s: in service: %v", name, err)
			step()
			expect.That(t, echoes(conn) != nil, "%s: an open connection goes on", name)
			conn, err = dial()
			expect.That(t, err != nil || echoes(conn) != nil, "%s: a new connection stands", name)
		}
	}
}

// gatedEcho sends back each line.
func gatedEcho(t *testing.T, g *Gate, config *tls.Config) (address string) {
	t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	ln := g.Listener(raw, config)
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return raw.Addr().String()
}

func echoes(conn net.Conn) error {
	if _, err := conn.Write([]byte("x\n")); err != nil {
		return err
	}
	_, err := bufio.NewReader(conn).ReadString('\n')
	return err
}
