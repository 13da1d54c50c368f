package hits

import (
	"errors"
	"fmt"
	"sync"

	"shunt/engine/plural"
	"shunt/storage/check"
	"shunt/storage/row"
)

// checks checks the rows of hits.
type checks struct {
	*check.Run
	mark      row.Mark
	sweep     row.Sweep
	firstHour uint32
	totals    checkedTotals
}

// Check returns how the rows of hits are checked.
func Check(run *check.Run) check.Subject {
	c := &checks{Run: run, sweep: row.Sweep{Stage: row.StageDone}}
	c.totals.init()
	return check.Subject{
		Tables: []check.Table{
			{Table: row.TableLinkHours, Name: "link hours", Begin: c.beginLinkHours, Rows: func(r *check.Report) *uint64 { return &r.LinkHours }},
			{Table: row.TableOwnerHours, Name: "owner hours", Begin: c.beginOwnerHours, Rows: func(r *check.Report) *uint64 { return &r.OwnerHours }},
			{Table: row.TableLinkDays, Name: "link days", Begin: c.beginLinkDays, Rows: func(r *check.Report) *uint64 { return &r.LinkDays }},
			{Table: row.TableLinkLives, Name: "link lives", Begin: c.beginLinkLives, Rows: func(r *check.Report) *uint64 { return &r.LinkLives }},
			{Table: row.TableOwnerDays, Name: "owner days", Begin: c.beginOwnerDays, Rows: func(r *check.Report) *uint64 { return &r.OwnerDays }},
			{Table: row.TableImports, Name: "imports", Begin: check.Each(c.imports), Rows: func(r *check.Report) *uint64 { return &r.Imports }},
		},
		Meta: []check.MetaRow{
			{Name: row.MetaPositions, What: "positions", Read: c.positions},
			{Name: row.MetaMark, What: "roll-up mark", Read: func(v []byte) (err error) {
				c.mark, err = row.DecodeMark(v)
				return err
			}},
			{Name: row.MetaClock, What: "clock", Read: func(v []byte) error {
				_, err := row.DecodeClock(v)
				return err
			}},
			{Name: row.MetaSweep, What: "sweep mark", Read: func(v []byte) (err error) {
				c.sweep, err = row.DecodeSweep(v)
				return err
			}},
			{Name: row.MetaFirstHour, What: "first whole hour", Read: func(v []byte) error { return check.Uint32(&c.firstHour, v) }},
		},
		Begin: func() {
			if c.firstHour > c.mark.Hour {
				c.Fault("meta, first whole hour", "%d, although hours from %d on are not rolled up", c.firstHour, c.mark.Hour)
			}
		},
		End: func() error {
			c.compareTotals()
			return nil
		},
	}
}

func (c *checks) positions(v []byte) error {
	p, err := row.DecodePositions(v)
	if err == nil && p.Epoch == 0 && (p.FlushSeq > 0 || len(p.Rings) > 0) {
		err = errors.New("positions of no epoch")
	}
	return err
}

func inWords(n uint64) string { return plural.Of(n, "hit", "hits") }

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
func (c *checks) compareTotals() {
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
func (c *checks) compareTotal(linkKey, ownerKey totalKey) {
	what, m := "hour", c
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
		c.Fault(fmt.Sprintf("tallies of %s %d", what, linkKey.when), "all links have %s, and all owners %d (with bots, prefetches and HEAD: %d and %d)",
			inWords(links.hits), owners.hits, links.all(), owners.all())
	}
}

func (s *counts) exceeds(o *counts) bool {
	return s.hits > o.hits || s.bots > o.bots || s.prefetches > o.prefetches || s.heads > o.heads
}

func (s *counts) all() uint64 { return s.hits + s.bots + s.prefetches + s.heads }

// tallyPart is the shared part of the checks of all five tables of tallies.
type tallyPart struct {
	c     *checks
	name  string
	cold  *check.Join // of link tallies
	key   []byte
	total totalKey
	sum   counts // of total
}

func (c *checks) newTallyPart(name string, ofLinks bool) (p tallyPart, err error) {
	p = tallyPart{c: c, name: name}
	if ofLinks {
		p.cold, err = c.NewJoin(row.TableCold)
	}
	return p, err
}

func (p *tallyPart) End() error {
	p.cold.End()
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
		p.c.Fault(check.Where(p.name, key), "%v", err)
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
	if why := p.c.IDProblem(id); why != "" {
		p.c.Fault(check.Where(p.name, key), "%s", why)
	} else if _, ok := p.cold.Find(p.key); !ok {
		p.c.Fault(check.Where(p.name, key), "no link, not even a deleted one, has id %d", id)
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
		return t, fmt.Errorf("%s of at least %s", inWords(t.Hits), plural.Of(least, "visitor", "visitors"))
	}
	return t, nil
}

// linkHours checks that a row before the mark is contained in its day.
type linkHours struct {
	tallyPart
	days *check.Join
}

