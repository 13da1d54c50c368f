package reach

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"shunt/api/client"
	"shunt/cmd/shunt/socket"
	"shunt/cmd/shunt/version"
)

// callTimeout is how long a server may take for an answer, or be silent while one goes on.
const callTimeout = 30 * time.Second

// callRetry is for a person who waits. While a server loads its links, ten attempts a second or
// more apart are enough for 20 million links: it loads over two million a second. If the server
// asks for a wait of ten seconds (read_only), the command reports that.
var callRetry = client.Retry{Attempts: 10, BaseWait: 50 * time.Millisecond, MaxWait: 3 * time.Second}

// worthRepeating reports whether another attempt may help. A server that is silent for callTimeout
// will not answer a second later, nor will one that cannot be reached, unless it was reached before
// and is perhaps being restarted. A stranger at the socket stays one.
func worthRepeating(err error, reached bool) bool {
	if errors.Is(err, socket.ErrStranger) {
		return false
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return reached
	}
	late := net.Error(nil)
	return !errors.As(err, &late) || !late.Timeout()
}

// A Connection connects a command to a server, local or remote.
type Connection struct {
	*client.Client
	Origin    string
	transport *http.Transport
	Local     bool // the server knows that we may open its folder, and needs no token
	onClose   func() error
}

// bufferBytes is read and written at once: an import sends and gets hundreds of kilobytes.
const bufferBytes = 64 << 10

type dialer func(ctx context.Context) (net.Conn, error)

func newConnection(origin, token string, header http.Header, dial dialer) (*Connection, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if dial != nil {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
	transport.ReadBufferSize, transport.WriteBufferSize = bufferBytes, bufferBytes
	reached, connect := new(atomic.Bool), transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := connect(ctx, network, address)
		if err == nil {
			reached.Store(true)
		}
		return conn, err
	}
	repeats := callRetry
	repeats.If = func(err error) bool { return worthRepeating(err, reached.Load()) }
	c, err := client.New(origin, token, &client.Options{
		Transport: transport, UserAgent: "shunt/" + version.Text(), Header: header, Timeout: callTimeout, Retry: repeats,
	})
	if err != nil {
		return nil, err
	}
	return &Connection{Client: c, Origin: origin, transport: transport, onClose: func() error { return nil }}, nil
}

// newLocalConnection is newConnection to a local listener, which asks for no token. user is whom to
// act as; empty: the oldest admin.
func newLocalConnection(user string, dial dialer) (*Connection, error) {
	header := make(http.Header)
	if user != "" {
		header.Set("Shunt-User", user)
	}
	c, err := newConnection("http://localhost", "", header, dial)
	if err == nil {
		c.Local = true
	}
	return c, err
}

// close ends the connection, and the server if it was started for this connection.
func (c *Connection) close() error {
	c.transport.CloseIdleConnections()
	return c.onClose()
}

// OnceOptions are the options of a call that creates something. No answer of a local server is lost
// on the way, so it need not store an idempotency key.
func (c *Connection) OnceOptions() []client.Option {
	if c.Local {
		return nil
	}
	return []client.Option{client.IdempotencyKey("")}
}
