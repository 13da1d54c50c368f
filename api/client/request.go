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

// An attempt is one try of a call: how long it lasts, and why it has ended.
type attempt struct {
	asker  context.Context // the caller's
	ctx    context.Context // of the attempt
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels ctx, because of silence
}

// begin begins an attempt that may be silent for patience.
func begin(asker context.Context, patience time.Duration) *attempt {
	a := &attempt{asker: asker}
	a.ctx, a.cancel = context.WithCancelCause(asker)
	a.timer = time.AfterFunc(patience, func() { a.cancel(silence(patience)) })
	return a
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
	response, err := c.send(reply.ctx, r)
	if err != nil {
		reply.end()
		return nil, reply.explain("no answer", err)
	}
	reply.status, reply.header, reply.body, reply.bytes = response.StatusCode, response.Header, response.Body, response.ContentLength
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

func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, c.origin+apiRoot+r.target, body)
	if err != nil {
		return nil, err
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
