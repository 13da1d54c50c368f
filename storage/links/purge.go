package links

import (
	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// MaxDaysByKey is the largest number of day rows of a purged link that are deleted by their keys.
// More than that are deleted by one range deletion, which every reader must consider until it is
// compacted (see sweepChunk); few links have that many.
const MaxDaysByKey = 64

// purgedRows are the rows of a purged link that only a read finds. The flush goroutine reads them: it alone
// writes such rows once the link exists (its creation writes the imported ones), and it does nothing else until the
// purge is committed. In a cluster nobody
// reads them: see rowsToPurge.
type purgedRows struct {
	tallies []purgedTally // of the link, and of its targets
	hours   []uint32      // those from the mark on: a row in one that is open would create day and life rows again
}

// purgedTally is the tally of a purged link, or of one of its targets.
type purgedTally struct {
	id       uint64
	days     []uint32
	manyDays bool // there are more than days holds
}

// purge removes every row of a deleted link but the tombstone that stays, except hour rows that roll-up has passed:
// without a code they are not read, and they are deleted with their hour. The owner's rows keep the link's
// hits, also those that an import brought along.
func (b *Batch) purge(p *engine.Purge, rows *purgedRows) {
	if p.FreesCode {
		b.remove(row.AppendHotKey(b.key[:0], p.Key))
	}
	b.remove(row.AppendColdKey(b.key[:0], p.ID))
	b.remove(row.AppendSummaryKey(b.key[:0], p.ID))
	b.remove(row.AppendCapKey(b.key[:0], p.ID))
	for i := range rows.tallies {
		b.purgeTally(&rows.tallies[i], rows.hours)
	}
	if !p.Figures {
		b.remove(row.AppendByDeletionKey(b.key[:0], p.Hour, p.ID))
		return
	}
	b.remove(row.AppendLeavingKey(b.key[:0], p.Hour, p.ID))
	if p.Left != nil {
		b.removeTrashed(&p.Left.Hot)
	}
	if p.Left != nil && !p.FreesCode {
		b.addDeletion(p.Left)
	}
}

func (b *Batch) purgeTally(t *purgedTally, hours []uint32) {
	b.remove(row.AppendLinkLifeKey(b.key[:0], t.id))
	if t.manyDays {
		keys := row.DaysOfLink(t.id)
		kv.Must(b.batch.DeleteRange(keys.Lower, keys.Upper, nil))
	} else {
		for _, day := range t.days {
			b.remove(row.AppendLinkDayKey(b.key[:0], t.id, day))
		}
	}
	for _, hour := range hours {
		b.remove(row.AppendLinkHourKey(b.key[:0], hour, t.id))
	}
}
