package relay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// A Stream describes how to pass on an answer that may be endless, or larger than memory: live figures and
// exports.
type Stream struct {
	Ending    <-chan struct{}     // closed when the server shuts down: then the stream ends
	Renew     func(net.Conn)      // records that the client has read everything so far
	Sent      func(net.Conn, int) // records that bytes of the answer are being sent: a slow client gets more time
	AwaitEnd  func(net.Conn)      // waits until the client closes the connection or sends a byte
	Stop      func()              // ends the other server's answer, and its connection unless it was read whole; called once or more
	Overtaken func() bool         // the server that answers led, and another one does now
}

const (
	streamBuffer = 32 << 10
	streamRenew  = time.Second

	// streamSilence is how long a server may be silent in the middle of an answer while another one leads: it
	// may be cut off, and nothing else would end the connection.
	streamSilence = 2 * streamRenew

	// eventSilence is how long any server may be silent between events; it sends comments every 15 s.
	eventSilence = 40 * time.Second

	// exportSilence is how long any server may be silent in the middle of an export: a disk that stalls may need it.
	exportSilence = 30 * time.Second
)

var eventStream = []byte("text/event-stream")

// copyHead copies the status and header of resp, without the fields of one connection.
func copyHead(ctx *fasthttp.RequestCtx, resp *http.Response) {
	h := &ctx.Response.Header
	for name, values := range resp.Header {
		switch name {
		case fasthttp.HeaderConnection, "Keep-Alive", fasthttp.HeaderTrailer, fasthttp.HeaderUpgrade,
			fasthttp.HeaderContentLength, fasthttp.HeaderTransferEncoding, fasthttp.HeaderDate:
			continue
		}
		h.Del(name)
		for _, value := range values {
			h.Add(name, value)
		}
	}
	ctx.SetStatusCode(resp.StatusCode)
}

// AnswerWhole makes resp, whose body was read, the answer of ctx.
func AnswerWhole(ctx *fasthttp.RequestCtx, resp *http.Response, body []byte) {
	copyHead(ctx, resp)
	if ctx.IsHead() {
		if resp.ContentLength > 0 {
			ctx.Response.Header.SetContentLength(int(resp.ContentLength))
		}
		return
	}
	ctx.Response.SetBodyRaw(body)
}

// AnswerStream makes resp the answer of ctx as it comes.
func AnswerStream(ctx *fasthttp.RequestCtx, resp *http.Response, s Stream) {
	h := &ctx.Response.Header
	closes := ctx.Response.ConnectionClose()
	copyHead(ctx, resp)
	p := &passed{Stream: s, body: resp.Body}
	if ctx.IsHead() {
		p.Stop()
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

// passed is the body of an answer that comes from another server. A goroutine reads it, so that Read can
// also see that the server shuts down. For events, another one sees that the client has gone.
type passed struct {
	Stream
	body   io.ReadCloser
	conn   net.Conn
	events bool

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
	ErrSilent = errors.New("the server that answers is silent")
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
	p.Sent(p.conn, n)
	return n, nil
}

func (p *passed) begin() {
	p.begun = true
	go p.receive()
	if p.events {
		p.gone = make(chan struct{})
		go func() {
			defer close(p.gone)
			p.AwaitEnd(p.conn)
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
		p.Stop() // so the end of body follows
	case <-timer.C:
		p.Renew(p.conn)
		return p.endSilence()
	}
	return nil
}

// endSilence ends an answer whose server has been silent for too long. A page that reads events asks again by
// itself.
func (p *passed) endSilence() error {
	p.silent += streamRenew
	longest, err := exportSilence, ErrSilent
	if p.events {
		longest, err = eventSilence, io.EOF
	}
	if p.silent >= longest || p.silent >= streamSilence && p.Overtaken() {
		return err
	}
	return nil
}

// Close implements io.Closer.
func (p *passed) Close() error {
	close(p.closed)
	p.Stop()
	return nil
}
