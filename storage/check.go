package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// CheckOptions are the settings of Check.
type CheckOptions struct {
	Faults *engine.Faults // receives the faults

	// KnowsOwner reports whether a user with that number exists. Any goroutine may call it. If it
	// is nil, all owners count as known.
	KnowsOwner func(owner uint32) (bool, error)

	// Progress is called now and then, from any goroutine, with the step and the number of rows or
	// bytes that it has read. It may be nil.
	Progress func(step string, done uint64)
}

// CheckReport counts the records that Check has read.
type CheckReport struct {
	Links          uint64 `json:"links"`
	Tombstones     uint64 `json:"tombstones"`
	DeletedRecords uint64 `json:"deleted_records"` // cold records of deleted links
	ByOwner        uint64 `json:"by_owner"`
	ByTag          uint64 `json:"by_tag"`
	ByDeletion     uint64 `json:"by_deletion"`
	Receipts       uint64 `json:"receipts"`
	LinkHours      uint64 `json:"link_hours"`
	OwnerHours     uint64 `json:"owner_hours"`
	LinkDays       uint64 `json:"link_days"`
	OwnerDays      uint64 `json:"owner_days"`
	LinkLives      uint64 `json:"link_lives"`
	Imports        uint64 `json:"imports"` // hours in which owners imported hits
	Accounts       uint64 `json:"accounts"`
	Audit          uint64 `json:"audit"`
	Outbox         uint64 `json:"outbox,omitempty"`   // records that other nodes of the cluster have not pulled yet
	Pulled         uint64 `json:"pulled,omitempty"`   // positions in the outboxes of other nodes
	Caps           uint64 `json:"caps,omitempty"`     // of links, that are shared out among the nodes
	CapUses        uint64 `json:"cap_uses,omitempty"` // of this node
	Meta           uint64 `json:"meta"`
	Files          uint64 `json:"files"` // of the database
	FileBytes      uint64 `json:"file_bytes"`
	Skipped        string `json:"skipped,omitempty"` // the steps that were left out, and why
}

// A checkedTable describes how Check verifies the rows of one table.
type checkedTable struct {
	table byte
	name  string

	// begin prepares the check of one part of the table's rows, which come in the order of keys.
	// Several parts are checked at once.
	begin func(*check) (checkedPart, error)
	rows  func(*CheckReport) *uint64
}

// checkedPart checks the rows of one part. An error ends the check: it means that rows cannot be
// read, which is not a fault of any row.
type checkedPart interface {
	row(key, value []byte) error
	end() error
}

// checkedTables are all tables, ascending. Rows of other tables are faults: a new table needs a
// line here.
var checkedTables = []checkedTable{
	{row.TableMeta, "meta", beginMeta, func(r *CheckReport) *uint64 { return &r.Meta }},
	{row.TableHot, "hot", beginHot, func(r *CheckReport) *uint64 { return new(uint64) }}, // counted as links and tombstones
	{row.TableCold, "cold", beginCold, func(r *CheckReport) *uint64 { return new(uint64) }},
	{row.TableByOwner, "by owner", beginIndex, func(r *CheckReport) *uint64 { return &r.ByOwner }},
	{row.TableByTag, "by tag", beginIndex, func(r *CheckReport) *uint64 { return &r.ByTag }},
	{row.TableByDeletion, "by deletion", beginDeletions, func(r *CheckReport) *uint64 { return &r.ByDeletion }},
	{row.TableCaps, "caps", beginCaps, func(r *CheckReport) *uint64 { return &r.Caps }},
	{row.TableLinkHours, "link hours", beginLinkHours, func(r *CheckReport) *uint64 { return &r.LinkHours }},
	{row.TableOwnerHours, "owner hours", beginOwnerHours, func(r *CheckReport) *uint64 { return &r.OwnerHours }},
	{row.TableLinkDays, "link days", beginLinkDays, func(r *CheckReport) *uint64 { return &r.LinkDays }},
	{row.TableLinkLives, "link lives", beginLinkLives, func(r *CheckReport) *uint64 { return &r.LinkLives }},
	{row.TableOwnerDays, "owner days", beginOwnerDays, func(r *CheckReport) *uint64 { return &r.OwnerDays }},
	{row.TableImports, "imports", beginImports, func(r *CheckReport) *uint64 { return &r.Imports }},
	{row.TableReceipts, "receipts", beginReceipts, func(r *CheckReport) *uint64 { return &r.Receipts }},
	{row.TableAccounts, "accounts", beginAccounts, func(r *CheckReport) *uint64 { return &r.Accounts }},
	{row.TableAudit, "audit", beginAudit, func(r *CheckReport) *uint64 { return &r.Audit }},
	{row.TableOutbox, "outbox", beginOutbox, func(r *CheckReport) *uint64 { return &r.Outbox }},
	{row.TablePulled, "pulled", beginPulled, func(r *CheckReport) *uint64 { return &r.Pulled }},
	{row.TableCapUses, "cap uses", beginCapUses, func(r *CheckReport) *uint64 { return &r.CapUses }},
}

