package links

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/engine/extras"
	"shunt/storage/check"
	"shunt/storage/row"
)

// checks checks the rows of links.
type checks struct {
	*check.Run
	live, tombstones     atomic.Uint64 // hot records
	matched, matchedTags atomic.Uint64 // cold records of live links, and their tags
	matchedReuse         atomic.Uint64 // of these, those that were made to be reused
	deleted              atomic.Uint64 // cold records of deleted links
}

// Check returns how the rows of links are checked.
func Check(run *check.Run) check.Subject {
	c := &checks{Run: run}
	return check.Subject{
		Tables: []check.Table{
			{Table: row.TableHot, Name: "hot", Edge: true, Begin: check.Each(c.hot)}, // counted as links and tombstones
			{Table: row.TableCold, Name: "cold", Edge: true, Begin: func() (check.Part, error) { return &coldPart{c: c}, nil }},
			{Table: row.TableByOwner, Name: "by owner", Begin: c.Alone("by owner", c.index), Rows: func(r *check.Report) *uint64 { return &r.ByOwner }},
			{Table: row.TableByTag, Name: "by tag", Begin: c.Alone("by tag", c.index), Rows: func(r *check.Report) *uint64 { return &r.ByTag }},
			{Table: row.TableByDeletion, Name: "by deletion", Begin: c.Alone("by deletion", c.deletion), Rows: func(r *check.Report) *uint64 { return &r.ByDeletion }},
			{Table: row.TableLeaving, Name: "leaving", Begin: c.Alone("leaving", c.leaving), Rows: func(r *check.Report) *uint64 { return &r.Leaving }},
			{Table: row.TableTrash, Name: "trash", Begin: c.Alone("trash", c.trashed), Rows: func(r *check.Report) *uint64 { return &r.Trash }},
			{Table: row.TableReuse, Name: "reuse", Begin: c.Alone("reuse", checkReuse), Rows: func(r *check.Report) *uint64 { return &r.Reuse }},
			{Table: row.TableReceipts, Name: "receipts", Begin: c.Alone("receipts", checkReceipt), Rows: func(r *check.Report) *uint64 { return &r.Receipts }},
		},
		End: func() error {
			c.Report.Links, c.Report.Tombstones, c.Report.DeletedRecords = c.live.Load(), c.tombstones.Load(), c.deleted.Load()
			return c.nameStrays()
		},
	}
}

// hot checks a hot record alone. Counting shows whether each has its cold record; see
// nameStrays.
func (c *checks) hot(key, value []byte) error {
	k, err := row.SplitHotKey(key)
	if err != nil {
		c.Fault(check.Where("hot", key), "%v", err)
		return nil
	}
	h, err := row.DecodeHot(k, value)
	if err != nil {
		c.Fault(check.Where("hot", key), "code %q: %v", k.Code, err)
		return nil
	}
	if h.Flags&engine.FlagTombstone != 0 {
		c.tombstones.Add(1)
		if !c.Edge {
			c.wantDeletion(&h, key)
		}
	} else {
		c.live.Add(1)
	}
	switch why := c.IDProblem(h.ID); {
	case !h.Valid():
		c.Fault(check.Where("hot", key), "%q is not a code", h.Code)
	case why != "":
		c.Fault(check.Where("hot", key), "code %q: %s", h.Code, why)
	case h.Flags&engine.FlagTombstone == 0 && len(h.Target) == 0:
		c.Fault(check.Where("hot", key), "code %q has no target", h.Code)
	}
	if c.Edge { // it has no accounts
		return nil
	}
	return c.WantOwner(h.Owner, "hot", key)
}

// coldPart checks cold records: each has a hot record of its code. If that is live and has the same
// id, the link has its index rows. If it has another id, the link was deleted and its code was
// given to another link.
type coldPart struct {
	c                *checks
	key, value, text []byte // kept for their memory
}

func (p *coldPart) End() error { return nil }

