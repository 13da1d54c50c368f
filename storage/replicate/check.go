package replicate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"

	"shunt/storage/check"
	"shunt/storage/clusterlog"
	"shunt/storage/row"
)

// checks checks what a store has for and from other nodes of its cluster.
type checks struct {
	*check.Run
	outbox row.OutboxState
	joined bool          // the store is of a cluster
	posted atomic.Uint64 // bytes of the records of the outbox

	edgeLog             *row.EdgeLog  // nil: the store has never had an edge
	entries, entryBytes atomic.Uint64 // of it
}

// checkRows returns how the rows of a store in a cluster are checked.
func checkRows(run *check.Run) check.Subject {
	c := &checks{Run: run}
	return check.Subject{
		Tables: []check.Table{
			{Table: row.TableOutbox, Name: "outbox", Edge: true, Begin: func() (check.Part, error) { return &outboxPart{c: c}, nil }, Rows: func(r *check.Report) *uint64 { return &r.Outbox }},
			{Table: row.TablePulled, Name: "pulled", Edge: true, Begin: c.Alone("pulled", c.pulled), Rows: func(r *check.Report) *uint64 { return &r.Pulled }},
			{Table: row.TableEdgeLog, Name: "log for edges", Begin: c.Alone("log for edges", c.entry)},
			{Table: row.TableEdges, Name: "edges", Begin: c.Alone("edges", c.knownEdge)},
			{Table: row.TableCaps, Name: "caps", Edge: true, Begin: c.Alone("caps", c.cap), Rows: func(r *check.Report) *uint64 { return &r.Caps }},
		},
		Meta: []check.MetaRow{
			{Name: row.MetaEdgeLog, What: "log for edges", Read: func(v []byte) error {
				l, err := row.DecodeEdgeLog(v)
				c.edgeLog = &l
				return err
			}},
			{Name: row.MetaLog, What: "position in the log", Read: func(v []byte) error {
				_, err := row.DecodeLogPosition(v)
				c.joined = true
				return err
			}},
			{Name: row.MetaOutbox, What: "outbox", Read: func(v []byte) (err error) {
				c.outbox, err = row.DecodeOutboxState(v)
				return err
			}},
			{Name: row.MetaEdge, What: "edge", Read: c.edge},
		},
		Begin: c.compareMeta,
		End: func() error {
			c.compareOutbox()
			c.compareEdgeLog()
			return nil
		},
	}
}

func (c *checks) edge(v []byte) error {
	c.Edge = true
	if err := check.Length(v, 1); err != nil {
		return err
	}
	if v[0] != row.EdgeInService && v[0] != row.EdgeRevoked {
		return fmt.Errorf("it is %d, want %d or %d", v[0], row.EdgeInService, row.EdgeRevoked)
	}
	return nil
}

func (c *checks) compareMeta() {
	if c.joined != (c.outbox.Next != 0) {
		c.Fault("meta, outbox", "only a store of a cluster has one, and each of them has")
	}
	if c.Edge && !c.joined {
		c.Fault("meta, edge", "the store is of no cluster")
	}
}

// outboxPart checks each record of the outbox alone: what its rows count is in the tallies, together
// with more.
type outboxPart struct {
	c     *checks
	bytes uint64
}

// End implements check.Part.
func (p *outboxPart) End() error {
	p.c.posted.Add(p.bytes)
	return nil
}

// Row implements check.Part.
func (p *outboxPart) Row(key, value []byte) error {
	p.bytes += uint64(len(value))
	position, err := row.SplitOutboxKey(key)
	state := &p.c.outbox
	if err == nil && (position < state.First || position >= state.Next) {
		err = fmt.Errorf("the outbox has the positions from %d to before %d", state.First, state.Next)
	}
	if err == nil {
		err = wantRecord(value, position)
	}
	if err != nil {
		p.c.Fault(check.Where("outbox", key), "%v", err)
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
func (c *checks) compareOutbox() {
	state := &c.outbox
	if want := state.Next - state.First; c.Report.Outbox != want || c.posted.Load() != state.Bytes {
		c.Fault("outbox", "records: %d, of %d bytes; there should be %d, of %d", c.Report.Outbox, c.posted.Load(), want, state.Bytes)
	}
}

func (c *checks) pulled(key, value []byte) error {
	outbox, err := row.SplitPulledKey(key)
	switch {
	case err != nil:
	case !c.joined && c.edgeLog == nil:
		err = errors.New("the store is of no cluster, and has no edges")
	case c.joined && outbox == c.outbox.ID:
		err = errors.New("it is this store's own outbox")
	default:
		_, err = row.DecodePulled(value)
	}
	return err
}

// entry checks an entry of the log for edges alone. Its neighbours have other sequences within the log's bounds.
func (c *checks) entry(key, value []byte) error {
	sequence, err := row.SplitEdgeEntryKey(key)
	if err != nil {
		return err
	}
	e, err := clusterlog.DecodeEntry(value)
	switch {
	case err != nil:
	case e.Sequence != sequence:
		err = fmt.Errorf("it is entry %d", e.Sequence)
	case c.edgeLog == nil || sequence < c.edgeLog.First || sequence > c.edgeLog.Sequence:
		err = errors.New("the log has no such entry")
	case sequence == c.edgeLog.Sequence && sha256.Sum256(value) != c.edgeLog.Hash:
		err = errors.New("it is another one than the last of the log")
	default:
		c.entries.Add(1)
		c.entryBytes.Add(uint64(len(value)))
		_, err = row.DecodePayload(e.Payload)
	}
	return err
}

func (c *checks) knownEdge(key, value []byte) error {
	_, err := row.SplitEdgeKey(key)
	if err == nil {
		_, err = row.DecodeEdge(value)
	}
	if err == nil && c.edgeLog == nil {
		err = errors.New("the store has never had an edge")
	}
	return err
}

// compareEdgeLog compares the entries with what the log has.
func (c *checks) compareEdgeLog() {
	if l := c.edgeLog; l != nil && (c.entries.Load() != l.Sequence+1-l.First || c.entryBytes.Load() != l.Bytes) {
		c.Fault("log for edges", "%d entries of %d bytes, and there should be %d of %d", c.entries.Load(), c.entryBytes.Load(), l.Sequence+1-l.First, l.Bytes)
	}
}

// cap checks a cap with its link: a row of a link that is purged would stay for ever.
func (c *checks) cap(key, value []byte) error {
	id, _, err := row.ReadCap(key, value)
	if err != nil {
		return err
	}
	return c.wantCold("caps", id)
}

// wantCold looks for the cold record of the link of a row.
func (c *checks) wantCold(table string, id uint64) error {
	_, missing, done := c.Lookup(table, row.AppendColdKey(nil, id))
	defer done()
	if missing {
		return fmt.Errorf("link %d does not exist", id)
	}
	return nil
}
