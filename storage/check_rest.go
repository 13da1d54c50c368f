package storage

import (
	"errors"
	"fmt"

	"shunt/engine"
	"shunt/storage/row"
)

// The parts of a check that read deleted links, receipts, and what is for or from other nodes.

// deletionPart checks rows of the index by deletion: each is of a deleted link.
type deletionPart struct {
	c   *check
	key []byte // kept for its memory
}

func beginDeletions(c *check) (checkedPart, error) { return &deletionPart{c: c}, nil }

func (*deletionPart) end() error { return nil }

func (p *deletionPart) row(key, value []byte) error {
	c := p.c
	_, id, err := row.SplitByDeletionKey(key)
	code := ""
	if err == nil {
		code, err = row.DecodeDeletion(value)
	}
	if err == nil {
		err = p.wantDeleted(id, code)
	}
	if err != nil {
		c.o.Faults.Add(where("by deletion", key), "%v", err)
	}
	return nil
}

func (p *deletionPart) wantDeleted(id uint64, code string) error {
	if why := p.c.meta.idProblem(id); why != "" {
		return errors.New(why)
	}
	p.key = row.AppendHotKey(p.key[:0], code)
	value, missing, done := p.c.lookup("hot", p.key)
	defer done()
	if missing {
		return errors.New("no hot record has its code")
	}
	if value == nil {
		return nil
	}
	if hot, err := row.DecodeHot([]byte(code), value); err == nil && hot.ID == id && hot.Flags&engine.FlagTombstone == 0 {
		return errors.New("the link is not deleted")
	}
	return nil
}

// wantDeletion checks that a tombstone has its row in the index by deletion. Without that row the
// tombstone would stay for ever.
func (c *check) wantDeletion(h *engine.HotView, key []byte) {
	_, missing, done := c.lookup("by deletion", row.AppendByDeletionKey(nil, row.HourAt(h.DeletedAtMs), h.ID))
	defer done()
	if missing {
		c.o.Faults.Add(where("hot", key), "the tombstone of code %q is not in the index by deletion", h.Code)
	}
}

// receiptPart checks each receipt alone, not against its links, which may have changed since.
type receiptPart struct{ c *check }

func beginReceipts(c *check) (checkedPart, error) { return receiptPart{c}, nil }

func (receiptPart) end() error { return nil }

func (p receiptPart) row(key, value []byte) error {
	k, err := row.SplitReceiptKey(key)
	if err == nil {
		_, err = row.DecodeReceipt(k, value)
	}
	if err != nil {
		p.c.o.Faults.Add(where("receipts", key), "%v", err)
	}
	return nil
}

// outboxPart checks each record of the outbox alone: what its rows count is in the tallies, together
// with more.
type outboxPart struct {
	c     *check
	bytes uint64
}

func beginOutbox(c *check) (checkedPart, error) { return &outboxPart{c: c}, nil }

func (p *outboxPart) end() error {
	p.c.posted.Add(p.bytes)
	return nil
}

func (p *outboxPart) row(key, value []byte) error {
	p.bytes += uint64(len(value))
	position, err := row.SplitOutboxKey(key)
	state := &p.c.meta.outbox
	if err == nil && (position < state.First || position >= state.Next) {
		err = fmt.Errorf("the outbox has the positions from %d to before %d", state.First, state.Next)
	}
	if err == nil {
		err = wantRecord(value, position)
	}
	if err != nil {
		p.c.o.Faults.Add(where("outbox", key), "%v", err)
	}
	return nil
}

func wantRecord(value []byte, position uint64) error {
	h, err := row.CheckOutbox(value)
	if err == nil && h.Position != position {
		err = fmt.Errorf("the record is that of position %d", h.Position)
	}
	return err
}

// compareOutbox compares the records with the number and the bytes that the outbox has. Each record
// that was read has another position within its bounds, so with the right number there is no gap.
func (c *check) compareOutbox() {
	state := &c.meta.outbox
	if want := state.Next - state.First; c.report.Outbox != want || c.posted.Load() != state.Bytes {
		c.o.Faults.Add("outbox", "%d records of %d bytes, and there should be %d of %d", c.report.Outbox, c.posted.Load(), want, state.Bytes)
	}
}

type pulledPart struct{ c *check }

func beginPulled(c *check) (checkedPart, error) { return pulledPart{c}, nil }

func (pulledPart) end() error { return nil }

func (p pulledPart) row(key, value []byte) error {
	outbox, err := row.SplitPulledKey(key)
	switch {
	case err != nil:
	case !p.c.meta.joined:
		err = errors.New("the store is of no cluster")
	case outbox == p.c.meta.outbox.ID:
		err = errors.New("it is this store's own outbox")
	default:
		_, err = row.DecodePulled(value)
	}
	if err != nil {
		p.c.o.Faults.Add(where("pulled", key), "%v", err)
	}
	return nil
}

// capPart checks each cap with its link: a row of a link that is purged would stay for ever.
type capPart struct{ c *check }

func beginCaps(c *check) (checkedPart, error) { return capPart{c}, nil }

func (capPart) end() error { return nil }

func (p capPart) row(key, value []byte) error {
	id, _, err := row.ReadCap(key, value)
	if err != nil {
		p.c.o.Faults.Add(where("caps", key), "%v", err)
		return nil
	}
	p.c.wantCold("caps", key, id)
	return nil
}

// wantCold looks for the cold record of the link of a row.
func (c *check) wantCold(table string, key []byte, id uint64) {
	_, missing, done := c.lookup(table, row.AppendColdKey(nil, id))
	defer done()
	if missing {
		c.o.Faults.Add(where(table, key), "link %d does not exist", id)
	}
}