// edgeTables are the tables that the store of an edge has.
var edgeTables = []byte{row.TableMeta, row.TableHot, row.TableCold, row.TableCaps, row.TableOutbox, row.TablePulled, row.TableCapUses}

// check is one run of Check.
//
// It holds no table of links in memory. Every row is read once, in the order of keys. Rows that
// belong together are joined where two tables have the same order (days, lives and cold records,
// all by id), and looked up otherwise. Counting shows that nothing is missing or left over: each
// cold record of a live link finds its hot record and its index rows, so if there are exactly as
// many hot records and index rows as were found, there are no others. Only if the numbers differ
// does a second pass look up each of them, to name it.
type check struct {
	ctx    context.Context
	v      *Inspection
	r      pebble.Reader
	o      *CheckOptions
	report CheckReport

	meta   checkedMeta
	links  checkedLinks
	totals checkedTotals
	posted atomic.Uint64 // bytes of the records of the outbox
}

// Check reads every record and verifies it, alone and against the others. It adds faults to
// o.Faults; an error means that the check could not finish. The only memory that grows with the
// store is the sums of hours and days.
func (v *Inspection) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if o.KnowsOwner == nil {
		o.KnowsOwner = func(uint32) (bool, error) { return true, nil }
	}
	if o.Progress == nil {
		o.Progress = func(string, uint64) {}
	}
	c := &check{ctx: ctx, v: v, r: v.r, o: &o}
	c.totals.init()
	if err := c.run(); err != nil {
		return c.report, fmt.Errorf("storage: check: %w", err)
	}
	return c.report, nil
}

func (c *check) run() error {
	if err := c.checkFiles(); err != nil {
		return err
	}
	if _, total := c.o.Faults.Found(); total > 0 && c.v.live {
		c.report.Skipped = "records were not read: a running server ends when it meets a damaged block; stop it and check again"
		return nil
	}
	c.readMeta()
	for i := range checkedTables {
		t := &checkedTables[i]
		rows, err := c.checkRows(t.name, row.TableRange(t.table), t.begin)
		if err != nil {
			return err
		}
		*t.rows(&c.report) = rows
		if rows > 0 && c.meta.edge && !slices.Contains(edgeTables, t.table) {
			c.o.Faults.Add(t.name, "an edge has no such rows, and this one has %d", rows)
		}
	}
	if err := c.checkOthers(); err != nil {
		return err
	}
	c.links.report(&c.report)
	if err := c.nameStrays(); err != nil {
		return err
	}
	c.compareTotals()
	c.compareOutbox()
	return c.checkLevels()
}

// checkOthers finds rows of unknown tables.
func (c *check) checkOthers() error {
	var lower []byte // nil: Pebble does not accept an empty key as a bound
	for _, t := range checkedTables {
		if _, err := c.checkRows("other tables", row.Range{Lower: lower, Upper: []byte{t.table}}, beginUnknown); err != nil {
			return err
		}
		lower = []byte{t.table + 1}
	}
	_, err := c.checkRows("other tables", row.Range{Lower: lower, Upper: bytes.Repeat([]byte{0xff}, 128)}, beginUnknown)
	return err
}

type unknownPart struct{ c *check }

func beginUnknown(c *check) (checkedPart, error) { return unknownPart{c}, nil }

func (p unknownPart) row(key, _ []byte) error {
	p.c.o.Faults.Add(where("", key), "a row of no known table")
	return nil
}

// end closes the iterator. An error of the iterator belongs to the rows of its table and is
// reported with them.
func (p unknownPart) end() error { return nil }

// where names a row in a fault.
func where(table string, key []byte) string {
	if table == "" {
		return fmt.Sprintf("key %x", key)
	}
	return fmt.Sprintf("%s, key %x", table, key)
}

