package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Figures are the counts of a link.
type Figures struct {
	Hits   uint64 `json:"hits"`
	Unique uint64 `json:"unique"` // visitors
}

// A LiveEnd says why the server ended a Live: "deleted" (errors.Is ErrNotFound), "unauthorized"
// (ErrUnauthorized), "shutdown", "time" (after ten minutes) or "error".
type LiveEnd struct{ Reason string }

func (e *LiveEnd) Error() string { return "the server has ended the stream: " + printable(e.Reason) }

// Unwrap returns the Kind that a new call would get.
func (e *LiveEnd) Unwrap() error {
	switch e.Reason {
	case "deleted":
		return ErrNotFound
	case "unauthorized":
		return ErrUnauthorized
	}
	return nil
}

// liveSilence limits the silence of a stream of figures: the server sends a comment every 15 s.
const liveSilence = 45 * time.Second

// Live follows the figures of a link: the present ones first, then, at most once a second, those
// that have changed. It goes on until the consumer stops, ctx ends, or the stream breaks off; the
// latter two are its last error. Live does not connect again; only the first connection is
// repeated, like any call.
func (c *Client) Live(ctx context.Context, code string, options ...Option) iter.Seq2[Figures, error] {
	asked := call{method: http.MethodGet, path: "/stats/" + url.PathEscape(code) + "/live", takes: whose}
	return func(yield func(Figures, error) bool) {
		s, err := c.openStream(ctx, asked, options, liveSilence)
		if err != nil {
			yield(Figures{}, err)
			return
		}
		defer s.Close()
		for figures, err := range readFigures(s) {
			if !yield(figures, err) {
				return
			}
		}
	}
}

// readFigures parses the events. It always ends with an error.
func readFigures(r io.Reader) iter.Seq2[Figures, error] {
	return func(yield func(Figures, error) bool) {
		for e, err := range readEvents(r) {
			figures := Figures{}
			switch {
			case err != nil:
			case e.name == "end":
				err = readEnd(e.data)
			case e.name != "":
				continue // from a newer server
			default:
				if err = json.Unmarshal(e.data, &figures); err != nil {
					err = fmt.Errorf("an event of the server: %w", err)
				}
			}
			if !yield(figures, err) || err != nil {
				return
			}
		}
		yield(Figures{}, io.ErrUnexpectedEOF)
	}
}

func readEnd(data []byte) error {
	end := &LiveEnd{}
	if json.Unmarshal(data, end) != nil {
		end.Reason = "unknown"
	}
	return end
}

// An event is a server-sent event (HTML, 9.2). Its data is valid until the next event.
type event struct {
	name string // empty: it has none
	data []byte
}

// readEvents parses an event stream. Lines end with LF or CR LF. An event without a blank line at
// its end is dropped.
func readEvents(r io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := newScanner(r)
		var e event
		var some bool // data
		for lines.Scan() {
			if len(lines.Bytes()) == 0 {
				if some && !yield(e, nil) {
					return
				}
				e, some = event{data: e.data[:0]}, false
				continue
			}
			name, value, _ := bytes.Cut(lines.Bytes(), []byte{':'})
			value = bytes.TrimPrefix(value, []byte{' '})
			switch string(name) {
			case "event":
				e.name = string(value)
			case "data":
				if some {
					e.data = append(e.data, '\n')
				}
				e.data, some = append(e.data, value...), true
			}
			if len(e.data) > maxLineBytes {
				yield(event{}, errLineTooLong)
				return
			}
		}
		if err := scanError(lines); err != nil {
			yield(event{}, err)
		}
	}
}
