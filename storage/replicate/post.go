package replicate

import (
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// poster puts what a flush writes into the outbox, in a cluster. It implements hits.Poster.
type poster struct{ *Rows }

// Begin implements hits.Poster. An edge keeps no tallies: see the package's comment.
func (s *poster) Begin(b *pebble.Batch) (keep bool) {
	o := &s.outbox
	o.flushing.Lock()
	p := &o.posting
	*p = posting{batch: b, record: p.record, bytes: o.state.Bytes}
	p.head = row.OutboxHead{Position: o.state.Next, MadeMs: max(time.Now().UnixMilli(), 0), Sequence: s.shared.applied.Load()}
	if o.doubtful.Load() > 0 {
		p.head.Sequence = 0
	}
	p.record.Begin(p.head)
	return !s.shared.edge
}

// Post implements hits.Poster. It adds a row, whose tally t is encoded in whole, to the outbox. A row that the outbox
// has no room for is reduced there. Its counts are always whole: totals must be equal on all nodes.
func (s *poster) Post(r row.OutboxRow, t *engine.Tally, whole []byte) {
	o := &s.outbox
	p := &o.posting
	r.Tally = whole
	if size := p.bytes + uint64(p.record.SizeBytes()); size > o.maxBytes {
		r.Tally = o.reduce(t, size > o.maxBytes+o.maxBytes/4)
	}
	if !p.record.Fits(len(r.Tally)) {
		s.endRecord()
		p.record.Begin(p.head)
	}
	p.record.Add(r)
}

// endRecord puts the record being made into the batch, unless it is empty.
func (s *poster) endRecord() {
	p := &s.outbox.posting
	if p.record.Rows() == 0 {
		return
	}
	record := p.record.End()
	var key [1 + 8]byte
	kv.Set(p.batch, row.AppendOutboxKey(key[:0], p.head.Position), record)
	p.bytes += uint64(len(record))
	p.head.Position++
}

// End implements hits.Poster. It puts the last record and the new state of the outbox into the batch.
func (s *poster) End() {
	o := &s.outbox
	p := &o.posting
	s.endRecord()
	p.after = o.state
	if p.after.Next, p.after.Bytes = p.head.Position, p.bytes; p.after != o.state {
		kv.Set(p.batch, row.MetaKey(row.MetaOutbox), row.AppendOutboxState(nil, p.after))
	}
}

// reduce encodes t without breakdowns, or without visitors too.
func (o *outbox) reduce(t *engine.Tally, visitorsToo bool) []byte {
	p, reduced := &o.posting, *t
	if !t.Dimensions.Empty() {
		p.withoutBreakdowns++
		reduced.Dimensions = engine.Dimensions{}
	}
	if visitorsToo && (t.Visitors.Dense() || t.Visitors.Count() > 0) {
		p.withoutVisitors++
		reduced.Visitors = engine.Sketch{}
	}
	o.value = row.AppendTally(o.value[:0], &reduced)
	return o.value
}

// DoubtLinks has the flushes of an edge of a writer say nothing of how far it had read the log, until TrustLinks: they
// may have hits that were counted before its last copy, of links that were lost with a log before this one. So the
// writer looks for their links. When it returns, all flushes before it are in the outbox. It must not be called during
// one, by the same goroutine.
func (s *Rows) DoubtLinks() {
	s.outbox.doubtful.Store(math.MaxInt32)
	s.outbox.flushing.Lock() // one may have begun before
	defer s.outbox.flushing.Unlock()
}

// TrustLinks ends DoubtLinks after two more flushes: one may be under way, and the next one has the hits that were not
// folded then.
func (s *Rows) TrustLinks() { s.outbox.doubtful.Store(2) }

// Ended implements hits.Poster.
func (s *poster) Ended(durable bool) {
	o := &s.outbox
	defer o.flushing.Unlock()
	if n := o.doubtful.Load(); durable && n > 0 {
		o.doubtful.CompareAndSwap(n, n-1) // or it was set again
	}
	after := o.posting.after
	if !durable || after == o.state {
		return
	}
	if o.state.First == o.state.Next {
		o.oldestMs.Store(o.posting.head.MadeMs)
	}
	o.withoutBreakdowns.Add(o.posting.withoutBreakdowns)
	o.withoutVisitors.Add(o.posting.withoutVisitors)
	o.set(after)
}
