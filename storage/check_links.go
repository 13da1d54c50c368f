package storage

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/row"
)

// checkedLinks counts the links of all parts.
type checkedLinks struct {
	live, tombstones     atomic.Uint64 // hot records
	matched, matchedTags atomic.Uint64 // cold records of live links, and their tags
	deleted              atomic.Uint64 // cold records of deleted links
	owners               knownOwners
}

func (l *checkedLinks) report(r *CheckReport) {
	r.Links, r.Tombstones, r.DeletedRecords = l.live.Load(), l.tombstones.Load(), l.deleted.Load()
}

// hotPart checks each hot record alone. Counting shows whether each has its cold record; see
// nameStrays.
type hotPart struct{ c *check }

func beginHot(c *check) (checkedPart, error) { return hotPart{c}, nil }

func (p hotPart) row(key, value []byte) error {
	c := p.c
	h, err := row.DecodeHot(key[1:], value)
	if err != nil {
		c.o.Faults.Add(where("hot", key), "code %q: %v", key[1:], err)
		return nil
	}
	if h.Flags&engine.FlagTombstone != 0 {
		c.links.tombstones.Add(1)
		if !c.meta.edge {
			c.wantDeletion(&h, key)
		}
	} else {
		c.links.live.Add(1)
	}
	switch why := c.meta.idProblem(h.ID); {
	case !engine.ValidCode(h.Code):
		c.o.Faults.Add(where("hot", key), "%q is not a code", h.Code)
	case why != "":
		c.o.Faults.Add(where("hot", key), "code %q: %s", h.Code, why)
	case h.Flags&engine.FlagTombstone == 0 && len(h.Target) == 0:
		c.o.Faults.Add(where("hot", key), "code %q has no target", h.Code)
	}
	if c.meta.edge { // it has no accounts
		return nil
	}
	return c.wantOwner(h.Owner, "hot", key)
}

func (hotPart) end() error { return nil }

// coldPart checks cold records: each has a hot record of its code. If that is live and has the same
// id, the link has its index rows. If it has another id, the link was deleted and its code was
// given to another link.
type coldPart struct {
	c          *check
	key, value []byte // kept for their memory
}

func beginCold(c *check) (checkedPart, error) { return &coldPart{c: c}, nil }

func (p *coldPart) end() error { return nil }

func (p *coldPart) row(key, value []byte) error {
	c := p.c
	if len(key) != 1+8 {
		c.o.Faults.Add(where("cold", key), "a link id has 8 bytes")
		return nil
	}
	id := binary.BigEndian.Uint64(key[1:])
	if why := c.meta.idProblem(id); why != "" {
		c.o.Faults.Add(where("cold", key), "%s", why)
	}
	cold, err := row.DecodeCold(value)
	if err != nil {
		c.o.Faults.Add(where("cold", key), "id %d: %v", id, err)
		return nil
	}
	p.key = row.AppendHotKey(p.key[:0], cold.Code)
	hotValue, missing, done := c.lookup("hot", p.key)
	defer done()
	if missing {
		c.o.Faults.Add(where("cold", key), "id %d: no hot record has its code %q", id, cold.Code)
	}
	if hotValue == nil {
		return nil
	}
	hot, err := row.DecodeHot([]byte(cold.Code), hotValue)
	switch {
	case err != nil: // reported when hot records are checked
	case hot.ID != id || hot.Flags&engine.FlagTombstone != 0:
		c.links.deleted.Add(1)
	default:
		c.links.matched.Add(1)
		if !c.meta.edge {
			p.wantIndexRows(&hot, &cold)
		} else if cold.Title != "" || len(cold.Tags) > 0 || cold.ImportedHits > 0 {
			c.o.Faults.Add(where("cold", key), "an edge has no title, tags or figures, and this one has some of code %q", cold.Code)
		}
	}
	return nil
}

// wantIndexRows checks that the link has the index rows that an edit of it would write.
func (p *coldPart) wantIndexRows(hot *engine.HotView, cold *engine.Cold) {
	p.value = row.AppendIndexValue(p.value[:0], row.IndexValue{Code: cold.Code, Host: row.HostOf(string(hot.Target)), Title: cold.Title})
	p.key = row.AppendByOwnerKey(p.key[:0], hot.Owner, hot.ID)
	p.wantIndexRow("by owner", cold.Code)
	for i, tag := range cold.Tags {
		if engine.HasTag(cold.Tags[:i], tag) || p.c.meta.layout < row.FoldedTags { // of an older layout, the first start writes the index again
			continue
		}
		p.c.links.matchedTags.Add(1)
		p.key = row.AppendByTagKey(p.key[:0], hot.Owner, tag, hot.ID)
		p.wantIndexRow("by tag", cold.Code)
	}
}

