package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// openLine returns a line for the batches of an import. r is the request without its body.
func (c *Client) openLine(ctx context.Context, r *request) (importLine, error) {
	server, dial := c.pipeline()
	if dial == nil {
		return &turnLine{ctx: ctx, client: c, request: *r}, nil
	}
	p, err := newPipe(ctx, c.timeout, dial, c.origin+apiRoot+r.target)
	if err != nil {
		return nil, err
	}
	p.head = c.headOf(r, server.Host)
	return p, nil
}

// pipeline returns the address of the server and how to reach it without the transport; nil: it can
// be reached only through the transport.
func (c *Client) pipeline() (*url.URL, func(context.Context) (net.Conn, error)) {
	server, err := url.Parse(c.origin)
	round := c.http.Transport
	if round == nil {
		round = http.DefaultTransport
	}
	t, ok := round.(*http.Transport)
	// A transport without DialContext may have one of the older functions in its place.
	if err != nil || !ok || t.DialContext == nil || t.DialTLSContext != nil || !isPlain(server.Host) {
		return nil, nil
	}
	if t.Proxy != nil {
		if proxy, err := t.Proxy(&http.Request{Method: http.MethodPost, URL: server, Host: server.Host}); err != nil || proxy != nil {
			return nil, nil
		}
	}
	return server, func(ctx context.Context) (net.Conn, error) { return dialLine(ctx, t, server) }
}

// isPlain reports whether a host is sent as it is. Of others the transport makes another form.
func isPlain(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool { return r == '%' || r >= 0x80 })
}

// dialLine connects to the server with the settings of t.
func dialLine(ctx context.Context, t *http.Transport, server *url.URL) (net.Conn, error) {
	port := server.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[server.Scheme]
	}
	conn, err := t.DialContext(ctx, "tcp", net.JoinHostPort(server.Hostname(), port))
	if err != nil || server.Scheme != "https" {
		return conn, err
	}
	config := t.TLSClientConfig.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	if config.ServerName == "" {
		config.ServerName = server.Hostname()
	}
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no order of requests
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// A pipe is an importLine that is a connection: requests are sent without waiting for the answers
// to earlier ones, which come in the same order.
type pipe struct {
	*attempt // of all requests; its timer runs while an answer is awaited and nothing moves
	patience time.Duration
	target   string
	conn     net.Conn
	unhook   func() bool // removes the hook that closes conn when ctx ends
	head     []byte      // of each request, up to the value of Content-Length

	// of the goroutine that receives
	in     *bufio.Reader
	room   int // bytes that the present answer may still have
	body   bytes.Buffer
	closed bool // the server closes the connection after the last answer
}

// newPipe connects to the server.
func newPipe(ctx context.Context, patience time.Duration, dial func(context.Context) (net.Conn, error), target string) (*pipe, error) {
	p := &pipe{attempt: begin(ctx, patience), patience: patience, target: target}
	conn, err := dial(p.ctx)
	if err != nil {
		p.end()
		return nil, p.lost("no answer", err)
	}
	p.timer.Stop()
	p.conn = conn
	p.unhook = context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	p.in = bufio.NewReaderSize(pipeReader{p}, pipeBufferBytes)
	return p, nil
}

const (
	pipeBufferBytes = 64 << 10
	pipeWriteBytes  = 256 << 10 // at once; every write shows that the server is not silent
)

// headOf returns the head of request r, up to the value of Content-Length.
func (c *Client) headOf(r *request, host string) []byte {
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s%s HTTP/1.1\r\nHost: %s\r\n", r.method, apiRoot, r.target, host)
	framing := map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true}
	for _, fields := range []http.Header{c.header, r.header} {
		_ = fields.WriteSubset(&head, framing) // to memory
	}
	head.WriteString("Content-Length: ")
	return head.Bytes()
}

// lost returns why the pipe failed.
func (p *pipe) lost(doing string, err error) error {
	if errors.Is(err, errTooLarge) {
		return errAnswerTooLarge
	}
	return p.explain(doing, &url.Error{Op: "Post", URL: p.target, Err: err})
}

func (p *pipe) send(b *ImportBatch) error {
	head := strconv.AppendInt(p.head[:len(p.head):len(p.head)], int64(len(b.body)), 10)
	if err := p.write(append(head, "\r\n\r\n"...)); err != nil {
		return err
	}
	return p.write(b.body)
}

func (p *pipe) write(text []byte) error {
	for len(text) > 0 {
		n, err := p.conn.Write(text[:min(len(text), pipeWriteBytes)])
		if err != nil {
			return p.lost("sending", err)
		}
		p.timer.Reset(p.patience)
		text = text[n:]
	}
	return nil
}

// A pipeReader reads the connection of a pipe.
type pipeReader struct{ *pipe }

// Read implements io.Reader. It fails if the present answer has more than its room.
func (p pipeReader) Read(b []byte) (int, error) {
	if p.room <= 0 {
		return 0, errTooLarge
	}
	n, err := p.conn.Read(b[:min(len(b), p.room)])
	p.room -= n
	p.timer.Reset(p.patience)
	return n, err
}

func (p *pipe) receive(b *ImportBatch) (ImportResult, error) {
	p.timer.Reset(p.patience)
	defer p.timer.Stop()
	p.room = maxAnswerBytes + maxProblemBytes // the second is far more than a head and the framing of chunks
	response, err := p.response()
	if err != nil {
		return ImportResult{}, p.lost("no answer", err)
	}
	defer response.Body.Close()
	p.closed = response.Close
	p.body.Reset()
	if _, err := p.body.ReadFrom(io.LimitReader(response.Body, maxAnswerBytes+1)); err != nil {
		return ImportResult{}, p.lost("reading the answer", err)
	}
	text := p.body.Bytes()
	switch {
	case response.StatusCode/100 != 2 && len(text) > maxProblemBytes:
		return ImportResult{}, readProblem(response.StatusCode, response.Header, nil)
	case response.StatusCode/100 != 2:
		return ImportResult{}, readProblem(response.StatusCode, response.Header, text)
	case len(text) > maxAnswerBytes:
		return ImportResult{}, errAnswerTooLarge
	}
	return readImportAnswer(text, b.Len())
}

// response reads the head of the next answer, after interim ones (RFC 9110, 15.2).
func (p *pipe) response() (*http.Response, error) {
	for {
		response, err := http.ReadResponse(p.in, &http.Request{Method: http.MethodPost})
		if err != nil || response.StatusCode/100 != 1 {
			return response, err
		}
	}
}

func (p *pipe) last() bool { return p.closed }

func (p *pipe) close() {
	p.unhook()
	p.end()
	_ = p.conn.Close()
}

// A turnLine is an importLine over the transport, which has one request under way at a time.
type turnLine struct {
	ctx     context.Context
	client  *Client
	request request
}

func (l *turnLine) send(*ImportBatch) error { return nil } // receive does

func (l *turnLine) receive(b *ImportBatch) (ImportResult, error) {
	l.request.body = b.body
	reply, err := l.client.open(l.ctx, &l.request)
	if err != nil {
		return ImportResult{}, err
	}
	defer reply.Close()
	text, err := reply.readAll(maxAnswerBytes)
	if err != nil {
		return ImportResult{}, err
	}
	return readImportAnswer(text, b.Len())
}

func (l *turnLine) last() bool { return false }

func (l *turnLine) close() {}
