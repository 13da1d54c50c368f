package hits

import (
	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// An Adder adds rows of hours to a batch. Its user has the turn (Turn) until the batch is durable.
type Adder struct {
	hits      *Hits
	batch     *pebble.Batch
	hour      uint32 // was added to the set of hours, if hourKnown: rows mostly come sorted
	hourKnown bool
	key       [row.MaxTallyKeyBytes]byte
}

// Adder returns an adder to b.
func (h *Hits) Adder(b *pebble.Batch) Adder { return Adder{hits: h, batch: b} }

// Add merges a row, encoded as tally, into its hour, and into what the hour was rolled up to already, if it
// was.
func (a *Adder) Add(r *row.OutboxRow, tally []byte) {
	h, stage := a.hits, row.StageLinks
	if r.Table == row.TableOwnerHours {
		stage = row.StageOwners
	}
	if h.flusher.mark.Passed(stage, r.Hour, r.ID) && !h.mergeLate(a.batch, stage, r.Hour, r.ID, tally) {
		return
	}
	if r.Hour != a.hour || !a.hourKnown {
		a.hour, a.hourKnown = r.Hour, true
		h.hours.add(r.Hour)
	}
	kv.Merge(a.batch, row.AppendSuffix(row.AppendHourPrefix(a.key[:0], r.Table, r.Hour), r.Table, r.ID), tally)
}

// mergeLate adds a row of an hour that roll-up has passed to what roll-up would have added it to. It
// reports whether rows of the hour are kept, so that the row belongs there, too.
func (h *Hits) mergeLate(b *pebble.Batch, stage row.Stage, hour uint32, id uint64, value []byte) (kept bool) {
	var key [row.MaxTallyKeyBytes]byte
	if day := h.zone.Day(hour); day >= h.firstDay.Load() { // those before it are deleted
		table := byte(row.TableLinkDays)
		if stage == row.StageOwners {
			table = row.TableOwnerDays
		}
		kv.Merge(b, row.AppendDayKey(key[:0], table, id, day), value)
	}
	if stage == row.StageLinks {
		kv.Merge(b, row.AppendLinkLifeKey(key[:0], id), value)
		noteDue(b, hour, id, value)
	}
	return hour >= h.firstHour.Load()
}

// noteDue notes that a link has hits in an hour which is added to its life, so that its summary is made again. Targets
// have no summary.
func noteDue(b *pebble.Batch, hour uint32, id uint64, tally []byte) {
	if _, target := engine.SplitID(id); target != 0 {
		return
	}
	if hits, err := row.DecodeTallyHits(tally); err != nil || hits == 0 { // bots alone, of which lists do not know
		return
	}
	var key [row.MaxTallyKeyBytes]byte
	kv.Set(b, row.AppendSummaryDueKey(key[:0], hour, id), nil)
}
