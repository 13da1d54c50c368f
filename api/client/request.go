package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// A request is a call as it is sent, the same in every attempt.
type request struct {
	method string
	target string // path and query
	body   []byte // nil: none
	header http.Header
	reads  bool // it changes nothing on the server
	// repeatable: sending it again after an attempt of unknown outcome does no harm.
	repeatable bool
}

func newRequest(asked call, options []Option) (*request, error) {
	r := &request{method: asked.method, target: asked.path, header: make(http.Header)}
	r.reads = r.method == http.MethodGet || r.method == http.MethodHead
	r.repeatable = r.method != http.MethodPost || asked.repeatable
	if asked.accept != "" {
		r.header.Set("Accept", asked.accept)
	}
	if err := r.write(asked.body); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if err := r.apply(&asked, options); err != nil {
		return nil, err
	}
	return r, nil
}

// ndjson is a body of lines of JSON, which the server checks one by one.
type ndjson []json.RawMessage

// write makes body the body of r.
func (r *request) write(body any) (err error) {
	switch body := body.(type) {
	case nil:
		return nil
	case ndjson:
		r.header.Set("Content-Type", "application/x-ndjson")
		r.body = body.text()
	case logo:
		r.header.Set("Content-Type", body.mediaType())
		r.body = body
	default:
		r.header.Set("Content-Type", "application/json")
		r.body, err = json.Marshal(body)
	}
	return err
}

// text returns the lines. A link that is no JSON becomes a line, too, for the server to refuse.
func (links ndjson) text() (text []byte) {
	size := 0
	for _, link := range links {
		size += len(link) + len("null\n")
	}
	text = make([]byte, 0, size)
	for _, link := range links {
		start := len(text)
		text = append(text, link...)
		line := text[start:]
		for i := bytes.IndexByte(line, '\n'); i >= 0; i = bytes.IndexByte(line, '\n') {
			line[i] = '\r' // like LF, it may stand between the parts of JSON, and in no string
		}
		if len(bytes.Trim(line, " \t\r")) == 0 {
			text = append(text, "null"...) // because the server skips blank lines
		}
		text = append(text, '\n')
	}
	return text
}

// A lostError is an attempt without a complete answer: its outcome is unknown.
type lostError struct {
	doing string
	cause error
}

func (e *lostError) Error() string { return e.doing + ": " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// A silence is the cause of an attempt's end when the server was silent for that long.
type silence time.Duration

func (s silence) Error() string   { return fmt.Sprintf("nothing was heard for %v", time.Duration(s)) }
func (s silence) Timeout() bool   { return true } // as net.Error has it
func (s silence) Temporary() bool { return true }

// minRate is the number of bytes of a body or an answer that add a second to the time of an attempt. The server gives a
// request as much (api/wire/conns), so a slow line is cut by neither.
const minRate = 16 << 10

// An attempt is one try of a call: how long it lasts, and why it has ended.
type attempt struct {
	asker    context.Context // the caller's
	ctx      context.Context // of the attempt
	cancel   context.CancelCauseFunc
	began    time.Time
	patience time.Duration
	moved    atomic.Int64 // bytes of the body that were sent, and of the answer that have come
	streams  atomic.Bool  // what follows is a stream, which has a time limit of its own
	timer    *time.Timer  // cancels ctx, because of silence
}

// begin begins an attempt that may last for patience, and longer for what moves.
func begin(asker context.Context, patience time.Duration) *attempt {
	a := &attempt{asker: asker, began: time.Now(), patience: patience}
	a.ctx, a.cancel = context.WithCancelCause(asker)
	a.timer = time.AfterFunc(patience, a.judge)
	return a
}

// judge ends an attempt that has lasted too long for what has moved. It runs on a timer's goroutine.
func (a *attempt) judge() {
	allowed := a.patience + time.Duration(a.moved.Load()/minRate)*time.Second
	switch left := allowed - time.Since(a.began); {
	case a.streams.Load(), a.ctx.Err() != nil:
	case left <= 0:
		a.cancel(silence(allowed))
	default:
		time.AfterFunc(left, a.judge)
	}
}

// A counted is a body whose bytes count as moved.
type counted struct {
	io.ReadCloser
	moved *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.moved.Add(int64(n))
	return n, err
}

// A reply is a successful answer with an unread body. It must be closed.
type reply struct {
	*attempt
	status int
	header http.Header
	body   io.ReadCloser
	bytes  int64 // of body, as the server says; -1: it does not
}

// open sends r once. An unsuccessful answer is a *Problem. The time limit includes reading the
// body.
func (c *Client) open(asker context.Context, r *request) (*reply, error) {
	reply := &reply{attempt: begin(asker, c.timeout)}
	response, err := c.send(reply.attempt, r)
	if err != nil {
		reply.end()
		return nil, reply.explain("no answer", err)
	}
	reply.status, reply.header, reply.bytes = response.StatusCode, response.Header, response.ContentLength
	reply.body = counted{response.Body, &reply.moved}
	if reply.status/100 == 2 {
		return reply, nil
	}
	defer reply.Close()
	text, err := reply.readAll(maxProblemBytes)
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, err
	}
	return nil, readProblem(reply.status, reply.header, text)
}

func (c *Client) send(a *attempt, r *request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(a.ctx, r.method, c.origin+apiRoot+r.target, body)
	if err != nil {
		return nil, err
	}
	if again := request.GetBody; again != nil {
		request.Body = counted{request.Body, &a.moved}
		request.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return counted{body, &a.moved}, err
		}
	}
	for _, fields := range []http.Header{c.header, r.header} {
		for name, values := range fields {
			request.Header[name] = slices.Clone(values)
		}
	}
	return c.http.Do(request)
}

// explain returns why an attempt failed: the end of the caller's context, an error that a repeat
// will not mend, or a lostError.
func (a *attempt) explain(doing string, err error) error {
	if a.asker.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ended(a.asker))
	}
	if cause := (silence(0)); errors.As(context.Cause(a.ctx), &cause) {
		err = cause
	}
	if certificate := (*tls.CertificateVerificationError)(nil); errors.As(err, &certificate) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return &lostError{doing, err}
}

// ended returns why ctx has ended: context.Canceled or context.DeadlineExceeded, with the cause
// that was given.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

var errTooLarge = errors.New("the server's answer is too large")

// readAll reads the body to its end, within the attempt's time.
func (r *reply) readAll(maxBytes int) ([]byte, error) {
	var text bytes.Buffer
	if r.bytes > 0 {
		text.Grow(int(min(r.bytes, int64(maxBytes))) + bytes.MinRead)
	}
	_, err := text.ReadFrom(io.LimitReader(r.body, int64(maxBytes)+1))
	switch {
	case err != nil:
		return nil, r.explain("reading the answer", err)
	case text.Len() > maxBytes:
		return nil, fmt.Errorf("%w: it has more than %d bytes", errTooLarge, maxBytes)
	}
	return text.Bytes(), nil
}

// Close releases the answer, read or not.
func (r *reply) Close() error {
	r.end()
	return r.body.Close()
}

func (a *attempt) end() {
	a.timer.Stop()
	a.cancel(nil)
}
