package link

import (
	"context"
	"math"
	"slices"

	"shunt/engine/index"
	"shunt/engine/search"
)

// Store keeps links durably.
//
// Any number of goroutines may call Apply, ApplyAll, AllocateIDs, ReadRecord, ReadHot, ReadTrashed, ReadReceipt,
// Listing, ListLinks, ListAudit and Scanned at once. Only the goroutine that cleans up calls SweepAudit,
// SweepReceipts, Deletions, and Apply with a Purge, whose end it waits for; never two at once. LoadLinks and
// LoadReceipts are called once, one after the other.
type Store interface {
	// AllocateIDs durably allocates n consecutive ids and returns the first. No id is ever
	// allocated twice, also after a crash.
	AllocateIDs(n uint64) (first uint64, err error)

	// Apply commits m as one atomic, synced batch, shared with the mutations of concurrent callers.
	// It calls done exactly once, from any goroutine, maybe before it returns: with nil once m is
	// durable, or with an error if m was certainly not and will not be applied (ErrOverloaded: the
	// bounded queue is full; ErrReadOnly; ErrClosed). done must not block. The store keeps nothing
	// of m after done.
	Apply(m Mutation, done func(error))

	// ApplyAll is Apply for the creations of one request: they are in one batch with its receipt,
	// so that all or none of them are durable.
	ApplyAll(b Bulk, done func(error))

	// LoadLinks calls fn with every hot record, tombstones included, some hundred at a time, on
	// several goroutines at once. The records, and what they alias, are valid only during the call.
	// The first error stops it and is returned.
	LoadLinks(ctx context.Context, fn func([]index.HotView) error) error

	// Scanned returns the share, from 0 to 1, of the running LoadLinks or View.LoadHits that is done,
	// or of the last one, and the number of records in that share.
	Scanned() (share float64, records uint64)

	// ReadHot returns the hot record of k; also a tombstone. ErrNotFound if there is none.
	ReadHot(k index.Key) (Hot, error)

	// ReadRecord returns the hot record of k and the cold record of its id, both of one
	// snapshot; also a tombstone. Of a deleted link without figures Cold has the version only. ErrNotFound if there is
	// no record.
	ReadRecord(k index.Key) (Record, error)

	// LoadReceipts calls fn for every receipt, expired ones too, on several goroutines at once.
	LoadReceipts(ctx context.Context, fn func(RequestKey)) error

	// ReadReceipt returns the receipt of a request, whatever its age. ErrNotFound if there is none.
	ReadReceipt(k RequestKey) (Receipt, error)

	// ListLinks calls fn for the live links of owner, newest first, until it returns false; with a
	// tag only for those that have it, in any case. k is valid only during the call.
	ListLinks(owner uint32, tag string, fn func(id uint64, k index.KeyView) bool) error

	// Owners returns the owners in a range that have live links, in order; with a user, only those of that one.
	Owners(r OwnerRange, user uint32) ([]uint32, error)

	// Listing returns the links of one moment, all durable, to be closed by the caller. It contains
	// all writes that were durable before the call. It waits for a write under way until ctx is
	// done: ErrOverloaded.
	Listing(ctx context.Context) (Listing, error)

	// Deletions returns links that were deleted before an hour and not purged, the oldest first, from the
	// one of that hour and id on, at most limit: those with figures, or else those without.
	Deletions(figures bool, fromHour uint32, fromID uint64, beforeHour uint32, limit int) ([]Deletion, error)

	// ReadTrashed returns what a link in the trash of an owner was. ErrNotFound if there is none at that place.
	ReadTrashed(owner uint32, at TrashPlace) (Record, error)

	// ReadOnly reports whether writes fail with ErrReadOnly at present, because there is too little
	// space.
	ReadOnly() bool

	// ListAudit calls fn with the entries of the audit log whose stamp is at least from and below
	// before, the newest first, until fn returns false. fn may keep the entry.
	ListAudit(from, before uint64, fn func(*AuditEntry) bool) error

	// OldestAudit returns the lowest stamp of an entry of the audit log; 0: there is none.
	OldestAudit() (stamp uint64, err error)

	// SweepAudit deletes the entries of the audit log whose stamp is below before.
	SweepAudit(before uint64) error

	// SweepReceipts deletes receipts as w says, one bounded chunk a call, in an atomic, synced
	// batch. It continues where the last call ended; more reports whether there are receipts left
	// to look at.
	SweepReceipts(w ReceiptSweep) (more bool, err error)
}

