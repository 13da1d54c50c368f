package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"shunt/api/client"
)

// A batch is the lines of one request, and those between them that are not sent.
type batch struct {
	client.ImportBatch
	lines    []batchLine // without blank ones
	from, to position    // of all its lines, blank ones included
}

// A batchLine is a line of a batch. If refused is set, the line is not sent, for that reason.
type batchLine struct {
	number  int64
	refused string
}

// batches cuts the lines of a source into batches. It belongs to the goroutine that reads ahead,
// except for recycle.
type batches struct {
	lines *lines
	kept  *line // did not fit into the last batch; still valid
	at    position
	stop  context.Context // no batch begins after its end

	// firstEnd ends the first batch, if it is set: the batch then has the same lines as when it was
	// imported before.
	firstEnd *position

	free sync.Pool // of *batch, so that an import of any length needs only those under way

	// After the last batch, how they ended: with the last line, with an error, or by stop.
	ended bool
	err   error
}

func newBatches(stop context.Context, s *source, at position, firstEnd *position) *batches {
	return &batches{
		lines: s.linesFrom(at), at: at, stop: stop, firstEnd: firstEnd,
		free: sync.Pool{New: func() any { return new(batch) }},
	}
}

// all yields the batches. The note of each is its *batch.
func (r *batches) all(yield func(*client.ImportBatch) bool) {
	for r.stop.Err() == nil {
		b := r.free.Get().(*batch)
		b.Reset()
		b.lines, b.Note = b.lines[:0], b
		if r.err = r.fill(b); r.err != nil {
			return
		}
		if r.ended = b.from == b.to; r.ended || !yield(&b.ImportBatch) {
			return
		}
		r.firstEnd = nil
	}
}

// recycle takes a batch back when its result has been used. Any goroutine may call it.
func (r *batches) recycle(b *batch) { r.free.Put(b) }

// fill adds lines to b until it is full or there are no more.
func (r *batches) fill(b *batch) error {
	b.from = r.at
	defer func() { b.to = r.at }()
	for len(b.lines) < client.MaxImportLinks && (r.firstEnd == nil || r.at != *r.firstEnd) {
		if r.kept == nil {
			read, err := r.lines.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("reading line %d: %w", r.at.Line, err)
			}
			r.kept = &read
		}
		if !b.take(r.kept) {
			return nil
		}
		r.kept, r.at = nil, r.lines.at
	}
	return nil
}

// take adds a line, unless it is blank; false: b is full.
func (b *batch) take(l *line) bool {
	added := batchLine{number: l.number}
	switch {
	case l.tooLong:
		added.refused = fmt.Sprintf("has more than %d bytes", maxLineBytes)
	case len(l.text) == 0:
		return true
	case l.text[0] != '{' && !json.Valid(l.text):
		added.refused = notJSON
	case !b.Add(l.text):
		return false
	}
	b.lines = append(b.lines, added)
	return true
}

const notJSON = "is not JSON"
