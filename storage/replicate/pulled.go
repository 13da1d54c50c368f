package replicate

import (
	"errors"
	"fmt"

	"shunt/engine"
	"shunt/storage/hits"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// The errors of ApplyPulled that callers distinguish. After any of them, nothing has changed.
var (
	// ErrOutboxEarly: the record counts hits of links that this node may not have read from the log yet.
	ErrOutboxEarly = errors.New("this node has not read as far in the cluster's log as the other one")
	// ErrOutboxGap: the records before the first one were not applied.
	ErrOutboxGap = errors.New("records of an outbox are missing")
	// ErrOwnOutbox: the outbox is this store's.
	ErrOwnOutbox = errors.New("it is this node's own outbox")
	// ErrOutboxDiffers: the outbox has another record at the position that was applied last.
	ErrOutboxDiffers = errors.New("the outbox has another record than was applied")
)

// Pulled is what ApplyPulled has done.
type Pulled struct {
	Next uint64              // position of the record that comes next
	Hits []engine.PulledHits // of links; an id may come many times
}

// PulledThrough returns the position of the last record of another node's outbox that is applied, durably, with all
// before it, and the hash of that record. 0: none is.
func (s *Rows) PulledThrough(outbox [16]byte) (position uint64, last RecordHash, err error) {
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	p, err := s.pulledLocked(outbox)
	if err != nil {
		return 0, last, fmt.Errorf("storage: position in another outbox: %w", err)
	}
	return p.Next - 1, p.Last, nil
}

func (s *Rows) pulledLocked(outbox [16]byte) (row.Pulled, error) {
	v, err := s.writer.Get(row.AppendPulledKey(nil, outbox))
	if err != nil || v == nil {
		return row.Pulled{Next: 1}, err
	}
	return row.DecodePulled(v)
}

// ApplyPulled applies records of another node's outbox, the first of which has position first, and the
// others those after it. It skips records that are applied already, and applies about 1 MiB of the
// others, at least one, in one synced batch: Pulled.Next says how far it got. Any goroutine may call it.
// The caller must count the hits that it returns, so it must not be called while links are loaded: see
// engine.Engine.Pulled. Errors: ErrOutboxEarly, ErrOutboxGap, ErrOwnOutbox, row.ErrCorrupt; engine.ErrBehind:
// not now, because the store is busy or has no space.
func (s *Rows) ApplyPulled(outbox [16]byte, first uint64, records [][]byte) (p Pulled, err error) {
	heads, err := s.checkPulled(first, records)
	if err != nil {
		return p, fmt.Errorf("storage: a record of another outbox: %w", err)
	}
	if s.hits.Busy() {
		return p, engine.ErrBehind
	}
	s.hits.Turn().Lock()
	defer s.hits.Turn().Unlock()
	if id := s.outbox.id.Load(); id == nil || *id == outbox {
		return p, fmt.Errorf("storage: applying records: %w", ErrOwnOutbox)
	}
	at, err := s.pulledLocked(outbox)
	if err != nil {
		return p, fmt.Errorf("storage: position in another outbox: %w", err)
	}
	if p.Next = at.Next; first > p.Next {
		return p, fmt.Errorf("storage: records from %d on, and the next is %d: %w", first, p.Next, ErrOutboxGap)
	}
	skipped := min(p.Next-first, uint64(len(records)))
	if records, heads = records[skipped:], heads[skipped:]; len(records) == 0 {
		return p, nil
	}
	if heads[0].Sequence > s.shared.applied.Load() {
		return p, fmt.Errorf("storage: applying records: %w", ErrOutboxEarly)
	}
	return s.applyPulledLocked(outbox, p.Next, records, heads, pulledFrom{doubtful: func(h *row.OutboxHead) bool { return h.Sequence < s.pulls.purged }})
}

// pulledFrom says whose records are applied.
type pulledFrom struct {
	edge bool // an edge's of this writer, which made all links: no record is early, and links may be unknown

	// doubtful reports whether some links of a record may not exist.
	doubtful func(*row.OutboxHead) bool
}

// checkPulled checks all bytes of records, and returns their heads.
func (s *Rows) checkPulled(first uint64, records [][]byte) ([]row.OutboxHead, error) {
	heads := make([]row.OutboxHead, len(records))
	for i, record := range records {
		h, err := row.CheckOutbox(record)
		if err != nil {
			return nil, err
		}
		if h.Position != first+uint64(i) {
			return nil, fmt.Errorf("%w: the record at position %d says %d", row.ErrCorrupt, first+uint64(i), h.Position)
		}
		heads[i] = h
	}
	return heads, nil
}

// applyPulledLocked applies records that were checked, the first of which comes next.
func (s *Rows) applyPulledLocked(outbox [16]byte, next uint64, records [][]byte, heads []row.OutboxHead, from pulledFrom) (p Pulled, err error) {
	b := s.pulls.batch
	defer b.Reset()
	a := pulledBatch{store: s, adder: s.hits.Adder(b), edge: from.edge}
	p.Next = next
	for i, bytes := 0, 0; i < len(records); i++ {
		if bytes += len(records[i]); i > 0 && (bytes > pulledBytes || !from.edge && heads[i].Sequence > s.shared.applied.Load()) {
			break
		}
		if err := a.add(records[i], from.doubtful(&heads[i])); err != nil {
			return Pulled{}, fmt.Errorf("storage: record %d of another outbox: %w", p.Next, err)
		}
		p.Next++
	}
	at := row.Pulled{Next: p.Next, Last: row.HashRecord(records[p.Next-next-1])}
	kv.Set(b, row.AppendPulledKey(nil, outbox), row.AppendPulled(nil, at))
	if err := s.writer.Sync(b, "storage: committing records of another outbox"); err != nil {
		return Pulled{}, err
	}
	s.pulls.rows.Add(a.rows)
	s.pulls.dropped.Add(a.dropped)
	p.Hits = a.hits
	return p, nil
}

// pulledBatch is the rows of records on their way into one batch.
type pulledBatch struct {
	store         *Rows
	adder         hits.Adder
	key           [row.MaxTallyKeyBytes]byte
	hits          []engine.PulledHits
	edge          bool // see pulledFrom
	rows, dropped uint64

	// last has, by link, the greatest number that it ever gave to a target, of links with rows of targets: so one
	// record is read for all of these rows.
	last map[uint64]uint8
}

// add adds the rows of a record. If it is doubtful, some of its links may be purged.
func (a *pulledBatch) add(record []byte, doubtful bool) error {
	rows, _, err := row.ReadOutbox(record)
	if err != nil {
		return err
	}
	for rows.Next() {
		r := rows.Row()
		if r.Table == row.TableOwnerHours {
			a.merge(&r)
			continue
		}
		link, target := engine.SplitID(r.ID)
		given := a.store.links.Given(link)
		if !given && !a.edge {
			return fmt.Errorf("%w: hits of link %d, whose id was never given", row.ErrCorrupt, link)
		}
		known := true
		switch {
		case target != 0:
			known, err = a.gave(link, target)
		case doubtful || !given:
			known, err = a.store.writer.Known(row.AppendColdKey(a.key[:0], link))
		}
		if err != nil {
			return err
		}
		if !known {
			a.dropped++
			continue
		}
		a.merge(&r)
		hits, err := row.DecodeTallyHits(r.Tally)
		if err != nil {
			return err
		}
		if hits > 0 && target == 0 { // those of targets are among those of their link
			a.hits = append(a.hits, engine.PulledHits{ID: link, Hits: hits})
		}
	}
	return rows.Err()
}

// gave reports whether there is the link of a row of a target, and has ever given a target that number. Only a node
// at fault counts hits of a number that was never given. They are refused as those of an id that was never given; of an
// edge they count for the link alone, as those of an unknown link do for their owner.
func (a *pulledBatch) gave(link uint64, target uint8) (bool, error) {
	last, read := a.last[link]
	if !read {
		v, err := a.store.writer.Get(row.AppendColdKey(a.key[:0], link))
		if err != nil || v == nil {
			return false, err
		}
		cold, err := row.DecodeCold(v)
		if err != nil { // not the fault of who sends hits: 'shunt check' names the record
			return false, nil
		}
		if last = cold.LastTarget; a.last == nil {
			a.last = make(map[uint64]uint8)
		}
		a.last[link] = last
	}
	if target > last && !a.edge {
		return false, fmt.Errorf("%w: hits of target %d of link %d, which has given %d numbers", row.ErrCorrupt, target, link, last)
	}
	return target <= last, nil
}

func (a *pulledBatch) merge(r *row.OutboxRow) {
	a.rows++
	a.adder.Add(r, r.Tally)
}