// EachLink returns a callback of Store.LoadLinks that passes on the records one at a time.
func EachLink(fn func(index.HotView) error) func([]index.HotView) error {
	return func(links []index.HotView) error {
		for i := range links {
			if err := fn(links[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// ReceiptSweep says which receipts SweepReceipts deletes.
type ReceiptSweep struct {
	// Old reports whether a receipt of a request that succeeded at that time (Unix ms) may be deleted.
	Old func(createdAtMs int64) bool

	// Lock is called before a receipt is deleted. If it returns true, nobody writes a receipt of
	// that key until SweepReceipts has returned, and the store reads the receipt again to decide.
	// Otherwise the receipt stays.
	Lock func(RequestKey) bool

	Gone func(RequestKey) // is called for each deletion when it is durable
}

// Listing is the store's links at one moment. One goroutine at a time may use it. As long as it is
// open, the store keeps rows that were deleted or replaced since.
type Listing interface {
	// Scan reads at most limit rows of the links of r, which is of one owner, of any without a tag, or of a folder,
	// newest first, and calls fn for those that are live, until fn returns false. It returns the id of the last row
	// that it read, and whether there are more.
	Scan(r ListRange, limit int, fn func(id uint64, k index.KeyView) bool) (last uint64, more bool, err error)

	// Parts returns the rows of the links of r, to be read in parts, each of which the caller closes.
	Parts(r ListRange) ([]Part, error)

	// FiguresAsOf returns the hour before which all hits are in the figures of entries; math.MaxUint32: all hits are.
	FiguresAsOf() (hour uint32, err error)

	// SummedVisitors returns the visitors of a link over its life, of the hits before the hour of FiguresAsOf and
	// perhaps of some later ones.
	SummedVisitors(id uint64) (uint64, error)

	// CountTags goes on with the count of s: it reads at most rows rows of links with tags, and calls fn
	// for each tag that is counted, until fn returns false, after which s is of no more use. more reports
	// whether there are more rows.
	CountTags(s *TagScan, rows int, fn func(TagCount) bool) (more bool, err error)

	// Reusable calls fn for the live links of an owner that were made with Draft.Reuse and lead to a target of
	// that hash (HashTarget), newest first, until fn returns false or limit rows were read. fn may keep what the
	// record has.
	Reusable(owner uint32, hash uint64, limit int, fn func(*Record) bool) error

	// ReadRecord is Store.ReadRecord for this moment.
	ReadRecord(k index.Key) (Record, error)

	// ReadRecordOf returns the record of the live link with an id. ErrNotFound if there is none.
	ReadRecordOf(id uint64) (Record, error)

	// TrashOwners returns the owners in a range with links in the trash, in order; with a user, only those of that one.
	TrashOwners(r OwnerRange, user uint32) ([]uint32, error)

	// TrashPlaces calls fn for the places of an owner's trash behind one, nil: all, until fn returns false.
	TrashPlaces(owner uint32, after *TrashPlace, fn func(TrashPlace) bool) error

	// ReadTrashed is Store.ReadTrashed for this moment.
	ReadTrashed(owner uint32, at TrashPlace) (Record, error)

	Close() error
}

// A Part is rows of links of one listing. Each part may be read by another goroutine.
type Part interface {
	// Read reads the next rows, at most that many, and calls fn with the entry of each, or only of those that have the
	// words. The links of an owner come newest first; those of several come owner by owner. It returns how many rows it
	// read, and whether there are more.
	Read(rows int, fn func(*LinkEntry)) (read int, more bool, err error)

	// Split returns the rows that were not read yet in about n parts, in their order. The part itself must be closed.
	Split(n int) ([]Part, error)

	Close() error
}

// ListRange says which links a listing goes over.
type ListRange struct {
	Owners   []OwnerRange // in order, without common ones
	AnyOwner bool         // Owners is ignored
	Tag      string       // only those that have it, in any case; empty: all
	Folder   uint32       // only those in it, which has no Tag beside it; 0: all
	Below    uint64       // only those with a smaller id; 0: all
	Figures  bool         // each LinkEntry of a part has its figures

	// Words are looked for in the texts of links; all links if it is empty. A part may give links that lack them, with
	// their text if there are words.
	Words search.Query
}

// An OwnerRange is the owners from First to Last.
type OwnerRange struct{ First, Last uint32 }

// OneOwner returns the range of one owner.
func OneOwner(owner uint32) []OwnerRange { return []OwnerRange{{owner, owner}} }

// AllIn returns the range of all owners in a domain.
func AllIn(d index.Domain) OwnerRange {
	return OwnerRange{index.OwnerIn(d, 0), index.OwnerIn(d, index.MaxUser)}
}

// AllOwners is the range of all.
var AllOwners = OwnerRange{0, math.MaxUint32}

// one returns the only owner of r, if it is one.
func (r *ListRange) one() (owner uint32, ok bool) {
	if r.AnyOwner || len(r.Owners) != 1 || r.Owners[0].First != r.Owners[0].Last {
		return 0, false
	}
	return r.Owners[0].First, true
}

// single reports whether r is of single owners.
func (r *ListRange) single() bool {
	return !slices.ContainsFunc(r.Owners, func(o OwnerRange) bool { return o.First != o.Last })
}

// mayHave reports whether r has links of owners in a domain.
func (r *ListRange) mayHave(d index.Domain) bool {
	return r.AnyOwner || slices.ContainsFunc(r.Owners, func(o OwnerRange) bool {
		return index.DomainOf(o.First) <= d && d <= index.DomainOf(o.Last)
	})
}

// has reports whether r has the links of an owner, as far as the folder allows.
func (r *ListRange) has(owner uint32) bool {
	return r.AnyOwner || slices.ContainsFunc(r.Owners, func(o OwnerRange) bool { return o.First <= owner && owner <= o.Last })
}

// LinkEntry has the fields of a link that the store knows without reading the whole link. It is
// valid only during the call of fn. One that was read from memory has id, flags, expiry and start alone.
type LinkEntry struct {
	index.KeyView
	ID                                    uint64
	Flags                                 index.Flags // FlagDisabled, FlagExpires and FlagCapped
	CreatedAtMs, UpdatedAtMs, ExpiresAtMs int64       // Unix ms; ExpiresAtMs is 0 without FlagExpires
	StartsAtMs                            int64       // Unix ms; 0: the link has no start
	Text                                  []byte      // see search.Fields
	TextByOwner                           bool        // in the store: only the row by owner has the text
	Visitors                              uint64      // of all time, as of Listing.FiguresAsOf
	LastHitHour                           uint32      // Unix time / 3600 of the last hit, as of then; 0: there was none

	link index.Link // that the entry is of, if it was read from memory
}

// Mutation is one write of one link: it becomes one atomic batch.
type Mutation struct {
	Hot  Hot  // the new hot record of Hot.Key
	Cold Cold // the new cold record of Hot.ID; unused with FlagTombstone, which leaves the cold record as it is

	// Before is the link that this mutation edits or deletes, so that its index rows are deleted;
	// nil on creation. Of a link that is restored, it has the tombstone.
	Before *Record

	// Trash is what becomes of a link in the trash.
	Trash TrashChange

	// Replaced is the deleted link whose code a creation takes; nil: there is none. It leaves the trash.
	Replaced *Record

	// ResetAtMs is when the figures of Before were reset; 0: they were not. Hot has another id then, and the
	// rows of the id of Before are to be purged as if that link was deleted at that time.
	ResetAtMs int64

	// Receipt is the receipt of the request that this write answers; nil: none is kept. Its Link is
	// unused: the link is Hot and Cold. A deletion has no receipt.
	Receipt *Receipt

	// By is who made the change, for the audit log; nil: there is no entry.
	By *By

	// Purge, if set, is the whole mutation. Only the flush goroutine sets it.
	Purge *Purge

	// Cap is the cap of the link in a cluster from now on; nil: as before. Without a key in Hot, it is the
	// whole mutation.
	Cap *CapChange
}

// Bulk is the creations of one request.
type Bulk struct {
	Creations []Mutation // without Before, Receipt, By and Purge; no key twice
	Receipt   *Receipt   // of the request: with Items, without Link; nil: none is kept

	// By is who made the links, for one entry of the audit log; nil: there is none. Imported says that
	// they were made elsewhere; Existing links were there already, Failed items were refused.
	By               *By
	Imported         bool
	Existing, Failed uint32
}

// Deletion is the row by which the store finds a deleted link.
type Deletion struct {
	Hour      uint32 // of the deletion (Unix time / 3600); 0 may mean any hour
	ID        uint64
	index.Key // may be another link's by now
}

// Purge deletes every row of a deleted link except the tallies of hours that are rolled up, which
// are deleted with their hour.
type Purge struct {
	Deletion
	FreesCode bool // the hot record of Key is the tombstone of ID, and is deleted too

	// Figures says that the deletion is one of those with figures. Then Left is the record of Key, if that has the
	// tombstone of ID: unless FreesCode, the deletion is one of those without figures from then on, with the version.
	Figures bool
	Left    *Record
}

// RequestKey names a request that its sender may repeat: SHA-256 of the sender, and SHA-256 of the
// key that the sender gave it.
type RequestKey struct{ Sender, Key [32]byte }

// Request is a request that its sender may repeat. Body is the start of a SHA-256 of the request's
// content: a sender that makes two contents with the same start (2^64 attempts) deceives only
// itself.
type Request struct {
	RequestKey
	Body [16]byte
}

// Receipt is the durable answer to a request that made a link, committed together with it, so that
// a repeat gets the same answer even if the link or the rules have changed. A receipt for several
// links has Items instead.
type Receipt struct {
	Request
	CreatedAtMs int64  // when the request succeeded
	Existed     bool   // the link was there already
	Hits        uint64 // of the link at that time; in a receipt that was read, Link.Cold.ImportedHits is the same
	Link        Record
	Items       []ReceiptItem // of a request for several links, at most MaxBulk; nil: the request was for one link
}

// ReceiptItem is one link in the receipt of a request for several.
type ReceiptItem struct {
	Outcome   Outcome
	ID        uint64 // of a link
	index.Key        // of a link
}

// Outcome is how a BulkItem ended. Its numbers are durable.
type Outcome uint8

const (
	OutcomeCreated Outcome = iota
	OutcomeExisted
	OutcomeTaken
	OutcomeRefused
	NumOutcomes
)
