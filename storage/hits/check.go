package hits

import (
	"errors"
	"fmt"

	"shunt/engine"
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
	hoursOf := func(name string, table, days byte) func() (check.Part, error) {
		return func() (check.Part, error) {
			p, err := c.begin(name, table, days)
			return &hours{p}, err
		}
	}
	daysOf := func(name string, table, lives byte) func() (check.Part, error) {
		return func() (check.Part, error) {
			p, err := c.begin(name, table, lives)
			return &days{tallyPart: p}, err
		}
	}
	livesOf := func() (check.Part, error) {
		p, err := c.begin("link lives", row.TableLinkLives, 0)
		if err != nil {
			return nil, err
		}
		due, err := kv.HasRows(c.Reader, row.TableRange(row.TableSummariesDue))
		return &lives{p, err == nil && !due}, nil // the check of that table reports the error
	}
	return check.Subject{
		Tables: []check.Table{
			{Table: row.TableLinkHours, Name: "link hours", Begin: hoursOf("link hours", row.TableLinkHours, row.TableLinkDays), Rows: func(r *check.Report) *uint64 { return &r.LinkHours }},
			{Table: row.TableOwnerHours, Name: "owner hours", Begin: hoursOf("owner hours", row.TableOwnerHours, row.TableOwnerDays), Rows: func(r *check.Report) *uint64 { return &r.OwnerHours }},
			{Table: row.TableLinkDays, Name: "link days", Begin: daysOf("link days", row.TableLinkDays, row.TableLinkLives), Rows: func(r *check.Report) *uint64 { return &r.LinkDays }},
			{Table: row.TableLinkLives, Name: "link lives", Begin: livesOf, Rows: func(r *check.Report) *uint64 { return &r.LinkLives }},
			{Table: row.TableOwnerDays, Name: "owner days", Begin: daysOf("owner days", row.TableOwnerDays, 0), Rows: func(r *check.Report) *uint64 { return &r.OwnerDays }},
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

// tallyPart is the shared part of the checks of all five tables of tallies.
type tallyPart struct {
	c       *checks
	name    string
	cold    *check.Join // of link tallies; nil: they are of owners
	links   *check.Join // the rows of links, for those of their targets; nil: they are of owners
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
func (c *checks) begin(name string, table, sumsOf byte) (p tallyPart, err error) {
	p = tallyPart{c: c, name: name, sumsOf: sumsOf, stage: row.StageOwners}
	if table != row.TableOwnerHours && table != row.TableOwnerDays {
		p.stage = row.StageLinks
		if p.cold, err = c.NewJoin(row.TableCold); err == nil {
			p.links, err = c.NewJoin(table)
		}
	}
	if err == nil && sumsOf != 0 {
		p.sums, err = c.NewJoin(sumsOf)
	}
	return p, err
}

func (p *tallyPart) End() error {
	p.cold.End()
	p.links.End()
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

// tally checks a value and adds it to the sums of its hour or day, unless it is of a target, whose hits are among those
// of its link.
func (p *tallyPart) tally(key, value []byte, id uint64, total totalKey) (t row.RawTally, ok bool) {
	t, err := checkedTally(value)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return t, false
	}
	if _, isTarget := p.linkOf(id); isTarget {
		return t, true
	}
	if total != p.total {
		p.flush()
		p.total = total
	}
	p.sum.add(&t)
	return t, true
}

// wantLink checks that the row of a target has hits alone, and not more than that of its link in the same table.
func (p *tallyPart) wantLink(key []byte, target *row.RawTally, ofLink []byte) {
	if target.Bots+target.Prefetches+target.Heads > 0 {
		p.c.Fault(check.Where(p.name, key), "the row of a target has bots, prefetches or HEAD requests")
	}
	v, found := p.links.Find(ofLink)
	if in, err := row.ParseTally(v); !found || err == nil && in.Hits < target.Hits {
		p.c.Fault(check.Where(p.name, key), "a target has %s, and its link %d", inWords(target.Hits), in.Hits)
	}
}

// wantSubject checks that the link or the owner of a row is there, and, of a row of a target, that its link gave it
// that number.
func (p *tallyPart) wantSubject(key []byte, id uint64) error {
	if p.cold == nil {
		return p.c.WantOwner(uint32(id), p.name, key)
	}
	id, target := engine.SplitID(id)
	p.key = row.AppendColdKey(p.key[:0], id)
	if why := p.c.IDProblem(id); why != "" {
		p.c.Fault(check.Where(p.name, key), "%s", why)
	} else if v, ok := p.cold.Find(p.key); !ok {
		p.c.Fault(check.Where(p.name, key), "no link, not even a deleted one, has id %d", id)
	} else if target != 0 {
		p.wantGiven(key, id, target, v)
	}
	return nil
}

// wantGiven checks that a link, of which cold is the record, gave a target its number. A record that cannot be read is
// reported with its table.
func (p *tallyPart) wantGiven(key []byte, link uint64, target uint8, cold []byte) {
	if c, err := row.DecodeCold(cold); err == nil && target > c.LastTarget {
		p.c.Fault(check.Where(p.name, key), "it is of target %d, and the greatest number that link %d gave to one is %d", target, link, c.LastTarget)
	}
}

// linkOf returns the link of a tally of a target.
func (p *tallyPart) linkOf(id uint64) (link uint64, isTarget bool) {
	link, target := engine.SplitID(id)
	return link, target != 0 && p.cold != nil
}

// named names the link or the target of a tally.
func named(id uint64) string {
	link, target := engine.SplitID(id)
	if target != 0 {
		return fmt.Sprintf("target %d of link %d", target, link)
	}
	return fmt.Sprintf("link %d", link)
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
	t, ok := p.tally(key, value, id, totalKey{key[0], hour})
	if link, isTarget := p.linkOf(id); ok && isTarget && hour >= m.firstHour {
		p.wantLink(key, &t, row.AppendLinkHourKey(nil, hour, link))
	}
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

// wantLife compares the days of a link, which were read, with its life.
func (p *days) wantLife() {
	if p.sums == nil || p.subject == 0 {
		return
	}
	key := row.AppendLinkLifeKey(nil, p.subject)
	v, found := p.sums.Find(key)
	if in, err := row.ParseTally(v); !found || err == nil && in.Hits < p.hits {
		p.c.Fault(check.Where("link lives", key), "the life of %s has %s, and its days %d", named(p.subject), inWords(in.Hits), p.hits)
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
	t, err := checkedTally(value)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if link, isTarget := p.linkOf(id); isTarget {
		p.wantLink(key, &t, row.AppendLinkLifeKey(nil, link))
	} else if p.summarised {
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
