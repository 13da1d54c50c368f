package engine

import (
	"context"
	"math"

	"shunt/engine/tally"
)

// Store keeps links and tallies durably. storage.Store is the one in use.
//
// Any goroutine may call Apply, ApplyAll, ReserveIDs, ReadRecord, ReadReceipt, View, Listing, ListLinks and Positions at once. Only the flush
// goroutine calls Flush, RollUp, SweepReceipts, Deletions, and Apply with a Purge, for whose end it waits; never two at once.
// Everything else is called before serving starts.
type Store interface {
	// Identity returns what never changes in a store's life.
	Identity() Identity

	// ReserveIDs durably reserves n consecutive ids and returns the first. No id is ever given twice, whatever crashes.
	ReserveIDs(n uint64) (first uint64, err error)

	// Apply commits m as one atomic, synced batch, shared with the mutations of concurrent callers.
	// It calls done exactly once, from any goroutine, maybe before it returns: with nil once m is durable, or with an
	// error if m certainly did not and will not happen (ErrOverloaded: the bounded queue is full; ErrReadOnly; ErrClosed).
	// done must not block. The store keeps nothing of m after done.
	Apply(m Mutation, done func(error))

	// ApplyAll is Apply for the creations of one request: they are in one batch with its receipt, so that all of it is
	// durable or nothing.
	ApplyAll(b Bulk, done func(error))

	// LoadLinks calls fn for every hot record, tombstones included, on several goroutines at once.
	// Code and Target are valid only during the call. The first error stops it and is returned.
	LoadLinks(ctx context.Context, fn func(HotView) error) error

	// LoadHits calls fn with (id, hits) on several goroutines at once; an id may come many times, its total is the sum.
	LoadHits(ctx context.Context, fn func(id, hits uint64)) error

	// ReadRecord returns the hot record of code and the cold record of its id, both of one snapshot; tombstones too.
	// ErrNotFound if there is none.
	ReadRecord(code string) (Record, error)

	// LoadReceipts calls fn for every receipt, expired ones too, on several goroutines at once.
	LoadReceipts(ctx context.Context, fn func(RequestKey)) error

	// ReadReceipt returns the receipt of a request, whatever its age. ErrNotFound if there is none.
	ReadReceipt(k RequestKey) (Receipt, error)

	// View returns a snapshot of the tallies, to be closed by the caller. Taking it costs microseconds.
	View() (View, error)

	// Kept returns from when on rows are whole: rows of hours and of days before them have gone, or are going. 0: all are.
	Kept() (firstHour, firstDay uint32)

	// ListLinks calls fn for the live links of owner, newest first, until it returns false; with a tag only for those
	// that have it.
	ListLinks(owner uint32, tag string, fn func(id uint64, code string) bool) error

	// Listing returns the links of one moment, all of it durable, to be closed by the caller. What was durable before the
	// call is in it. It waits for a write under way until ctx is done: ErrOverloaded.
	Listing(ctx context.Context) (Listing, error)

	// Deletions returns the deleted links that were deleted before an hour and not purged, oldest first, at most limit.
	Deletions(beforeHour uint32, limit int) ([]Deletion, error)

	// ReadOnly tells whether writes fail with ErrReadOnly at present, for want of space.
	ReadOnly() bool

	// Positions returns what the last Flush committed.
	Positions() (Positions, error)

	// Flush commits b as one atomic, synced batch. After an error the batch is certainly not durable, and the caller
	// will pass the same content again; after ErrFlushTooLarge less of it.
	Flush(b FlushBatch) error

	// RollUp rolls hour rows of hours before l.OpenHour up into day and life rows, one bounded chunk a call (one atomic
	// batch together with the mark up to which it went), and removes rows of hours and days that are not kept.
	// more tells that there is more to do. ErrBehind: not now, because the store has enough to do, or no space. The caller guarantees that no later Flush holds an hour before l.OpenHour.
	RollUp(l RollUpLimits) (more bool, err error)

	// SweepReceipts deletes receipts as w says, in one bounded chunk a call that is an atomic, synced batch. It goes on
	// where the last call ended; more tells that the end is not reached.
	SweepReceipts(w ReceiptSweep) (more bool, err error)
}

// ReceiptSweep says what SweepReceipts is to do.
type ReceiptSweep struct {
	BeforeMs int64 // receipts of requests that succeeded before it go; Unix ms

	// Reserve is asked before a receipt goes. If it answers true, nobody writes one of that key until SweepReceipts has
	// returned; what the store then has of it counts. Otherwise the receipt stays.
	Reserve func(RequestKey) bool

	Gone func(RequestKey) // is told of each deletion, once it is durable
}

// RollUpLimits say what RollUp is to do.
type RollUpLimits struct {
	OpenHour  uint32 // hours before it are rolled up
	FirstHour uint32 // hour rows before it go, once they are rolled up
	FirstDay  uint32 // day rows before it go (days are hours / 24)
}

