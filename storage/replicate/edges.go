package replicate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// MaxEdges is how many edges a writer can have, together with those that it had and did not forget.
const MaxEdges = 256

// ErrTooManyEdges: a writer has MaxEdges.
var ErrTooManyEdges = fmt.Errorf("this server knows %d edges, which is the most that it can; 'shunt edges forget' makes room", MaxEdges)

// edges are what a writer knows of its edges.
type edges struct {
	meeting sync.Mutex // held by who notes an edge or an outbox that is new, before mu

	mu sync.Mutex
	by map[string][][16]byte // by name: the outboxes, the last used one last; nil: they were not read yet
}

// use notes that an edge uses one of its outboxes now, and reports whether it is known. The row follows when another
// one is noted.
func (e *edges) use(name string, kept [16]byte) (known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.by[name]
	i := slices.Index(all, kept)
	if i < 0 {
		return false
	}
	if i < len(all)-1 {
		e.by[name] = append(slices.Delete(slices.Clone(all), i, i+1), kept)
	}
	return true
}

// edgeOutbox returns under what the position in an outbox of an edge is kept. Only its writer chooses the name, so no
// edge can name the outbox of another one.
func edgeOutbox(name string, outbox [16]byte) (kept [16]byte) {
	sum := sha256.Sum256(append(append([]byte("shunt edge\n"), name...), append([]byte{'\n'}, outbox[:]...)...))
	copy(kept[:], sum[:])
	return kept
}

