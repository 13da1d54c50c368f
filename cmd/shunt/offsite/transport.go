package offsite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	dialTimeout   = 10 * time.Second
	idleTimeout   = 60 * time.Second // of a connection on which nothing moves while something should
	answerTimeout = 60 * time.Second
)

// leaveTimeout bounds what a run does after its end: a server that stops has only a few seconds for all of its parts.
const leaveTimeout = 2 * time.Second

// A lasting transport lets requests begin for a moment after its run has ended, because the client removes then what it
// has begun. It has contexts of its own for that, which would hold up the end of a server.
type lasting struct {
	run  context.Context
	next http.RoundTripper
	end  func() time.Time // of the moment; called after the run's end
}

func newLasting(run context.Context, next http.RoundTripper) *lasting {
	return &lasting{run, next, sync.OnceValue(func() time.Time { return time.Now().Add(leaveTimeout) })}
}

// maxLateAnswer bounds the answer to a request that began after the end of the run, in bytes.
const maxLateAnswer = 64 << 10

// RoundTrip implements http.RoundTripper.
func (l *lasting) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.run.Err() == nil {
		return l.next.RoundTrip(r)
	}
	ctx, cancel := context.WithDeadline(r.Context(), l.end())
	defer cancel()
	answer, err := l.next.RoundTrip(r.WithContext(ctx))
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(answer.Body, maxLateAnswer))
		err = errors.Join(err, answer.Body.Close())
	}
	if err != nil {
		return givenUp(r), nil
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}

// givenUp answers a request that was not answered in time. After an error the client would wait, and
// repeat the request.
func givenUp(r *http.Request) *http.Response {
	return &http.Response{
		Status: http.StatusText(http.StatusForbidden), StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, Request: r,
	}
}

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
