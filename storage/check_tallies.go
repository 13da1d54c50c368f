package storage

import (
	"errors"
	"fmt"
	"sync"

	"shunt/engine/plural"
	"shunt/storage/row"
)

func hits(n uint64) string { return plural.Of(n, "hit", "hits") }

// counts are sums of tally rows. They may overflow, but then both sides of a comparison overflow
// alike.
type counts struct{ hits, bots, prefetches, heads uint64 }

func (s *counts) add(t *row.RawTally) {
	s.hits += t.Hits
	s.bots += t.Bots
	s.prefetches += t.Prefetches
	s.heads += t.Heads
}

// checkedTotals are the sums of each hour and each day, over all links and over all owners: every
// hit counts for both. There is one for each hour and day that is kept, some 5,000 at most unless
// clocks were wrong.
type checkedTotals struct {
	mu  sync.Mutex
	all map[totalKey]*counts
}

type totalKey struct {
	table byte
	when  uint32 // hour or day
}

func (t *checkedTotals) init() { t.all = map[totalKey]*counts{} }

func (t *checkedTotals) add(key totalKey, s *counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[key] == nil {
		t.all[key] = new(counts)
	}
	sum := t.all[key]
	sum.hits += s.hits
	sum.bots += s.bots
	sum.prefetches += s.prefetches
	sum.heads += s.heads
}

// compareTotals compares the sums of links with those of owners, hour by hour and day by day. A hit
// counts for both. A purge removes the rows of a link and keeps those of its owner, so links never
// have more.
func (c *check) compareTotals() {
	for key := range c.totals.all {
		switch key.table {
		case row.TableLinkHours:
			c.compareTotal(key, totalKey{row.TableOwnerHours, key.when})
		case row.TableLinkDays:
			c.compareTotal(key, totalKey{row.TableOwnerDays, key.when})
		}
	}
}

// compareTotal skips days that are being swept, and the day that is being rolled up, since in those
// links may be ahead of owners.
func (c *check) compareTotal(linkKey, ownerKey totalKey) {
	what, m := "hour", &c.meta
	if linkKey.table == row.TableLinkDays {
		what = "day"
		between := m.mark.Begun()
		if linkKey.when < m.sweep.FirstDay || between && linkKey.when == m.mark.Hour/row.HoursPerDay {
			return
		}
	}
	links, owners := *c.totals.all[linkKey], counts{}
	if s := c.totals.all[ownerKey]; s != nil {
		owners = *s
	}
	if links.exceeds(&owners) {
		c.o.Faults.Add(fmt.Sprintf("tallies of %s %d", what, linkKey.when), "all links have %s, and all owners %d (with bots, prefetches and HEAD: %d and %d)",
			hits(links.hits), owners.hits, links.all(), owners.all())
	}
}

func (s *counts) exceeds(o *counts) bool {
	return s.hits > o.hits || s.bots > o.bots || s.prefetches > o.prefetches || s.heads > o.heads
}

func (s *counts) all() uint64 { return s.hits + s.bots + s.prefetches + s.heads }

// tallyPart is the shared part of the checks of all five tables of tallies.
type tallyPart struct {
	c     *check
	name  string
	cold  *join // of link tallies
	key   []byte
	total totalKey
	sum   counts // of total
}

func (c *check) newTallyPart(name string, ofLinks bool) (p tallyPart, err error) {
	p = tallyPart{c: c, name: name}
	if ofLinks {
		p.cold, err = c.newJoin(row.TableCold)
	}
	return p, err
}

func (p *tallyPart) end() error {
	p.cold.end()
	p.flush()
	return nil
}

func (p *tallyPart) flush() {
	if p.sum != (counts{}) {
		p.c.totals.add(p.total, &p.sum)
	}
	p.sum = counts{}
}

// tally checks a value and adds it to the sums of its hour or day.
func (p *tallyPart) tally(key, value []byte, total totalKey) (t row.RawTally, ok bool) {
	t, err := checkedTally(value)
	if err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
		return t, false
	}
	if total != p.total {
		p.flush()
		p.total = total
	}
	p.sum.add(&t)
	return t, true
}

func (p *tallyPart) wantLink(key []byte, id uint64) {
	p.key = row.AppendColdKey(p.key[:0], id)
	if why := p.c.meta.idProblem(id); why != "" {
		p.c.o.Faults.Add(where(p.name, key), "%s", why)
	} else if _, ok := p.cold.find(p.key); !ok {
		p.c.o.Faults.Add(where(p.name, key), "no link, not even a deleted one, has id %d", id)
	}
}

// checkedTally accepts a tally row in its one encoding, with no more visitors than hits. The
// encoding already ensures that breakdowns have no more hits than the row; they may have fewer,
// since hits of unknown values are in none.
func checkedTally(value []byte) (row.RawTally, error) {
	if err := row.CheckTally(value); err != nil {
		return row.RawTally{}, err
	}
	t, err := row.ParseTally(value)
	if err != nil {
		return t, err
	}
	if least := t.LeastVisitors(); t.Hits < least {
		return t, fmt.Errorf("%s of at least %s", hits(t.Hits), plural.Of(least, "visitor", "visitors"))
	}
	return t, nil
}

// linkHours checks that a row before the mark is contained in its day.
type linkHours struct {
	tallyPart
	days *join
}

func beginLinkHours(c *check) (checkedPart, error) {
	p := &linkHours{}
	var err, daysErr error
	p.tallyPart, err = c.newTallyPart("link hours", true)
	p.days, daysErr = c.newJoin(row.TableLinkDays)
	return p, errors.Join(err, daysErr)
}

