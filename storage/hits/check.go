package hits

import (
	"errors"
	"fmt"
	"sync"

	"shunt/engine/plural"
	"shunt/engine/zone"
	"shunt/storage/check"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// checks checks the rows of hits.
type checks struct {
	*check.Run
	mark      row.Mark
	sweep     row.Sweep
	firstHour uint32
	zone      *zone.Zone
	totals    checkedTotals
}

// Check returns how the rows of hits are checked.
func Check(run *check.Run) check.Subject {
	c := &checks{Run: run, sweep: row.Sweep{Stage: row.StageDone}, totals: checkedTotals{all: map[totalKey]*counts{}}}
	hoursOf := func(name string, ofLinks bool, days byte) func() (check.Part, error) {
		return func() (check.Part, error) {
			p, err := c.begin(name, ofLinks, days)
			return &hours{p}, err
		}
	}
	daysOf := func(name string, ofLinks bool, lives byte) func() (check.Part, error) {
		return func() (check.Part, error) {
			p, err := c.begin(name, ofLinks, lives)
			return &days{p}, err
		}
	}
	livesOf := func() (check.Part, error) {
		p, err := c.begin("link lives", true, 0)
		if err != nil {
			return nil, err
		}
		due, err := kv.HasRows(c.Reader, row.TableRange(row.TableSummariesDue))
		return &lives{p, err == nil && !due}, nil // the check of that table reports the error
	}
	return check.Subject{
		Tables: []check.Table{
			{Table: row.TableLinkHours, Name: "link hours", Begin: hoursOf("link hours", true, row.TableLinkDays), Rows: func(r *check.Report) *uint64 { return &r.LinkHours }},
			{Table: row.TableOwnerHours, Name: "owner hours", Begin: hoursOf("owner hours", false, row.TableOwnerDays), Rows: func(r *check.Report) *uint64 { return &r.OwnerHours }},
			{Table: row.TableLinkDays, Name: "link days", Begin: daysOf("link days", true, row.TableLinkLives), Rows: func(r *check.Report) *uint64 { return &r.LinkDays }},
			{Table: row.TableLinkLives, Name: "link lives", Begin: livesOf, Rows: func(r *check.Report) *uint64 { return &r.LinkLives }},
			{Table: row.TableOwnerDays, Name: "owner days", Begin: daysOf("owner days", false, 0), Rows: func(r *check.Report) *uint64 { return &r.OwnerDays }},
			{Table: row.TableImports, Name: "imports", Begin: check.Each(c.imports), Rows: func(r *check.Report) *uint64 { return &r.Imports }},
			{Table: row.TableSummaries, Name: "summaries", Begin: check.Each(c.summary), Rows: func(r *check.Report) *uint64 { return &r.Summaries }},
			{Table: row.TableSummariesDue, Name: "summaries due", Begin: check.Each(c.summaryDue), Rows: func(r *check.Report) *uint64 { return &r.SummariesDue }},
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
			{Name: row.MetaZone, What: "time zone", Read: func(v []byte) (err error) {
				c.zone, err = decodeZone(v)
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
		if linkKey.when < m.sweep.FirstDay || between && linkKey.when == m.zone.Day(m.mark.Hour) {
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
	c       *checks
	name    string
	cold    *check.Join // of link tallies; nil: they are of owners
	sums    *check.Join // the rows that have the sums of these: days of hours, lives of days; nil: none
	sumsOf  byte        // their table
	stage   row.Stage   // in which an hour is added to its day
	key     []byte
	total   totalKey
	sum     counts // of total
	subject uint64 // of the days: the link
	hits    uint64 // of the days of subject in this part
}

// begin begins the check of a table of tallies, whose rows are summed up in those of sumsOf; 0: in none.
func (c *checks) begin(name string, ofLinks bool, sumsOf byte) (p tallyPart, err error) {
	p = tallyPart{c: c, name: name, sumsOf: sumsOf, stage: row.StageOwners}
	if ofLinks {
		p.stage = row.StageLinks
		p.cold, err = c.NewJoin(row.TableCold)
	}
	if err == nil && sumsOf != 0 {
		p.sums, err = c.NewJoin(sumsOf)
	}
	return p, err
}

func (p *tallyPart) End() error {
	p.cold.End()
	p.sums.End()
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

// wantSubject checks that the link, or the owner, of a row is there.
func (p *tallyPart) wantSubject(key []byte, id uint64) error {
	if p.cold == nil {
		return p.c.WantOwner(uint32(id), p.name, key)
	}
	p.key = row.AppendColdKey(p.key[:0], id)
	if why := p.c.IDProblem(id); why != "" {
		p.c.Fault(check.Where(p.name, key), "%s", why)
	} else if _, ok := p.cold.Find(p.key); !ok {
		p.c.Fault(check.Where(p.name, key), "no link, not even a deleted one, has id %d", id)
	}
	return nil
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

// hours checks that a row before the mark is contained in its day.
type hours struct{ tallyPart }

func (p *hours) Row(key, value []byte) error {
	id, err := row.HourSuffix(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if err := p.wantSubject(key, id); err != nil {
		return err
	}
	m, hour := p.c, row.HourOf(key)
	t, ok := p.tally(key, value, totalKey{key[0], hour})
	day := m.zone.Day(hour)
	switch {
	case !ok:
	case hour < m.firstHour:
		p.c.Fault(check.Where(p.name, key), "hours before %d are deleted", m.firstHour)
	case m.mark.Passed(p.stage, hour, id) && day >= m.sweep.FirstDay:
		p.key = row.AppendDayKey(p.key[:0], p.sumsOf, id, day)
		v, found := p.sums.Find(p.key)
		if in, err := row.ParseTally(v); !found || err == nil && (in.Hits < t.Hits || in.Bots < t.Bots) {
			p.c.Fault(check.Where(p.name, key), "it is rolled up, and its day %d has only %s of its %d", day, inWords(in.Hits), t.Hits)
		}
	}
	return nil
}

// days checks that a day has rows only after one of its hours is rolled up, and that the days of a link have no more
// hits than its life.
type days struct{ tallyPart }

func (p *days) Row(key, value []byte) error {
	id, day, err := row.SplitDayKey(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if p.cold == nil || id != p.subject {
		p.wantLife()
		p.subject = id
		if err := p.wantSubject(key, id); err != nil {
			return err
		}
	}
	t, ok := p.tally(key, value, totalKey{key[0], day})
	if last := p.c.mark.Last(); ok && day > p.c.zone.Day(last) {
		p.c.Fault(check.Where(p.name, key), "no hour of day %d is rolled up: that went as far as hour %d", day, last)
	}
	p.hits += t.Hits
	return nil
}

func (p *days) End() error {
	p.wantLife()
	return p.tallyPart.End()
}

// wantLife compares the days of a link, which were read, with its life.
func (p *days) wantLife() {
	if p.sums == nil || p.subject == 0 {
		return
	}
	key := row.AppendLinkLifeKey(nil, p.subject)
	v, found := p.sums.Find(key)
	if in, err := row.ParseTally(v); !found || err == nil && in.Hits < p.hits {
		p.c.Fault(check.Where("link lives", key), "the life of link %d has %s, and its days %d", p.subject, inWords(in.Hits), p.hits)
	}
	p.hits = 0
}

// lives checks the lives of links, and that each with visitors has its summary.
type lives struct {
	tallyPart
	summarised bool // no summary is due
}

func (p *lives) Row(key, value []byte) error {
	id, err := row.LinkOf(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if err := p.wantSubject(key, id); err != nil {
		return err
	}
	if _, err := checkedTally(value); err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if p.summarised {
		p.wantSummary(id, value)
	}
	return nil
}

// wantSummary checks that a link has the summary of its life.
func (p *lives) wantSummary(id uint64, life []byte) {
	_, visitors, err := row.CountVisitors(life)
	if err != nil || visitors == 0 { // the former is reported
		return
	}
	key := row.AppendSummaryKey(nil, id)
	v, missing, done := p.c.Lookup("summaries", key)
	defer done()
	if missing {
		p.c.Fault(check.Where("summaries", key), "link %d has none, and %s", id, plural.Of(visitors, "visitor", "visitors"))
	} else if s, err := row.DecodeSummary(v); v != nil && err == nil && s.Visitors != visitors {
		p.c.Fault(check.Where("summaries", key), "link %d has %s, and not %d", id, plural.Of(visitors, "visitor", "visitors"), s.Visitors)
	}
}

// summary checks that a summary is of a link with a life.
func (c *checks) summary(key, value []byte) error {
	id, err := row.SplitSummaryKey(key)
	if err == nil {
		_, err = row.DecodeSummary(value)
	}
	if err != nil {
		c.Fault(check.Where("summaries", key), "%v", err)
		return nil
	}
	_, missing, done := c.Lookup("link lives", row.AppendLinkLifeKey(nil, id))
	defer done()
	if missing {
		c.Fault(check.Where("summaries", key), "link %d has no life", id)
	}
	return nil
}

func (c *checks) summaryDue(key, value []byte) error {
	_, _, err := row.SplitSummaryDueKey(key)
	if err == nil && len(value) > 0 {
		err = errors.New("it has a value")
	}
	if err != nil {
		c.Fault(check.Where("summaries due", key), "%v", err)
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