// View is the store's tallies at one moment. One goroutine at a time may use it.
type View interface {
	// FlushSeq is the number of the last flush that the view contains.
	FlushSeq() uint64

	// ReadLife returns what wanted of a link's tally over all time. A link without rows has the zero tally.
	ReadLife(id uint64, wanted tally.Parts) (tally.Tally, error)

	// ReadSpans adds up the rows of each link in ids over each of spans, and calls yield with what was wanted of the
	// tally of ids[i] over spans[j]; only if it is not zero, in ascending order of i and j. The tally is valid only during the
	// call. A span must consist of whole days, or lie in the kept hours. An error of yield ends it and is returned.
	ReadSpans(ids []uint64, spans []Span, wanted tally.Parts, yield func(i, j int, t *tally.Tally) error) error

	// ReadOwnerSpans is ReadSpans for the rows of one owner.
	ReadOwnerSpans(owner uint32, spans []Span, wanted tally.Parts, yield func(j int, t *tally.Tally) error) error

	Close() error
}

// Listing is the store's links at one moment. One goroutine at a time may use it. As long as it is open, the store keeps what
// was deleted or replaced since.
type Listing interface {
	// Scan goes over at most limit rows that stand for the links of r, newest first, and calls fn for those that are live and
	// have the tag, until it returns false. It returns the id of the last row that it looked at, and whether there are
	// more.
	Scan(r ListRange, limit int, fn func(LinkEntry) bool) (last uint64, more bool, err error)

	// ReadRecord is Store.ReadRecord for this moment.
	ReadRecord(code string) (Record, error)

	Close() error
}

// ListRange says which links a Scan goes over.
type ListRange struct {
	Owner    uint32
	AnyOwner bool   // Owner is not looked at
	Tag      string // only those that have it; empty: all
	Below    uint64 // only those with a smaller id; 0: all
}

// LinkEntry is what the store tells of a link without reading it whole. It is valid only during a call.
type LinkEntry struct {
	ID                uint64
	Code, Host, Title []byte
}

// Span is the hours from FromHour to before ToHour (Unix time / 3600).
type Span struct{ FromHour, ToHour uint32 }

// Endless as a span's ToHour takes rows of the future in, which a clock that was ahead has left.
const Endless = math.MaxUint32

// Identity is what never changes in a store's life.
type Identity struct {
	StoreID    [16]byte
	VisitorKey [16]byte // secret key of the visitor hash
	Node       uint16   // high 16 bits of the ids made here
}

// Mutation is one write of one link: it becomes one atomic batch.
type Mutation struct {
	Hot  Hot  // the new hot record of Hot.Code
	Cold Cold // the new cold record of Hot.ID; unused with FlagTombstone, which leaves the cold record as it is

	// Before is the link that this one edits or deletes, so that its index rows go; nil on creation.
	Before *Record

	// Receipt is of the request that this write answers; nil: none is kept. Its Link is unused: it is Hot and Cold. A
	// deletion has none.
	Receipt *Receipt

	// Purge, if set, is all that is done. Only the flush goroutine asks for it.
	Purge *Purge
}

// Bulk is the creations of one request.
type Bulk struct {
	Creations []Mutation // without Before, Receipt and Purge; no code twice
	Receipt   *Receipt   // of the request: with Items, without Link; nil: none is kept
}

// Deletion is what the store finds deleted links by.
type Deletion struct {
	Hour uint32 // of the deletion (Unix time / 3600); 0 may stand for any
	ID   uint64
	Code string // which may be another link's by now
}

// Purge deletes every row of a deleted link but for the tallies of hours that are rolled up, which go with their hour.
type Purge struct {
	Deletion
	FreesCode bool // the hot record of Code is the tombstone of ID, and goes too
}

// HotView is a Hot whose strings alias the store's buffers.
type HotView struct {
	Code, Target []byte
	ID           uint64
	ExpiresAtMs  int64
	MaxHits      uint64
	DeletedAtMs  int64
	Owner        uint32
	Flags        Flags
}

// Positions says up to where each ring of the journal is contained in the store.
type Positions struct {
	Epoch    uint64   // of the journal files; 0: there is no journal yet
	FlushSeq uint64   // number of the last flush
	OpenHour uint32   // no flush from this one on holds rows of an hour (Unix time / 3600) before it
	Rings    []uint64 // per ring: records with sequence numbers below it are in the store
}

// FlushBatch is one flush: deltas, and the journal positions that they cover.
type FlushBatch struct {
	Positions Positions
	// Links and Owners call yield once for each row: the delta of (hour, link id) and of (hour, owner).
	// The tally is valid only during the call.
	Links  func(yield func(hour uint32, id uint64, t *tally.Tally) error) error
	Owners func(yield func(hour uint32, owner uint32, t *tally.Tally) error) error
}