func (p *coldPart) Row(key, value []byte) error {
	c := p.c
	if len(key) != 1+8 {
		c.Fault(check.Where("cold", key), "a link id has 8 bytes")
		return nil
	}
	id := binary.BigEndian.Uint64(key[1:])
	if why := c.IDProblem(id); why != "" {
		c.Fault(check.Where("cold", key), "%s", why)
	}
	cold, err := row.DecodeCold(value)
	if err != nil {
		c.Fault(check.Where("cold", key), "id %d: %v", id, err)
		return nil
	}
	p.key = row.AppendHotKey(p.key[:0], cold.Key)
	hotValue, missing, done := c.Lookup("hot", p.key)
	defer done()
	if missing {
		c.Fault(check.Where("cold", key), "id %d: no hot record has its code %q", id, cold.Code)
	}
	if hotValue == nil {
		return nil
	}
	hot, err := row.DecodeHot(cold.View(), hotValue)
	switch {
	case err != nil: // reported when hot records are checked
	case hot.ID != id || hot.Flags&engine.FlagTombstone != 0:
		c.deleted.Add(1)
	default:
		if c.matched.Add(1); extras.HasCard(hot.Extras) != (cold.Card != engine.Card{}) {
			c.Fault(check.Where("cold", key), "the hot record and the cold one do not agree on whether code %q has a card", cold.Code)
		}
		if !c.Edge {
			p.wantIndexRows(&hot, &cold)
			p.wantLock(key, &hot, &cold)
		} else if cold.Title != "" || len(cold.Tags) > 0 || cold.ImportedHits > 0 || cold.Reuse || cold.Password != "" {
			c.Fault(check.Where("cold", key), "an edge has no title, tags, figures, reuse or password, and this one has some of code %q", cold.Code)
		}
	}
	return nil
}

// wantLock checks that a redirect asks for the password that the link has.
func (p *coldPart) wantLock(key []byte, hot *engine.HotView, cold *engine.Cold) {
	if extras.Lock(hot.Extras) != extras.LockOf(cold.Password) {
		p.c.Fault(check.Where("cold", key), "the password of code %q is not the one that its redirect asks for", cold.Code)
	}
}

// wantIndexRows checks that the link has the index rows that an edit of it would write, and that it gave each of its
// targets its number. p.key is the key of hot.
func (p *coldPart) wantIndexRows(hot *engine.HotView, cold *engine.Cold) {
	own := row.OwnHot(hot)
	if n := own.GreatestTarget(); n > cold.LastTarget {
		p.c.Fault(check.Where("hot", p.key), "code %q has the target %d, and the greatest number that it gave to one is %d", cold.Code, n, cold.LastTarget)
	}
	p.text = engine.AppendSearched(p.text[:0], &own, cold)
	e := entryOf(&own, cold, p.text)
	p.value = row.AppendIndexValue(p.value[:0], &e)
	p.key = row.AppendByOwnerKey(p.key[:0], hot.Owner, hot.ID)
	p.wantIndexRow("by owner", cold.Code)
	e.TextByOwner = len(e.Text) > row.MaxTagTextBytes
	p.value = row.AppendIndexValue(p.value[:0], &e)
	for i, tag := range cold.Tags {
		if engine.HasTag(cold.Tags[:i], tag) {
			continue
		}
		p.c.matchedTags.Add(1)
		p.key = row.AppendByTagKey(p.key[:0], hot.Owner, tag, hot.ID)
		p.wantIndexRow("by tag", cold.Code)
	}
	if cold.Reuse {
		p.c.matchedReuse.Add(1)
		p.key, p.value = appendReuseKey(p.key[:0], &own), p.value[:0]
		p.wantIndexRow("reuse", cold.Code)
	}
}

func (p *coldPart) wantIndexRow(table, code string) {
	value, missing, done := p.c.Lookup(table, p.key)
	defer done()
	switch {
	case missing:
		p.c.Fault(check.Where(table, p.key), "the row of code %q is missing", code)
	case value != nil && !slices.Equal(value, p.value):
		p.c.Fault(check.Where(table, p.key), "the row of code %q is not what the link is: %x instead of %x", code, value, p.value)
	}
}

// index checks an index row alone.
func (c *checks) index(key, value []byte) error {
	if _, _, ok := row.SplitIndexKey(key); !ok {
		return errors.New("its length is wrong")
	}
	return row.ReadIndexValue(new(engine.LinkEntry), value)
}

func indexName(key []byte) string {
	if key[0] == row.TableByTag {
		return "by tag"
	}
	return "by owner"
}

