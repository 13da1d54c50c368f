package client

import (
	"context"
	"iter"
	"net/http"
)

const (
	// importWindow is how many requests of an import are under way at most. A server needs about 15
	// ms for 1,000 links, so eight requests cover a round trip of 100 ms.
	importWindow = 8

	// importAhead is how many batches wait to be sent.
	importAhead = 2
)

// An ImportResult is the result of one batch.
type ImportResult struct {
	Batch    *ImportBatch // as it was given; it may be reset and given again
	Created  int
	Existing int
	Refused  []BulkItem // only those, in the order of their links; Index counts within the batch
}

// ImportAll imports any number of links: it is Import for batch after batch, in the order of
// batches, and yields their results in that order. An empty batch is not sent, but has a result.
//
// Up to eight requests are under way at once. They are pipelined on one connection (RFC 9112,
// 9.3.2), so the server imports them one after the other, in their order. The next request waits
// for the answer to the first, so that a server that refuses the caller, or closes each connection
// after an answer, does not get seven in vain. If the connection leads through a proxy of
// Options.Transport, or that transport is not an *http.Transport with a DialContext, one request is
// under way at a time.
//
// batches is called on a goroutine of its own, which has ended when the loop ends. It runs at most
// twelve batches ahead of the results, so an import of any length takes the memory of these.
//
// If a request fails, it is repeated as Import is, and the requests after it, too; Retry.Attempts
// counts the attempts since the last answer. An error ends the loop. The batches whose results were
// yielded are imported, and the server may have imported some of those that follow.
func (c *Client) ImportAll(ctx context.Context, batches iter.Seq[*ImportBatch], options ...Option) iter.Seq2[ImportResult, error] {
	return func(yield func(ImportResult, error) bool) {
		r, err := newRequest(call{method: http.MethodPost, path: "/import", takes: takesOwner, repeatable: true}, options)
		if err != nil {
			yield(ImportResult{}, err)
			return
		}
		r.header.Set("Content-Type", "application/x-ndjson")
		ahead, stop := readAhead(batches)
		defer stop()
		run := &importRun{client: c, request: r, ahead: ahead, yield: yield}
		for more := true; more; {
			more, err = retry(ctx, &c.retry, r, func() (bool, error) { return run.send(ctx) })
			if err != nil {
				yield(ImportResult{}, err)
				return
			}
		}
	}
}

// readAhead reads batches on a goroutine, until they end or stop is called. stop waits for it.
func readAhead(batches iter.Seq[*ImportBatch]) (ahead <-chan *ImportBatch, stop func()) {
	read, quit, ended := make(chan *ImportBatch, importAhead), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(read)
		for b := range batches {
			select {
			case read <- b:
			case <-quit:
				return
			}
		}
	}()
	return read, func() {
		close(quit)
		<-ended
	}
}

// An importRun is a call of ImportAll. It goes back N (go-back-N ARQ): after a failure, all batches
// without an answer are sent again, over a new line. The server then finds those of them that it
// has imported already.
type importRun struct {
	client  *Client
	request *request            // without a body
	ahead   <-chan *ImportBatch // closed after the last
	yield   func(ImportResult, error) bool
	pending []*ImportBatch // sent in vain, in their order; they come before those of ahead
}

// send sends batches over one line, and yields their results. It returns false if there are no
// more, or the consumer wants no more, and an error only if the line failed before an answer came;
// if one came, the caller may try another line at once.
func (run *importRun) send(ctx context.Context) (more bool, err error) {
	if more, err = run.await(ctx); !more {
		return false, err
	}
	line, err := run.client.openLine(ctx, run.request)
	if err != nil {
		return true, err
	}
	s := &importSession{
		importRun: run, line: line, sent: make(chan *ImportBatch, importWindow-1),
		answered: make(chan struct{}), over: make(chan struct{}),
	}
	go s.write()
	more, err = s.read(ctx)
	line.close()
	close(s.over)
	run.pending = s.unanswered() // waits for write
	if s.answers > 0 {
		err = nil
	}
	return more, err
}

// await waits until there is a batch to send; false: there is none.
func (run *importRun) await(ctx context.Context) (bool, error) {
	if len(run.pending) > 0 {
		return true, nil
	}
	select {
	case b, more := <-run.ahead:
		if more {
			run.pending = append(run.pending, b)
		}
		return more, nil
	case <-ctx.Done():
		return false, ended(ctx)
	}
}

// An importLine carries batches to the server and answers back. One goroutine sends while another
// receives.
type importLine interface {
	send(*ImportBatch) error
	// receive returns the answer to the oldest batch that was sent and has none yet, which is b.
	receive(b *ImportBatch) (ImportResult, error)
	// last reports whether no answer follows the last one received.
	last() bool
	// close makes send and receive fail, also those under way.
	close()
}

// An importSession is what happens over one line.
type importSession struct {
	*importRun
	line     importLine
	sent     chan *ImportBatch // without an answer, or about to be sent; closed by write at its end
	answered chan struct{}     // closed when the first answer has come
	over     chan struct{}     // closed to end write

	answers int          // of read
	head    *ImportBatch // of read: out of sent, and not answered

	unsent  *ImportBatch // of write: neither in sent nor in pending
	failure error        // of write
}

// write sends batches until there are no more, the line fails or the session is over. It puts each
// into sent first, so the window is full when that is.
func (s *importSession) write() {
	defer close(s.sent)
	for {
		b, more := s.next()
		if !more {
			return
		}
		select {
		case s.sent <- b:
		case <-s.over:
			s.unsent = b
			return
		}
		if b.Len() == 0 {
			continue
		}
		if s.failure = s.line.send(b); s.failure != nil {
			return
		}
		select {
		case <-s.answered:
		case <-s.over:
			return
		}
	}
}

func (s *importSession) next() (b *ImportBatch, more bool) {
	if len(s.pending) > 0 {
		b, s.pending = s.pending[0], s.pending[1:]
		return b, true
	}
	select {
	case b, more = <-s.ahead:
		return b, more
	case <-s.over:
		return nil, false
	}
}

// read yields results until there are no more. more reports that batches may be left.
func (s *importSession) read(ctx context.Context) (more bool, err error) {
	for {
		select {
		case s.head, more = <-s.sent:
		case <-ctx.Done():
			return true, ended(ctx)
		}
		if !more {
			return s.failure != nil, s.failure
		}
		result := ImportResult{}
		if s.head.Len() > 0 {
			if result, err = s.line.receive(s.head); err != nil {
				return true, err
			}
			if s.answers++; s.answers == 1 {
				close(s.answered)
			}
		}
		result.Batch, s.head = s.head, nil
		if !s.yield(result, nil) {
			return false, nil
		}
		if s.line.last() {
			return true, nil
		}
	}
}

// unanswered returns the batches without an answer, in their order, when write has ended.
func (s *importSession) unanswered() (left []*ImportBatch) {
	if s.head != nil {
		left = append(left, s.head)
	}
	for b := range s.sent {
		left = append(left, b)
	}
	if s.unsent != nil {
		left = append(left, s.unsent)
	}
	return append(left, s.pending...)
}
