package offsite

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	dialTimeout   = 10 * time.Second
	idleTimeout   = 60 * time.Second // of a connection on which nothing moves while something should
	answerTimeout = 60 * time.Second
)

// newTransport returns a transport none of whose requests waits for ever: a connection on which no byte moves is ended,
// however long a request as a whole takes.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &movingConn{conn}, nil
		},
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerTimeout, ExpectContinueTimeout: time.Second,
		IdleConnTimeout: idleTimeout / 2, MaxIdleConnsPerHost: 2 * workers, DisableCompression: true,
	}
}

// A movingConn ends when nothing moves on it.
type movingConn struct{ net.Conn }

func (c *movingConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *movingConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err == nil { // the answer may take as long after the last byte
		err = c.SetReadDeadline(time.Now().Add(idleTimeout))
	}
	return n, err
}

// plainCause returns what is inside the error of a request, without its address: that has the name of the object.
func plainCause(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}