// nameStrays finds hot records without a cold record, and index rows without a link. Some exist if
// there are more hot records or index rows than the cold records have found.
func (c *checks) nameStrays() error {
	for _, x := range []struct {
		table     byte
		step      string
		got, want uint64
		begin     func() (check.Part, error)
	}{
		{row.TableHot, "hot, looking for strays", c.live.Load(), c.matched.Load(), check.Each(c.strayHot)},
		{row.TableByOwner, "by owner, looking for strays", c.Report.ByOwner, c.matched.Load(), check.Each(c.strayIndex)},
		{row.TableByTag, "by tag, looking for strays", c.Report.ByTag, c.matchedTags.Load(), check.Each(c.strayIndex)},
		{row.TableReuse, "reuse, looking for strays", c.Report.Reuse, c.matchedReuse.Load(), check.Each(c.strayReuse)},
	} {
		if x.got == x.want || c.Edge && x.table != row.TableHot { // an edge has no index rows
			continue
		}
		if _, err := c.Rows(x.step, row.TableRange(x.table), x.begin); err != nil {
			return err
		}
	}
	return nil
}

func (c *checks) strayHot(key, value []byte) error {
	k, err := row.SplitHotKey(key)
	if err != nil {
		return nil
	}
	h, err := row.DecodeHot(k, value)
	if err != nil || h.Flags&engine.FlagTombstone != 0 {
		return nil
	}
	v, missing, done := c.Lookup("cold", row.AppendColdKey(nil, h.ID))
	defer done()
	if missing {
		c.Fault(check.Where("hot", key), "code %q has no cold record of its id %d", h.Code, h.ID)
	} else if cold, err := row.DecodeCold(v); v != nil && err == nil && cold.Key != h.Own() {
		c.Fault(check.Where("hot", key), "the cold record of its id %d is of code %q, not %q", h.ID, cold.Code, h.Code)
	}
	return nil
}

func (c *checks) strayIndex(key, value []byte) error {
	tag, id, ok := row.SplitIndexKey(key)
	k, err := row.DecodeIndexKey(value)
	if !ok || err != nil {
		return nil // reported before
	}
	rec, err := ReadRecord(c.Reader, k.Own())
	switch owner := binary.BigEndian.Uint32(key[1:]); {
	case err == nil && rec.Hot.Flags&engine.FlagTombstone == 0 && rec.Hot.ID == id && rec.Hot.Owner == owner &&
		(key[0] == row.TableByOwner || engine.HasTag(rec.Cold.Tags, tag)):
	case pebble.ExtractDataCorruptionInfo(err) != nil: // reported when the link's own records are checked
	default:
		c.Fault(check.Where(indexName(key), key), "there is no such link: code %q, id %d, owner %d, tag %q", k.Code, id, owner, tag)
	}
	return nil
}

// checkReuse checks a row of a link to reuse alone.
func checkReuse(key, value []byte) error {
	_, _, _, err := row.SplitReuseKey(key)
	if err == nil && len(value) > 0 {
		err = errors.New("it has a value")
	}
	return err
}

// strayReuse checks that a row of a link to reuse is the one that its link has.
func (c *checks) strayReuse(key, _ []byte) error {
	_, _, id, err := row.SplitReuseKey(key)
	if err != nil {
		return nil // reported before
	}
	rec, err := ReadRecordOf(c.Reader, id)
	switch {
	case err == nil && rec.Cold.Reuse && slices.Equal(key, appendReuseKey(nil, &rec.Hot)):
	case err != nil && !errors.Is(err, engine.ErrNotFound): // reported when the link's own records are checked
	default:
		c.Fault(check.Where("reuse", key), "there is no such link to reuse: id %d", id)
	}
	return nil
}

// deletion checks a row of the index by deletion: its link is deleted, and nothing but the tombstone is left of it.
func (c *checks) deletion(key, value []byte) error {
	hour, id, err := row.SplitByDeletionKey(key)
	if err != nil {
		return err
	}
	k, _, err := row.DecodeDeletion(value)
	if err != nil {
		return err
	}
	hot, err := c.wantDeleted(id, k)
	if err != nil || hot == nil {
		return err
	}
	return c.wantNothingOf(id, hour, hot)
}

// wantNothingOf checks that a link which is listed as one without figures is not in the trash.
func (c *checks) wantNothingOf(id uint64, hour uint32, hot *engine.HotView) error {
	if hot.ID != id || row.HourAt(hot.DeletedAtMs) != hour {
		return nil
	}
	at := engine.TrashPlace{DeletedAtMs: hot.DeletedAtMs, ID: id}
	_, missing, done := c.Lookup("trash", row.AppendTrashKey(nil, hot.Owner, at))
	defer done()
	if !missing {
		return errors.New("the link is in the trash")
	}
	return nil
}

