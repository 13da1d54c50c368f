package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"shunt/api/client"
)

// callTimeout is how long a server may take for an answer, or be silent while one goes on.
const callTimeout = 30 * time.Second

// callRetry is for somebody who waits. Ten attempts, a second or more apart while a server loads its links, are enough for 20
// million of them: it loads over two million a second. Who is to come back in ten seconds (read_only) is told so.
var callRetry = client.Retry{Attempts: 10, BaseWait: 50 * time.Millisecond, MaxWait: 3 * time.Second, If: worthRepeating}

// worthRepeating: whoever cannot be reached, or says nothing for callTimeout, will not be there in a second.
func worthRepeating(err error) bool {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	late := net.Error(nil)
	return !errors.As(err, &late) || !late.Timeout()
}

// A connection is what a command has to a server, wherever that is.
type connection struct {
	*client.Client
	origin    string
	transport *http.Transport
	local     bool // the server knows that we may open its folder, and asks for no token
	onClose   func() error
}

type dialer func(ctx context.Context) (net.Conn, error)

func newConnection(origin, token string, header http.Header, dial dialer) (*connection, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if dial != nil {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
	c, err := client.New(origin, token, &client.Options{
		Transport: transport, UserAgent: "shunt/" + versionText(), Header: header, Timeout: callTimeout, Retry: callRetry,
	})
	if err != nil {
		return nil, err
	}
	return &connection{Client: c, origin: origin, transport: transport, onClose: func() error { return nil }}, nil
}

// newLocalConnection is newConnection to a local listener, which asks for no token. user is whom to act as; empty: the oldest admin.
func newLocalConnection(user string, dial dialer) (*connection, error) {
	header := make(http.Header)
	if user != "" {
		header.Set("Shunt-User", user)
	}
	c, err := newConnection("http://localhost", "", header, dial)
	if err == nil {
		c.local = true
	}
	return c, err
}

// close ends the connection, and the server behind it if that was started for it.
func (c *connection) close() error {
	c.transport.CloseIdleConnections()
	return c.onClose()
}

// onceOptions are those of a call that makes something. No answer of a local server is lost on the way, so that it is spared the
// keeping of a key.
func (c *connection) onceOptions() []client.Option {
	if c.local {
		return nil
	}
	return []client.Option{client.IdempotencyKey("")}
}
