package hits

import (
	"math"
	"slices"

	"shunt/engine/daily"
	"shunt/storage/check"
	"shunt/storage/row"
)

// days checks that a day of a link has rows only after one of its hours is rolled up or if an import brought them
// along, that it has the hits that its import brought along, and that the days of a link have no more hits than its
// life. A day of an owner may be that of an imported link that was purged since, and nothing is left that says so.
type days struct {
	tallyPart
	daily []daily.Hits // of subject, a link: those of the days that are not read yet
}

func (p *days) Row(key, value []byte) error {
	id, day, err := row.SplitDayKey(key)
	if err != nil {
		p.c.Fault(check.Where(p.name, key), "%v", err)
		return nil
	}
	if p.cold == nil || id != p.subject {
		p.wantLife()
		p.wantDaily(math.MaxUint32)
		if err := p.wantSubject(key, id); err != nil {
			return err
		}
		p.readDaily(id, day)
		p.subject = id
	}
	p.wantDaily(day)
	t, ok := p.tally(key, value, id, totalKey{key[0], day})
	if link, isTarget := p.linkOf(id); ok && isTarget && day >= p.c.sweep.FirstDay { // those before are being swept
		p.wantLink(key, &t, row.AppendLinkDayKey(nil, link, day))
	}
	if last := p.c.mark.Last(); ok && p.cold != nil && day > p.c.zone.Day(last) && !p.imported(day) {
		p.c.Fault(check.Where(p.name, key), "no hour of day %d is rolled up: that went as far as hour %d", day, last)
	}
	if p.cold != nil {
		p.wantImported(key, &t, id, day)
	}
	p.hits += t.Hits
	return nil
}

// imported reports whether the import of subject brought along a day.
func (p *days) imported(day uint32) bool {
	return len(p.daily) > 0 && p.daily[0].Day == day
}

// wantDaily checks that the imported days of the link before day, which were not met, are those that are not kept.
func (p *days) wantDaily(day uint32) {
	for ; len(p.daily) > 0 && p.daily[0].Day < day; p.daily = p.daily[1:] {
		if d := p.daily[0]; d.Day >= p.c.sweep.FirstDay {
			p.c.Fault(check.Where(p.name, row.AppendLinkDayKey(nil, p.subject, d.Day)), "link %d brought along %s of that day, and it has none", p.subject, inWords(d.Hits))
		}
	}
}

// wantRest checks the imported days of the last link of a part that were not met: its rows may go on in the next part.
func (p *days) wantRest() {
	for len(p.daily) > 0 {
		if _, found := p.links.Find(row.AppendLinkDayKey(nil, p.subject, p.daily[0].Day)); found {
			return
		}
		p.wantDaily(p.daily[0].Day + 1)
	}
}

// wantImported checks that a day of a link has the hits of that day that its import brought along.
func (p *days) wantImported(key []byte, t *row.RawTally, id uint64, day uint32) {
	if !p.imported(day) {
		return
	}
	if p.daily[0].Hits > t.Hits {
		p.c.Fault(check.Where(p.name, key), "link %d brought along %s of that day, and it has %d", id, inWords(p.daily[0].Hits), t.Hits)
	}
	p.daily = p.daily[1:]
}

// readDaily reads which days the import of a link brought along, of whose rows day is the first here: the rows of the
// first link of a part may begin in the part before. A record that cannot be read is reported with its table.
func (p *days) readDaily(id uint64, day uint32) {
	p.daily = nil
	if p.cold == nil {
		return
	}
	if _, isTarget := p.linkOf(id); isTarget {
		return
	}
	if v, ok := p.cold.Find(row.AppendColdKey(nil, id)); ok {
		if c, err := row.DecodeCold(v); err == nil {
			p.daily = slices.Collect(c.Daily.All())
		}
		for p.subject == 0 && len(p.daily) > 0 && p.daily[0].Day < day {
			p.daily = p.daily[1:]
		}
	}
}

func (p *days) End() error {
	p.wantLife()
	p.wantRest()
	return p.tallyPart.End()
}
