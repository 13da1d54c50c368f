package hits

import (
	"math"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine"
	"shunt/engine/zone"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// view implements engine.View with a snapshot of the database and the hours that may have rows in
// it. It adds up everything that it reads in sum.
type view struct {
	snapshot *pebble.Snapshot
	hours    []uint32
	mark     row.Mark
	zone     *zone.Zone // of days
	flushSeq uint64
	sum      *row.Sum
	progress *kv.Scanned // of LoadHits
	key      [row.MaxTallyKeyBytes]byte

	firstHour, firstDay uint32 // kept; read after the snapshot was made, so the snapshot has all of them
}

// rowKind describes the rows to read: those of links or those of owners.
type rowKind struct {
	hours, days byte // tables
	stage       row.Stage
}

var (
	linkRows  = rowKind{row.TableLinkHours, row.TableLinkDays, row.StageLinks}
	ownerRows = rowKind{row.TableOwnerHours, row.TableOwnerDays, row.StageOwners}
)

// spanPlan is the set of rows that are read for a span.
type spanPlan struct {
	fromDay, toDay uint32   // day rows; empty for a span of hours
	hours          []uint32 // hour rows
	open           bool     // only those hour rows that day rows do not contain
}

// endOfDays is a day after the last one that an hour can have.
const endOfDays = math.MaxUint32

// plan decides which rows to read. A span that begins and ends with a day is read from day rows, as
// far as roll-up has come. Any other span is read from hour rows, which are kept for some time
// after they are rolled up. Only hours that have rows are read.
func (v *view) plan(spans []engine.Span) []spanPlan {
	plans := make([]spanPlan, len(spans))
	for j, span := range spans {
		p := &plans[j]
		p.hours = hoursFrom(v.hours, span.FromHour)
		if span.ToHour != engine.Endless {
			p.hours = p.hours[:len(p.hours)-len(hoursFrom(p.hours, span.ToHour))]
		}
		if !v.zone.Begins(span.FromHour) || span.ToHour != engine.Endless && !v.zone.Begins(span.ToHour) {
			continue
		}
		if v.zone.Day(span.FromHour) < v.firstDay && span.FromHour >= v.firstHour {
			continue // its day is deleted already, its hours are not: fewer days are kept than hours
		}
		p.open = true
		p.hours = v.mark.Open(p.hours)
		p.fromDay, p.toDay = v.zone.Day(span.FromHour), v.zone.Day(span.ToHour)
		if span.ToHour == engine.Endless {
			p.toDay = endOfDays
		}
	}
	return plans
}