func (p *linkHours) end() error {
	p.days.end()
	return p.tallyPart.end()
}

func (p *linkHours) row(key, value []byte) error {
	id, err := row.HourSuffix(key)
	if err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
		return nil
	}
	p.wantLink(key, id)
	return p.hour(key, value, id, row.StageLinks, p.days)
}

// hour checks a row of an hour against the marks, and against its day.
func (p *tallyPart) hour(key, value []byte, id uint64, s row.Stage, days *join) error {
	m, hour := &p.c.meta, row.HourOf(key)
	t, ok := p.tally(key, value, totalKey{key[0], hour})
	day := hour / row.HoursPerDay
	switch {
	case !ok:
	case hour < m.firstHour:
		p.c.o.Faults.Add(where(p.name, key), "hours before %d are deleted", m.firstHour)
	case m.mark.Passed(s, hour, id) && day >= m.sweep.FirstDay:
		table := byte(row.TableLinkDays)
		if s == row.StageOwners {
			table = row.TableOwnerDays
		}
		p.key = row.AppendDayKey(p.key[:0], table, id, day)
		v, found := days.find(p.key)
		if in, err := row.ParseTally(v); !found || err == nil && (in.Hits < t.Hits || in.Bots < t.Bots) {
			p.c.o.Faults.Add(where(p.name, key), "it is rolled up, and its day %d has only %s of its %d", day, hits(in.Hits), t.Hits)
		}
	}
	return nil
}

type ownerHours struct {
	tallyPart
	days *join
}

func beginOwnerHours(c *check) (checkedPart, error) {
	p := &ownerHours{}
	var err, daysErr error
	p.tallyPart, err = c.newTallyPart("owner hours", false)
	p.days, daysErr = c.newJoin(row.TableOwnerDays)
	return p, errors.Join(err, daysErr)
}

func (p *ownerHours) end() error {
	p.days.end()
	return p.tallyPart.end()
}

func (p *ownerHours) row(key, value []byte) error {
	owner, err := row.HourSuffix(key)
	if err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
		return nil
	}
	if err := p.c.wantOwner(uint32(owner), p.name, key); err != nil {
		return err
	}
	return p.hour(key, value, owner, row.StageOwners, p.days)
}

// linkDays checks that the days of a link have no more hits than its life.
type linkDays struct {
	tallyPart
	lives *join
	id    uint64
	hits  uint64 // of the days of id in this part
}

func beginLinkDays(c *check) (checkedPart, error) {
	p := &linkDays{}
	var err, livesErr error
	p.tallyPart, err = c.newTallyPart("link days", true)
	p.lives, livesErr = c.newJoin(row.TableLinkLives)
	return p, errors.Join(err, livesErr)
}

func (p *linkDays) end() error {
	p.wantLife()
	p.lives.end()
	return p.tallyPart.end()
}

func (p *linkDays) row(key, value []byte) error {
	id, day, err := row.SplitDayKey(key)
	if err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
		return nil
	}
	if id != p.id {
		p.wantLife()
		p.id = id
		p.wantLink(key, id)
	}
	if t, ok := p.day(key, value, day); ok {
		p.hits += t.Hits
	}
	return nil
}

func (p *linkDays) wantLife() {
	if p.id == 0 {
		return
	}
	key := row.AppendLinkLifeKey(nil, p.id)
	v, found := p.lives.find(key)
	if in, err := row.ParseTally(v); !found || err == nil && in.Hits < p.hits {
		p.c.o.Faults.Add(where("link lives", key), "the life of link %d has %s, and its days %d", p.id, hits(in.Hits), p.hits)
	}
	p.hits = 0
}

// day checks a row of a day against the mark: a day has rows only after one of its hours is rolled
// up.
func (p *tallyPart) day(key, value []byte, day uint32) (row.RawTally, bool) {
	t, ok := p.tally(key, value, totalKey{key[0], day})
	if last := p.c.meta.mark.Last(); ok && day > last/row.HoursPerDay {
		p.c.o.Faults.Add(where(p.name, key), "no hour of day %d is rolled up: that went as far as hour %d", day, last)
	}
	return t, ok
}

type ownerDays struct{ tallyPart }

func beginOwnerDays(c *check) (checkedPart, error) {
	p, err := c.newTallyPart("owner days", false)
	return &ownerDays{p}, err
}

func (p *ownerDays) row(key, value []byte) error {
	owner, day, err := row.SplitDayKey(key)
	if err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
		return nil
	}
	p.day(key, value, day)
	return p.c.wantOwner(uint32(owner), p.name, key)
}

type linkLives struct{ tallyPart }

func beginLinkLives(c *check) (checkedPart, error) {
	p, err := c.newTallyPart("link lives", true)
	return &linkLives{p}, err
}

func (p *linkLives) row(key, value []byte) error {
	id, err := row.LinkOf(key)
	if err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
		return nil
	}
	p.wantLink(key, id)
	if _, err := checkedTally(value); err != nil {
		p.c.o.Faults.Add(where(p.name, key), "%v", err)
	}
	return nil
}

// importsPart checks what owners have imported. The links may have gone, or have another owner.
type importsPart struct{ c *check }

func beginImports(c *check) (checkedPart, error) { return importsPart{c}, nil }

func (importsPart) end() error { return nil }

func (p importsPart) row(key, value []byte) error {
	owner, _, err := row.SplitImportKey(key)
	if err == nil {
		_, err = checkedTally(value)
	}
	if err != nil {
		p.c.o.Faults.Add(where("imports", key), "%v", err)
		return nil
	}
	return p.c.wantOwner(owner, "imports", key)
}