func (p *coldPart) wantIndexRow(table, code string) {
	value, missing, done := p.c.lookup(table, p.key)
	defer done()
	switch {
	case missing:
		p.c.o.Faults.Add(where(table, p.key), "the row of code %q is missing", code)
	case value != nil && !slices.Equal(value, p.value):
		p.c.o.Faults.Add(where(table, p.key), "the row of code %q is not what the link is: %x instead of %x", code, value, p.value)
	}
}

// indexPart checks each index row alone.
type indexPart struct{ c *check }

func beginIndex(c *check) (checkedPart, error) { return indexPart{c}, nil }

func (indexPart) end() error { return nil }

func (p indexPart) row(key, value []byte) error {
	name := indexName(key)
	if _, _, ok := row.SplitIndexKey(key); !ok && (key[0] != row.TableByTag || p.c.meta.layout >= row.FoldedTags) {
		p.c.o.Faults.Add(where(name, key), "its length is wrong")
	} else if _, err := row.DecodeIndexValue(value); err != nil {
		p.c.o.Faults.Add(where(name, key), "%v", err)
	}
	return nil
}

func indexName(key []byte) string {
	if key[0] == row.TableByTag {
		return "by tag"
	}
	return "by owner"
}

// nameStrays finds hot records without a cold record, and index rows without a link. Some exist if
// there are more hot records or index rows than the cold records have found.
func (c *check) nameStrays() error {
	l := &c.links
	for _, x := range []struct {
		table     byte
		step      string
		got, want uint64
		begin     func(*check) (checkedPart, error)
	}{
		{row.TableHot, "hot, looking for strays", l.live.Load(), l.matched.Load(), beginStrayHot},
		{row.TableByOwner, "by owner, looking for strays", c.report.ByOwner, l.matched.Load(), beginStrayIndex},
		{row.TableByTag, "by tag, looking for strays", c.report.ByTag, l.matchedTags.Load(), beginStrayIndex},
	} {
		if x.got == x.want || c.meta.edge && x.table != row.TableHot || // an edge has no index rows
			x.table == row.TableByTag && c.meta.layout < row.FoldedTags {
			continue
		}
		if _, err := c.checkRows(x.step, row.TableRange(x.table), x.begin); err != nil {
			return err
		}
	}
	return nil
}

type strayHot struct{ c *check }

func beginStrayHot(c *check) (checkedPart, error) { return strayHot{c}, nil }

func (strayHot) end() error { return nil }

func (p strayHot) row(key, value []byte) error {
	h, err := row.DecodeHot(key[1:], value)
	if err != nil || h.Flags&engine.FlagTombstone != 0 {
		return nil
	}
	v, missing, done := p.c.lookup("cold", row.AppendColdKey(nil, h.ID))
	defer done()
	if missing {
		p.c.o.Faults.Add(where("hot", key), "code %q has no cold record of its id %d", h.Code, h.ID)
	} else if cold, err := row.DecodeCold(v); v != nil && err == nil && cold.Code != string(h.Code) {
		p.c.o.Faults.Add(where("hot", key), "the cold record of its id %d is of code %q, not %q", h.ID, cold.Code, h.Code)
	}
	return nil
}

type strayIndex struct{ c *check }

func beginStrayIndex(c *check) (checkedPart, error) { return strayIndex{c}, nil }

func (strayIndex) end() error { return nil }

func (p strayIndex) row(key, value []byte) error {
	tag, id, ok := row.SplitIndexKey(key)
	x, err := row.DecodeIndexValue(value)
	if !ok || err != nil {
		return nil // reported before
	}
	rec, err := readRecord(p.c.r, x.Code)
	switch owner := binary.BigEndian.Uint32(key[1:]); {
	case err == nil && rec.Hot.Flags&engine.FlagTombstone == 0 && rec.Hot.ID == id && rec.Hot.Owner == owner &&
		(key[0] == row.TableByOwner || engine.HasTag(rec.Cold.Tags, tag)):
	case pebble.ExtractDataCorruptionInfo(err) != nil: // reported when the link's own records are checked
	default:
		p.c.o.Faults.Add(where(indexName(key), key), "there is no such link: code %q, id %d, owner %d, tag %q", x.Code, id, owner, tag)
	}
	return nil
}