// checkRows checks the rows of a range in parts, on as many goroutines as there are cores, and counts them. If rows
// cannot be read, that is a fault, and the rest of the part is skipped.
func (c *check) checkRows(name string, keys row.Range, begin func(*check) (checkedPart, error)) (uint64, error) {
	workers := engine.Cores()
	parts, err := kv.CutRange(c.r, keys, workers*kv.PartsAWorker)
	if err != nil {
		c.o.Faults.Add(name, "%s", kv.Unreadable(err))
		parts = []row.Range{keys}
	}
	var next atomic.Int64
	var rows atomic.Uint64
	g, ctx := errgroup.WithContext(c.ctx)
	for range min(workers, len(parts)) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(parts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := c.checkPart(name, parts[i], begin, &rows); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	err = g.Wait()
	return rows.Load(), err
}

func (c *check) checkPart(name string, keys row.Range, begin func(*check) (checkedPart, error), rows *atomic.Uint64) (err error) {
	part, err := begin(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, part.end()) }()
	it, err := c.r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return err
	}
	var last []byte
	defer func() {
		if unread := it.Close(); unread != nil {
			c.o.Faults.Add(where(name, last), "rows after it: %s", kv.Unreadable(unread))
		}
	}()
	for valid := it.First(); valid; valid = it.Next() {
		if n := rows.Add(1); n%kv.RowsBetweenChecks == 0 {
			c.o.Progress(name, n)
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
		}
		last = append(last[:0], it.Key()...)
		value, err := it.ValueAndErr()
		if err != nil {
			c.o.Faults.Add(where(name, last), "%s", kv.Unreadable(err))
			continue
		}
		if err := part.row(it.Key(), value); err != nil {
			return err
		}
	}
	return nil
}

// lookup returns a value, which is valid until done is called. missing reports that the row does
// not exist. For a value that cannot be read, lookup reports a fault and returns nil.
func (c *check) lookup(name string, key []byte) (value []byte, missing bool, done func()) {
	value, closer, err := c.r.Get(key)
	if err == nil {
		return value, false, func() { _ = closer.Close() } // it repeats the error of Get, if any
	}
	if missing = errors.Is(err, pebble.ErrNotFound); !missing {
		c.o.Faults.Add(where(name, key), "%s", kv.Unreadable(err))
	}
	return nil, missing, func() {}
}

// join iterates over a table in step with another one that has the same order of ids.
type join struct {
	it    *pebble.Iterator
	asked []byte
	valid bool
}

func (c *check) newJoin(table byte) (*join, error) {
	keys := row.TableRange(table)
	it, err := c.r.NewIter(&pebble.IterOptions{LowerBound: keys.Lower, UpperBound: keys.Upper})
	if err != nil {
		return nil, err
	}
	return &join{it: it}, nil
}

// find returns the value of key; ok is false if there is none. If keys ascend, each costs a step or
// a short seek.
func (j *join) find(key []byte) (value []byte, ok bool) {
	ahead := j.valid && bytes.Compare(j.it.Key(), key) >= 0 && bytes.Compare(j.asked, key) <= 0
	if !ahead {
		j.valid = j.it.SeekGE(key)
	}
	j.asked = append(j.asked[:0], key...)
	if !j.valid || !bytes.Equal(j.it.Key(), key) {
		return nil, false
	}
	value, err := j.it.ValueAndErr()
	return value, err == nil // an error is reported when its own table is checked
}

// end closes the iterator. An error of the iterator belongs to the rows of its table and is
// reported with them.
func (j *join) end() {
	if j != nil {
		_ = j.it.Close()
	}
}

// knownOwners caches the owners that were found, so that the accounts are not read for each row.
type knownOwners struct {
	mu    sync.Mutex
	known map[uint32]bool // at most maxKnownOwners
}

const maxKnownOwners = 1 << 16

func (c *check) wantOwner(owner uint32, table string, key []byte) error {
	k := &c.links.owners
	k.mu.Lock()
	known := k.known[owner]
	k.mu.Unlock()
	if known {
		return nil
	}
	known, err := c.o.KnowsOwner(owner)
	if err != nil {
		return err
	}
	if !known {
		c.o.Faults.Add(where(table, key), "there is no user %d", owner)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKnownOwners {
		k.known = map[uint32]bool{}
	}
	k.known[owner] = true
	return nil
}

// accountsPart only counts: api/account checks the rows.
type accountsPart struct{}

func beginAccounts(*check) (checkedPart, error) { return accountsPart{}, nil }

func (accountsPart) row(_, _ []byte) error { return nil }
func (accountsPart) end() error            { return nil }
