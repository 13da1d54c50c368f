package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// maxLineBytes is the limit of a line of a stream. A link has at most about 12 KB, a few times that
// if all of it is quoted.
const maxLineBytes = 1 << 20

// lineBufferBytes is how much of a stream of lines is read at once.
const lineBufferBytes = 64 << 10

// Lines is Do for an answer of lines of JSON (NDJSON), which may go on for long. It ends with an
// error if a line is a problem or the answer breaks off. The consumer may keep the lines.
func (c *Client) Lines(
	ctx context.Context, method, path string, body any, options ...Option,
) iter.Seq2[json.RawMessage, error] {
	return c.lines(ctx, call{method: method, path: path, body: body, takes: allOptions}, options)
}

func (c *Client) lines(ctx context.Context, asked call, options []Option) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		s, err := c.openStream(ctx, asked, options, c.timeout)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		for line, err := range readLines(s) {
			if err != nil {
				err = fmt.Errorf("the answer is not whole: %w", err)
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

var errNoJSON = errors.New("a line is not JSON")

// readLines parses NDJSON. It skips blank lines.
func readLines(r io.Reader) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, lineBufferBytes), maxLineBytes)
		for lines.Scan() {
			text := bytes.TrimSpace(lines.Bytes())
			if len(text) == 0 {
				continue
			}
			if err := problemLine(text); err != nil {
				yield(nil, cmp.Or(scanError(lines), err)) // a line that is cut in two is not JSON because of what cut it
				return
			}
			if !yield(bytes.Clone(text), nil) {
				return
			}
		}
		if err := scanError(lines); err != nil {
			yield(nil, err)
		}
	}
}

var errLineTooLong = fmt.Errorf("client: a line of the answer has more than %d bytes", maxLineBytes)

func scanError(lines *bufio.Scanner) error {
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errLineTooLong
	}
	return lines.Err()
}

func newScanner(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	return lines
}

// problemLine returns the error in a line, if it is a problem or not JSON. A line without the prefix
// of problems, as nearly all are, is not decoded.
func problemLine(text []byte) error {
	if !json.Valid(text) {
		return errNoJSON
	}
	if !bytes.Contains(text, []byte(problemPrefix)) {
		return nil
	}
	var line struct{ Type string }
	if json.Unmarshal(text, &line) != nil || !strings.HasPrefix(line.Type, problemPrefix) {
		return nil
	}
	p := &Problem{Kind: Kind(strings.TrimPrefix(line.Type, problemPrefix))}
	_ = json.Unmarshal(text, p) // it is a problem, even if incomplete
	return p
}

// A stream is the body of an answer that goes on. While it is read, the server may be silent for
// patience.
type stream struct {
	*reply
	patience time.Duration
}

// openStream returns the body of the answer when its header has arrived; until then the call is
// repeated like any other.
func (c *Client) openStream(ctx context.Context, asked call, options []Option, patience time.Duration) (*stream, error) {
	r, err := newRequest(asked, options)
	if err != nil {
		return nil, err
	}
	return retry(ctx, &c.retry, r, func() (*stream, error) {
		reply, err := c.open(ctx, r)
		if err != nil {
			return nil, err
		}
		reply.streams.Store(true)
		reply.timer.Stop()
		if reply.status != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("the server's answer is not a stream: status %d", reply.status), reply.Close())
		}
		reply.timer = time.AfterFunc(patience, func() { reply.cancel(silence(patience)) })
		return &stream{reply, patience}, nil
	})
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	s.timer.Reset(s.patience)
	n, err := s.body.Read(p)
	s.timer.Stop()
	if err != nil && err != io.EOF {
		err = s.explain("reading the answer", err)
	}
	return n, err
}
