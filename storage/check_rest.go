package storage

import (
	"errors"

	"shunt/engine"
	"shunt/storage/row"
)

// The parts of a check that read deleted links and receipts.

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
	_, missing, done := c.lookup("by deletion", row.AppendByDeletionKey(nil, row.DeletionHour(h.DeletedAtMs), h.ID))
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
