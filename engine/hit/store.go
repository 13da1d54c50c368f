package hit

import (
	"context"
	"math"

	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/seen"
	"shunt/engine/tally"
	"shunt/engine/zone"
)

// Store keeps tallies durably.
//
// Any number of goroutines may call View, ReadImported, HasImports, ReadImports, Kept, ListLinks and Positions at once.
// Only the flush goroutine calls Flush and RollUp; the other methods are called before anything else.
type Store interface {
	// View returns a snapshot of the tallies, to be closed by the caller. Taking it costs
	// microseconds.
	View() (View, error)

	// TalliedOwners returns the owners from first to last that have links or figures, in order; with a user, only those
	// of that one.
	TalliedOwners(first, last, user uint32) ([]uint32, error)

	// ReadImported returns the hits that owner's links brought along when they were imported, in imports of
	// fromHour and later hours. Links that were deleted, reset or given away since count.
	ReadImported(owner, fromHour uint32) (hits uint64, err error)

	// HasImports reports whether any link brought hits along in imports of fromHour and later hours, or of an hour that
	// is not known. Links that were deleted since count.
	HasImports(fromHour uint32) (bool, error)

	// ReadImports calls fn for those of the links ids, which ascend, that brought hits along when they were imported,
	// with these hits and the time (Unix ms; 0: it is not known).
	ReadImports(ids []uint64, fn func(hits uint64, atMs int64)) error

	// Zone returns the zone of the days of all rows. It never changes.
	Zone() *zone.Zone

	// Kept returns the first hour and the first day whose rows are all kept: rows of earlier hours
	// and days are deleted, or are being deleted. 0: all rows are kept.
	Kept() (firstHour, firstDay uint32)

	// LowerKept makes Kept return at most these, before the first flush: rows from then on are kept after all.
	LowerKept(firstHour, firstDay uint32) error

	// Positions returns the positions that the last Flush committed.
	Positions() (Positions, error)

	// Clock returns the time that the store has seen passing, as the last Flush with one left it. The zero
	// value if there was none.
	Clock() (seen.Clock, error)

	// Flush commits b as one atomic, synced batch. After an error the batch is certainly not
	// durable, and the caller will pass the same content again; after ErrFlushTooLarge, only parts
	// of it. Rows may be of any hour; it is cheapest if the hour is not rolled up yet.
	Flush(b FlushBatch) error

	// RollUp rolls hour rows of hours before l.OpenHour up into day and life rows, one bounded
	// chunk a call (one atomic batch together with the mark of its progress), and removes rows of
	// hours and days that are not kept. more reports whether there is more to do. ErrBehind: not
	// now, because the store is busy or has no space. l.OpenHour may be before that of earlier calls, after
	// a clock that was ahead.
	RollUp(l RollUpLimits) (more bool, err error)

	// LoadCaps calls fn with the caps of links in a cluster, from the caller's goroutine.
	LoadCaps(ctx context.Context, fn func(id uint64, c caps.Cap)) error

	// ListLinks calls fn for the live links of owner, newest first, until it returns false; with a
	// tag only for those that have it, in any case. k is valid only during the call.
	ListLinks(owner uint32, tag string, fn func(id uint64, k index.KeyView) bool) error

	// ListFolder is ListLinks for the live links in a folder, whoever's they are.
	ListFolder(folder uint32, fn func(id uint64, k index.KeyView) bool) error
}

// RollUpLimits say which rows RollUp rolls up and which it deletes.
type RollUpLimits struct {
	OpenHour  uint32 // hours before it are rolled up
	FirstHour uint32 // hour rows before it are deleted when they are rolled up
	FirstDay  uint32 // day rows before it are deleted (of the store's zone)
}

// View is the store's tallies at one moment. One goroutine at a time may use it, but several may call ReadSpans,
// SumSpans and SumOwnerSpans at once, if nobody calls anything else.
type View interface {
	// FlushSeq is the number of the last flush that the view contains.
	FlushSeq() uint64

	// ReadLife returns the wanted parts of a link's tally over all time. A link without rows has
	// the zero tally.
	ReadLife(id uint64, wanted tally.Parts) (tally.Tally, error)

	// ReadSpans adds up the rows of each link in ids over each of spans, and calls yield with the
	// wanted parts of the tally of ids[i] over spans[j], in ascending order of i and j. It leaves
	// out zero tallies. The tally is valid only during the call. A span must consist of whole days of
	// the store's zone, or lie in the kept hours. ReadSpans stops at the first error of yield and returns it.
	ReadSpans(ids []uint64, spans []Span, wanted tally.Parts, yield func(i, j int, t *tally.Tally) error) error

	// SumSpans adds up the rows of all ids together over each of spans, and calls yield with wanted[j] of the tally
	// over spans[j], in ascending order of j. It leaves out zero tallies. A tally is valid only during the call. Ids
	// and spans ascend, and spans do not overlap. WithNext moves the breakdowns of a span to the next one.
	SumSpans(ids []uint64, spans []Span, wanted []tally.Parts, yield func(j int, t *tally.Tally)) error

	// SumOwnerSpans is SumSpans for the rows of owners.
	SumOwnerSpans(owners []uint32, spans []Span, wanted []tally.Parts, yield func(j int, t *tally.Tally)) error

	// Targets returns the numbers of the targets of a link that have tallies, ascending. ReadLife and ReadSpans take
	// the ids of these (tally.TargetID), too.
	Targets(link uint64) ([]uint8, error)

	// LastHits calls fn with links that have no hit in hour or later, as far as hits are summarised, and then with
	// those that have some which are not: what is said last of a link is true. A link that it does not name may have
	// any. It reads a small row for each link that was ever hit, and keys of hours since hour that are not rolled up.
	LastHits(hour uint32, fn func(id uint64, quiet bool) error) error

	// LoadHits calls fn with (id, hits) for all links, not their targets, on several goroutines at once; an id may come
	// many times, and its total is the sum.
	LoadHits(ctx context.Context, fn func(id, hits uint64)) error

	Close() error
}

// Span is the hours from FromHour to before ToHour (Unix time / 3600).
type Span struct{ FromHour, ToHour uint32 }

// Endless as a span's ToHour includes all rows of the future, which a clock that was ahead has left.
const Endless = math.MaxUint32

// Positions says up to which record the store contains each ring of the journal.
type Positions struct {
	Epoch    uint64   // of the journal files; 0: there is no journal yet
	FlushSeq uint64   // number of the last flush
	OpenHour uint32   // hours (Unix time / 3600) before it may be rolled up
	Rings    []uint64 // per ring: records with sequence numbers below it are in the store
}

// FlushBatch is one flush: deltas, and the journal positions that they cover.
type FlushBatch struct {
	Positions Positions
	Clock     *seen.Clock // the time that the store has seen passing, by now; nil: it is left as it is
	// Links and Owners call yield once for each row: the delta of (hour, link id), or (hour, target) with an id of
	// tally.TargetID, and of (hour, owner). In an hour, links come before targets. The tally is valid only during
	// the call.
	Links  func(yield func(hour uint32, id uint64, t *tally.Tally) error) error
	Owners func(yield func(hour uint32, owner uint32, t *tally.Tally) error) error
}