// MeetEdge notes that an edge of that name has an outbox with that id, and returns under what the writer keeps its
// position there: see ApplyEdge. Any goroutine may call it. The error is ErrTooManyEdges.
func (s *Rows) MeetEdge(name string, outbox [16]byte) (kept [16]byte, err error) {
	kept = edgeOutbox(name, outbox)
	e := &s.edges
	if e.use(name, kept) {
		return kept, nil
	}
	e.meeting.Lock() // others that are known do not wait for the disk
	defer e.meeting.Unlock()
	known, met, all, err := s.outboxesOf(name)
	switch {
	case err != nil:
		return kept, fmt.Errorf("storage: reading the edges: %w", err)
	case e.use(name, kept):
		return kept, nil
	case !met && all >= MaxEdges:
		return kept, fmt.Errorf("storage: the edge %s: %w", name, ErrTooManyEdges)
	case name == "" || len(name) > row.MaxEdgeNameBytes:
		return kept, errors.New("storage: an edge without a name, or with one that is too long")
	}
	b := s.db.NewBatch()
	defer b.Close()
	known = append(slices.Clone(known), kept)
	for len(known) > row.MaxEdgeOutboxes {
		kv.Remove(b, row.AppendPulledKey(nil, known[0]))
		known = known[1:]
	}
	kv.Set(b, row.AppendEdgeKey(nil, name), row.AppendEdge(nil, known))
	if err := s.writer.Sync(b, "storage: noting an edge"); err != nil {
		return kept, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.by[name] = known
	return kept, nil
}

// outboxesOf returns the outboxes of an edge, and how many edges are known, for the one who holds meeting.
func (s *Rows) outboxesOf(name string) (known [][16]byte, met bool, all int, err error) {
	e := &s.edges
	e.mu.Lock()
	defer e.mu.Unlock()
	if err = s.readEdgesOnce(); err != nil {
		return nil, false, 0, err
	}
	known, met = e.by[name]
	return known, met, len(e.by), nil
}

// readEdgesOnce reads what is known of all edges, for the one who holds mu.
func (s *Rows) readEdgesOnce() (err error) {
	if s.edges.by == nil {
		s.edges.by, err = s.readEdges()
	}
	return err
}

// readEdges reads what is known of all edges.
func (s *Rows) readEdges() (by map[string][][16]byte, err error) {
	by = make(map[string][][16]byte)
	err = kv.Each(s.db, row.TableRange(row.TableEdges), func(key, value []byte) (bool, error) {
		name, err := row.SplitEdgeKey(key)
		if err != nil {
			return false, err
		}
		by[name], err = row.DecodeEdge(value)
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	return by, nil
}

// ApplyEdge is ApplyPulled for the outbox of an edge of this writer, under what MeetEdge returned. It differs in three
// ways. If the records before the first are missing, they are lost: this store was restored from a backup that lacks
// them, and the edge has dropped them since; lost says how many. A record may have hits of links that this store
// never had, or has no more: they count for their owners only. And nobody has compared the record that was applied last
// with that of the edge: before is the hash of its record before the first. astray says that the edge follows another
// log than this store has: any of its links may be unknown here. Error: ErrOutboxDiffers.
func (s *Rows) ApplyEdge(kept [16]byte, first uint64, before RecordHash, records [][]byte, astray bool) (p Pulled, lost uint64, err error) {
	heads, err := s.checkPulled(first, records)
	if err == nil && first == 0 {
		err = fmt.Errorf("%w: a record at the position 0", row.ErrCorrupt)
	}
	if err != nil {
		return p, 0, fmt.Errorf("storage: a record of an edge: %w", err)
	}
	_, at, _, logged := s.EdgeLog()
	if s.hits.Busy() {
		return p, 0, engine.ErrBehind
	}
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	applied, err := s.pulledLocked(kept)
	if err == nil && first <= applied.Next {
		err = wantApplied(&applied, first, before, records)
	}
	if err != nil {
		return p, 0, fmt.Errorf("storage: position in the outbox of an edge: %w", err)
	}
	if p.Next = applied.Next; first > p.Next {
		p.Next, lost = first, first-p.Next
	}
	skipped := min(p.Next-first, uint64(len(records)))
	if records, heads = records[skipped:], heads[skipped:]; len(records) == 0 {
		return p, 0, nil
	}
	from := pulledFrom{edge: true, doubtful: func(h *row.OutboxHead) bool {
		return astray || !logged || h.Sequence < s.pulls.purged || h.Sequence > at.Sequence
	}}
	p, err = s.applyPulledLocked(kept, p.Next, records, heads, from)
	return p, lost, err
}

// wantApplied returns ErrOutboxDiffers if an outbox has another record than was applied last, as far as records and the
// hash of the one before them show it.
func wantApplied(applied *row.Pulled, first uint64, before RecordHash, records [][]byte) error {
	last := before
	if n := applied.Next - first; n > uint64(len(records)) {
		return nil
	} else if n > 0 {
		last = row.HashRecord(records[n-1])
	}
	if last != applied.Last {
		return fmt.Errorf("record %d: %w", applied.Next-1, ErrOutboxDiffers)
	}
	return nil
}

// ForgetEdge frees the name of an edge. The positions in its outboxes stay, 32 bytes each: if the edge comes back after
// all, no hit counts twice. Any goroutine may call it.
func (s *Rows) ForgetEdge(name string) error {
	e := &s.edges
	e.meeting.Lock()
	defer e.meeting.Unlock()
	_, met, _, err := s.outboxesOf(name)
	if err != nil {
		return fmt.Errorf("storage: reading the edges: %w", err)
	}
	if !met {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	kv.Remove(b, row.AppendEdgeKey(nil, name))
	if err := s.writer.Sync(b, "storage: forgetting an edge"); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.by, name)
	return nil
}

// leaveEdges adds rows to b that remove what a writer knew of edges.
func leaveEdges(b *pebble.Batch) {
	for _, table := range []byte{row.TableEdgeLog, row.TableEdges, row.TablePulled} {
		keys := row.TableRange(table)
		kv.Must(b.DeleteRange(keys.Lower, keys.Upper, nil))
	}
	kv.Remove(b, row.MetaKey(row.MetaEdgeLog))
}

// EdgeNames returns the names of the edges that this writer knows, in no order. It reads the store once.
func (s *Rows) EdgeNames() ([]string, error) {
	e := &s.edges
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := s.readEdgesOnce(); err != nil {
		return nil, fmt.Errorf("storage: reading the edges: %w", err)
	}
	return slices.Collect(maps.Keys(e.by)), nil
}
