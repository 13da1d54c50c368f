package hits

import (
	"fmt"
	"sync"

	"shunt/storage/row"
)

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