func (c *checks) beginLinkHours() (check.Part, error) {
	p := &linkHours{}
	var err, daysErr error
	p.tallyPart, err = c.newTallyPart("link hours", true)
	p.days, daysErr = c.NewJoin(row.TableLinkDays)
	return p, errors.Join(err, daysErr)
}

func (p *linkHours) End() error {
	p.days.End()
	return p.tallyPart.End()
}

func (p *linkHours) Row(key, value []byte) error {
	id, err := row.HourSuffix(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	p.wantLink(key, id)
	return p.hour(key, value, id, row.StageLinks, p.days)
}

// hour checks a row of an hour against the marks, and against its day.
func (p *tallyPart) hour(key, value []byte, id uint64, s row.Stage, days *check.Join) error {
	m, hour := p.c, row.HourOf(key)
	t, ok := p.tally(key, value, totalKey{key[0], hour})
	day := hour / row.HoursPerDay
	switch {
	case !ok:
	case hour < m.firstHour:
		p.c.Fault(check.Where(p.name, key), "hours before %d are deleted", m.firstHour)
	case m.mark.Passed(s, hour, id) && day >= m.sweep.FirstDay:
		table := byte(row.TableLinkDays)
		if s == row.StageOwners {
			table = row.TableOwnerDays
		}
		p.key = row.AppendDayKey(p.key[:0], table, id, day)
		v, found := days.Find(p.key)
		if in, err := row.ParseTally(v); !found || err == nil && (in.Hits < t.Hits || in.Bots < t.Bots) {
			p.c.Fault(check.Where(p.name, key), "it is rolled up, and its day %d has only %s of its %d", day, inWords(in.Hits), t.Hits)
		}
	}
	return nil
}

type ownerHours struct {
	tallyPart
	days *check.Join
}

func (c *checks) beginOwnerHours() (check.Part, error) {
	p := &ownerHours{}
	var err, daysErr error
	p.tallyPart, err = c.newTallyPart("owner hours", false)
	p.days, daysErr = c.NewJoin(row.TableOwnerDays)
	return p, errors.Join(err, daysErr)
}

func (p *ownerHours) End() error {
	p.days.End()
	return p.tallyPart.End()
}

func (p *ownerHours) Row(key, value []byte) error {
	owner, err := row.HourSuffix(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if err := p.c.WantOwner(uint32(owner), p.name, key); err != nil {
		return err
	}
	return p.hour(key, value, owner, row.StageOwners, p.days)
}

// linkDays checks that the days of a link have no more hits than its life.
type linkDays struct {
	tallyPart
	lives *check.Join
	id    uint64
	hits  uint64 // of the days of id in this part
}

func (c *checks) beginLinkDays() (check.Part, error) {
	p := &linkDays{}
	var err, livesErr error
	p.tallyPart, err = c.newTallyPart("link days", true)
	p.lives, livesErr = c.NewJoin(row.TableLinkLives)
	return p, errors.Join(err, livesErr)
}

func (p *linkDays) End() error {
	p.wantLife()
	p.lives.End()
	return p.tallyPart.End()
}

func (p *linkDays) Row(key, value []byte) error {
	id, day, err := row.SplitDayKey(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
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
	v, found := p.lives.Find(key)
	if in, err := row.ParseTally(v); !found || err == nil && in.Hits < p.hits {
		p.c.Fault(check.Where("link lives", key), "the life of link %d has %s, and its days %d", p.id, inWords(in.Hits), p.hits)
	}
	p.hits = 0
}

// day checks a row of a day against the mark: a day has rows only after one of its hours is rolled
// up.
func (p *tallyPart) day(key, value []byte, day uint32) (row.RawTally, bool) {
	t, ok := p.tally(key, value, totalKey{key[0], day})
	if last := p.c.mark.Last(); ok && day > last/row.HoursPerDay {
		p.c.Fault(check.Where(p.name, key), "no hour of day %d is rolled up: that went as far as hour %d", day, last)
	}
	return t, ok
}

type ownerDays struct{ tallyPart }

func (c *checks) beginOwnerDays() (check.Part, error) {
	p, err := c.newTallyPart("owner days", false)
	return &ownerDays{p}, err
}

func (p *ownerDays) Row(key, value []byte) error {
	owner, day, err := row.SplitDayKey(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	p.day(key, value, day)
	return p.c.WantOwner(uint32(owner), p.name, key)
}

type linkLives struct{ tallyPart }

func (c *checks) beginLinkLives() (check.Part, error) {
	p, err := c.newTallyPart("link lives", true)
	return &linkLives{p}, err
}

func (p *linkLives) Row(key, value []byte) error {
	id, err := row.LinkOf(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	p.wantLink(key, id)
	if _, err := checkedTally(value); err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
	}
	return nil
}

// imports checks what an owner has imported. The links may have gone, or have another owner.
func (c *checks) imports(key, value []byte) error {
	owner, _, err := row.SplitImportKey(key)
	if err == nil {
		_, err = checkedTally(value)
	}
	if err != nil {
		c.Fault(check.Where("imports", key), "%v", err)
		return nil
	}
	return c.WantOwner(owner, "imports", key)
}