// leaving checks a row of a link that still has figures: it is deleted, or was reset.
func (c *checks) leaving(key, value []byte) error {
	_, id, err := row.SplitByDeletionKey(key)
	if err != nil {
		return err
	}
	k, _, err := row.DecodeDeletion(value)
	if err == nil {
		_, err = c.wantDeleted(id, k)
	}
	return err
}

// wantDeleted checks that no live link has an id, and returns the hot record of the key that it had; nil: it cannot be
// read.
func (c *checks) wantDeleted(id uint64, k engine.Key) (*engine.HotView, error) {
	if why := c.IDProblem(id); why != "" {
		return nil, errors.New(why)
	}
	value, missing, done := c.Lookup("hot", row.AppendHotKey(nil, k))
	defer done()
	if missing {
		return nil, errors.New("no hot record has its code")
	}
	if value == nil {
		return nil, nil
	}
	hot, err := row.DecodeHot(k.View(), value)
	if err != nil {
		return nil, nil // reported when hot records are checked
	}
	if hot.ID == id && hot.Flags&engine.FlagTombstone == 0 {
		return nil, errors.New("the link is not deleted")
	}
	hot.Target, hot.Extras = nil, nil // they alias the value
	return &hot, nil
}

// trashed checks a row of the trash: it is of a link whose code has the tombstone of that deletion, and which still has
// figures.
func (c *checks) trashed(key, value []byte) error {
	owner, at, err := row.SplitTrashKey(key)
	if err != nil {
		return err
	}
	was, err := row.DecodeTrashed(value)
	switch {
	case err != nil:
		return err
	case was.ID != at.ID || was.Owner != owner:
		return fmt.Errorf("it is of the link with id %d of owner %d", was.ID, was.Owner)
	}
	hot, err := c.wantDeleted(at.ID, was.Key)
	switch {
	case err != nil || hot == nil:
		return err
	case hot.ID != at.ID || hot.Owner != owner || hot.DeletedAtMs != at.DeletedAtMs:
		return fmt.Errorf("the code %q has no tombstone of this deletion", was.Code)
	}
	return c.wantRestorable(&was, at)
}

// wantRestorable checks that a link in the trash has the rows that a restore needs.
func (c *checks) wantRestorable(was *engine.Hot, at engine.TrashPlace) error {
	_, missing, done := c.Lookup("leaving", row.AppendLeavingKey(nil, row.HourAt(at.DeletedAtMs), at.ID))
	defer done()
	if missing {
		return fmt.Errorf("the link of code %q would never leave the trash", was.Code)
	}
	value, missing, done := c.Lookup("cold", row.AppendColdKey(nil, at.ID))
	defer done()
	if missing {
		return fmt.Errorf("code %q has no cold record of its id %d", was.Code, at.ID)
	}
	cold, err := row.DecodeCold(value)
	switch {
	case value == nil || err != nil: // reported when cold records are checked
	case cold.Key != was.Key:
		return fmt.Errorf("the cold record of its id %d is of code %q, not %q", at.ID, cold.Code, was.Code)
	case extras.Lock([]byte(was.Extras)) != extras.LockOf(cold.Password):
		return fmt.Errorf("the password of code %q is not the one that its redirect would ask for", was.Code)
	}
	return nil
}

// wantDeletion checks that a tombstone has its row by which a purge finds it. Without that row the
// tombstone would stay for ever.
func (c *checks) wantDeletion(h *engine.HotView, key []byte) {
	hour := row.HourAt(h.DeletedAtMs)
	_, missing, done := c.Lookup("leaving", row.AppendLeavingKey(nil, hour, h.ID))
	done()
	if !missing {
		return
	}
	_, missing, done = c.Lookup("by deletion", row.AppendByDeletionKey(nil, hour, h.ID))
	defer done()
	if missing {
		c.Fault(check.Where("hot", key), "the tombstone of code %q is not in the index by deletion", h.Code)
	}
}

// checkReceipt checks a receipt alone, not against its links, which may have changed since.
func checkReceipt(key, value []byte) error {
	k, err := row.SplitReceiptKey(key)
	if err == nil {
		_, err = row.DecodeReceipt(k, value)
	}
	return err
}
