package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"
)

// A Stream describes how to pass on an answer that may be endless, or larger than memory: live figures and
// exports.
type Stream struct {
	Ending <-chan struct{} // closed when the server shuts down: then the stream ends
	Renew  func(net.Conn)  // records that the client has read everything so far
}

const (
	streamBuffer = 32 << 10
	streamRenew  = time.Second

	// streamSilence is how long a node may be silent in the middle of an answer while another one leads: it
	// may be cut off, and nothing else would end the connection.
	streamSilence = 2 * streamRenew

	// eventSilence is how long any node may be silent between events; it sends comments every 15 s.
	eventSilence = 40 * time.Second

	// exportSilence is how long any node may be silent in the middle of an export: a disk that stalls may need it.
	exportSilence = answerTimeout
)

var eventStream = []byte("text/event-stream")

// ForwardStream is Forward for a read at an edge whose answer is passed on as it comes.
func (f *Forwarder) ForwardStream(ctx *fasthttp.RequestCtx, s Stream) error {
	sent := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(sent)
	f.prepare(sent, ctx, false)
	for deadline := time.Now().Add(forwardPatience); ; time.Sleep(forwardPause) {
		for _, p := range f.places() {
			leader, _ := f.state.Leader()
			led := leader == p.Name
			resp, stop, err := f.open(p, sent)
			if err != nil {
				continue
			}
			if resp.Header.Get(refusedField) != "" {
				stop()
				continue
			}
			answerStream(ctx, resp, &passed{
				Stream: s, body: resp.Body, stop: stop, overtaken: func() bool { return led && f.overtaken(p) },
			})
			return nil
		}
		if time.Now().After(deadline) {
			return f.unreached()
		}
	}
}

// open sends a read to a node, and gives it up if another one leads before an answer begins. stop ends it, and
// closes its connection unless the answer was read whole.
func (f *Forwarder) open(p Place, sent *fasthttp.Request) (resp *http.Response, stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, string(sent.Header.Method()), "https://"+p.Address, http.NoBody)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	req.URL = &url.URL{Scheme: "https", Host: p.Address, Opaque: "//" + p.Address + string(sent.Header.RequestURI())}
	for key, value := range sent.Header.All() {
		if name := http.CanonicalHeaderKey(string(key)); name != fasthttp.HeaderHost && name != fasthttp.HeaderContentLength {
			req.Header.Add(name, string(value))
		}
	}
	req.Host = string(sent.Header.Host())
	transport := &http.Transport{
		DialTLSContext: f.state.Gate().Dialer(FromFull(f.tls, p.Name)), DisableCompression: true, ResponseHeaderTimeout: answerTimeout,
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
	}
	unwatch := f.watch(p, cancel)
	resp, err = transport.RoundTrip(req)
	unwatch()
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return resp, func() { cancel(); _ = resp.Body.Close(); transport.CloseIdleConnections() }, nil
}

// answerStream makes resp, whose body is p, the answer of ctx.
func answerStream(ctx *fasthttp.RequestCtx, resp *http.Response, p *passed) {
	h := &ctx.Response.Header
	closes := ctx.Response.ConnectionClose()
	for name, values := range resp.Header {
		switch name {
		case fasthttp.HeaderConnection, fasthttp.HeaderContentLength, fasthttp.HeaderTransferEncoding, fasthttp.HeaderDate, sequenceField:
			continue
		}
		h.Del(name)
		for _, value := range values {
			h.Add(name, value)
		}
	}
	ctx.SetStatusCode(resp.StatusCode)
	if ctx.IsHead() {
		p.stop()
		return
	}
	p.conn, p.chunks, p.closed = ctx.Conn(), make(chan []byte), make(chan struct{})
	if bytes.HasPrefix(h.ContentType(), eventStream) {
		closes, p.events = true, true // see api/links.Live
	}
	if closes {
		ctx.SetConnectionClose()
	}
	length := int(resp.ContentLength)
	if int64(length) != resp.ContentLength { // more than a 32-bit machine counts: in chunks
		length = -1
	}
	ctx.SetBodyStream(p, length)
}

// passed is the body of an answer that comes from another node. A goroutine reads it, so that Read can
// also see that the server shuts down. For events, another one sees that the client has gone.
type passed struct {
	Stream
	body      io.ReadCloser
	stop      func()
	overtaken func() bool // the node that answers led, and another one does now
	conn      net.Conn
	events    bool

	chunks chan []byte   // closed at the end of body; err is set then
	closed chan struct{} // by Close
	gone   chan struct{} // closed when the client has gone; nil unless events
	err    error
	unread []byte
	begun  bool
	ended  bool          // by this server
	silent time.Duration // since the last bytes, as far as Read has waited for others
}

var (
	errEnding = errors.New("the server shuts down")
	errSilent = errors.New("the node that answers is silent")
)

// Read implements io.Reader.
func (p *passed) Read(b []byte) (int, error) {
	if !p.begun {
		p.begin()
	}
	for len(p.unread) == 0 {
		if err := p.wait(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.unread)
	p.unread = p.unread[n:]
	return n, nil
}

func (p *passed) begin() {
	p.begun = true
	go p.receive()
	if p.events {
		p.gone = make(chan struct{})
		go func() {
			defer close(p.gone)
			_, _ = p.conn.Read(make([]byte, 1))
		}()
	}
}

// receive reads the body to its end, or until it is closed.
func (p *passed) receive() {
	defer close(p.chunks)
	for {
		b := make([]byte, streamBuffer)
		n, err := p.body.Read(b)
		if n > 0 {
			select {
			case p.chunks <- b[:n]:
			case <-p.closed:
				return
			}
		}
		if err != nil {
			p.err = err
			return
		}
	}
}

// wait waits for bytes.
func (p *passed) wait() error {
	timer := time.NewTimer(streamRenew)
	defer timer.Stop()
	select {
	case chunk, ok := <-p.chunks:
		switch {
		case !ok && p.ended:
			return io.EOF
		case !ok:
			return p.err
		}
		p.unread, p.silent = chunk, 0
	case <-p.gone:
		return io.EOF
	case <-p.Ending:
		if !p.events {
			return errEnding
		}
		p.ended = true
		p.unread, p.Ending = []byte("event: end\ndata: {\"reason\":\"shutdown\"}\n\n"), nil
		p.stop() // so the end of body follows
	case <-timer.C:
		p.Renew(p.conn)
		return p.endSilence()
	}
	return nil
}

// endSilence ends an answer whose node has been silent for too long. A page that reads events asks again by
// itself.
func (p *passed) endSilence() error {
	p.silent += streamRenew
	longest, err := exportSilence, errSilent
	if p.events {
		longest, err = eventSilence, io.EOF
	}
	if p.silent >= longest || p.silent >= streamSilence && p.overtaken() {
		return err
	}
	return nil
}

// Close implements io.Closer.
func (p *passed) Close() error {
	close(p.closed)
	p.stop()
	return nil
}
