package engine

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/index"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// Defaults of Options.
const (
	DefaultFlushInterval = time.Second
	DefaultKeptHours     = 48
	DefaultKeptDays      = 400
	DefaultKeptAuditDays = 400
	DefaultClockSettles  = 10 * time.Minute
	DefaultRings         = 8
	DefaultRingRecords   = 1 << 18 // 8 MiB a ring; 8 of them hold 10 s of 200,000 hits/s
	DefaultCloseTimeout  = 10 * time.Second

	// DefaultPendingEntries bounds the entries that wait for a store that stalls: a cache line an
	// entry is 1 GiB, with the index 1.3 GiB. That is enough for 100 s of 155,000 different links
	// each second. Without visitors and breakdowns, a flush of this many rows has at most 48 bytes
	// a row, 768 MiB, and a store takes 1 GiB at once: so counts are never too large to flush.
	DefaultPendingEntries = 1 << 24
)

// Limits of Options.
const (
	MaxKeptHours = 31 * hoursPerDay
	MaxKeptDays  = 3660
)

// Options are the engine's settings; the zero value of each field is its default.
type Options struct {
	JournalDir    string        // where the journal's rings are; required, made if it is missing
	FlushInterval time.Duration // default 1 s
	RingRecords   int           // records a ring, a power of two from 256 to 2^26
	Rings         int           // a power of two up to 32
	KeptHours     int           // hours for which figures by the hour are kept; default 48
	KeptDays      int           // days for which figures by the day are kept; default 400
	KeptAuditDays int           // days for which the audit log is kept; default 400
	MaxReceipts   int           // receipts that a sender may have at a time (CreateOnce); default 100,000
	ClockSettles  time.Duration // how long the clock must run evenly before it closes hours; default 10 min; negative: 0, and Now is trusted in all
	CloseTimeout  time.Duration // how long Run's end and Close each wait for a store that hangs; default 10 s

	// PendingEntries bounds the (hour, link) and (hour, owner) entries that wait in memory for the
	// store; at least 2, at most the default. Redirects beyond it are only in live counters: see
	// Metrics.HitsMissing.
	PendingEntries int

	// Cluster says that the store shares its writes with other nodes: the engine takes writes only
	// after Lead.
	Cluster bool

	// ReadOnly folds what the journal has into memory, and changes no file and nothing in the store, which
	// need not be one that takes writes. Writes fail, and Hit must not be called.
	ReadOnly bool

	// Full reports whether memory is short: then links are refused (ErrFull). Any goroutine calls
	// it, for each link. Default: never.
	Full func() bool

	// PlainTargets keeps targets in memory as they are. It is for benchmarks, which compare with it.
	PlainTargets bool

	Logger *slog.Logger // default: discards
	Now    func() time.Time

	// Monotonic is the clock that nobody sets; default time.Now. Only differences count.
	Monotonic func() time.Time
}

func (o *Options) setDefaults() error {
	if o.JournalDir == "" {
		return errors.New("no journal folder")
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = DefaultFlushInterval
	}
	if o.Rings == 0 {
		o.Rings = DefaultRings
	}
	if o.RingRecords == 0 {
		o.RingRecords = DefaultRingRecords
	}
	if o.KeptHours == 0 {
		o.KeptHours = DefaultKeptHours
	}
	if o.ClockSettles == 0 {
		o.ClockSettles = DefaultClockSettles
	}
	if o.KeptDays == 0 {
		o.KeptDays = DefaultKeptDays
	}
	if o.KeptAuditDays == 0 {
		o.KeptAuditDays = DefaultKeptAuditDays
	}
	if o.MaxReceipts == 0 {
		o.MaxReceipts = DefaultMaxReceipts
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = DefaultCloseTimeout
	}
	if o.PendingEntries == 0 {
		o.PendingEntries = DefaultPendingEntries
	}
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Monotonic == nil {
		o.Monotonic = time.Now
	}
	return o.check()
}

func (o *Options) check() error {
	if o.FlushInterval < time.Millisecond || o.FlushInterval > time.Hour {
		return fmt.Errorf("flush interval %v is not between 1 ms and 1 h", o.FlushInterval)
	}
	if o.KeptHours < 1 || o.KeptHours > MaxKeptHours || o.KeptDays < 1 || o.KeptDays > MaxKeptDays {
		return fmt.Errorf("%d hours and %d days kept: not 1 to %d hours and 1 to %d days",
			o.KeptHours, o.KeptDays, MaxKeptHours, MaxKeptDays)
	}
	if o.KeptAuditDays < 1 || o.KeptAuditDays > MaxKeptDays {
		return fmt.Errorf("%d days of the audit log kept: not 1 to %d", o.KeptAuditDays, MaxKeptDays)
	}
	if o.CloseTimeout < 0 {
		return fmt.Errorf("close timeout %v is negative", o.CloseTimeout)
	}
	if n := o.PendingEntries; n < 2 || n > DefaultPendingEntries {
		return fmt.Errorf("%d pending entries: not 2 to %d", n, DefaultPendingEntries)
	}
	if n := o.Rings; n < 1 || n > journal.MaxRings || n&(n-1) != 0 {
		return fmt.Errorf("%d rings: not a power of two up to %d", n, journal.MaxRings)
	}
	if n := o.RingRecords; n < journal.MinRingRecords || n > journal.MaxRingRecords || n&(n-1) != 0 {
		return fmt.Errorf("%d records a ring: not a power of two from %d to %d", n, journal.MinRingRecords, journal.MaxRingRecords)
	}
	return nil
}

// Engine is the redirect engine. Resolve, Fetch, Hit, Create, CreateOnce, Update, Delete, Read, Stats
// and Metrics may be called from any number of goroutines at once, from Open to Close; until Load is
// done, those that need all links fail with ErrLoading. See the package comment for the design.
type Engine struct {
	index    index.Index
	journal  *journal.Journal
	pending  *pending
	ids      ids
	receipts receipts
	owners   owners
	waits    deadlines // of writers
	gate     gate
	caps     sharedCaps
	writes   sync.Pool // *write
	rankings rankings
	loading  loading
	ready    atomic.Bool // Load is done

	store    Store
	identity Identity
	folder   journal.Folder
	options  Options
	log      *slog.Logger
	now      func() time.Time
	random   io.Reader // of drawn codes

	clock      clock
	flusher    flusher
	keeper     *journal.Keeper
	stall      stallLog
	closeBy    atomic.Pointer[time.Time] // see CloseBy; nil: CloseTimeout counts
	loopsEnded chan struct{}             // closed when all of Run's goroutines except the keeper have returned; nil before Run
	replayed   replayed
}

// Open returns an engine over store. It replays and commits the records of the journal in
// o.JournalDir that the store does not have, and starts a new epoch of the journal. It starts no
// goroutine. Call Run and Load then, in any order: until Load is done, Fetch finds the links that
// Resolve does not.
func Open(store Store, o Options) (*Engine, error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e := &Engine{
		store: store, identity: store.Identity(),
		options: o, log: o.Logger, now: o.Now, random: rand.Reader,
	}
	e.index.Init()
	if o.PlainTargets {
		e.index.KeepPlain()
	}
	e.folder = o.folder(e.identity)
	e.ids.init()
	e.receipts.init(o.MaxReceipts)
	e.owners.init()
	e.gate.exists = o.Cluster
	e.caps.init(o.Cluster)
	start := e.startEpoch
	if o.ReadOnly {
		start = e.startReading
	} else if err := os.MkdirAll(o.JournalDir, 0o700); err != nil {
		return nil, e.journalError(err)
	}
	if err := start(); err != nil {
		return nil, err
	}
	return e, nil
}

// publish makes h the state of its code in the index.
func (e *Engine) publish(h *index.HotView) error {
	if err := e.checkNode(h); err != nil {
		return err
	}
	return e.index.Put(h)
}

func (e *Engine) checkNode(h *index.HotView) error {
	if node := index.NodeOf(h.ID); node != e.identity.Node {
		return fmt.Errorf("link %q: id of node %d in a store of node %d", h.Code, node, e.identity.Node)
	}
	return nil
}

// Now returns the time in use: that of the computer's clock, unless that shows a day before all days of which
// figures are kept. Then it is certainly wrong, and the time runs on from where it was.
func (e *Engine) Now() time.Time { return e.now() }

// ReadOnly reports whether links cannot be written at present because there is too little space.
func (e *Engine) ReadOnly() bool { return e.store.ReadOnly() }

// VisitorKey returns the store's secret key for SipHash-2-4, as two little-endian words.
func (e *Engine) VisitorKey() (k0, k1 uint64) {
	k := e.identity.VisitorKey
	return binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])
}

// Resolve returns the link that code names, or ok == false. It takes no lock, allocates nothing and
// does no I/O. The caller checks whether the link is disabled (Flags.Disabled) or expired
// (Link.Expired), and counts the redirect with Hit, which checks the cap. Call Release when done
// with the link.
func (e *Engine) Resolve(code []byte) (l index.Link, ok bool) { return e.index.Resolve(code) }

// Hit counts one redirect of l. Its record is in the journal before Hit returns, so that it
// outlives the process; the fold counts it from there. Hit itself raises only the counter of a link
// that has a cap or is about to get one. It returns false, and has counted nothing, if the link's
// present cap is used up: then the caller must not redirect. It takes no lock and allocates
// nothing, unless the journal's ring is full: then it waits for room, see appendSlow.
func (e *Engine) Hit(l index.Link, v journal.Visit) bool {
	if v.Class >= tally.NumClasses || l.Flags().CountAtOnce() {
		return e.hitAtOnce(l, v)
	}
	id, owner, class := l.ID(), v.PackOwner(l.Owner()), v.PackClass()
	r := e.journal.RingOf(id)
	seq, ok := r.Reserve()
	if !ok {
		return e.hitBusy(l, v)
	}
	if r.LookAgain() {
		return e.hitUnsure(l, v, r, seq)
	}
	// This is Ring.Put, inlined: see "Decisions" in doc.go.
	r.Store(seq, id, v.Visitor, owner, class|r.Seal(seq, journal.Digest(id, v.Visitor, owner, class)))
	return true
}

// hitBusy is Hit for an uncapped link whose ring is full, or in which another writer was faster.
func (e *Engine) hitBusy(l index.Link, v journal.Visit) bool {
	r := e.journal.RingOf(l.ID())
	for {
		switch seq, ok := r.Reserve(); {
		case ok:
			return e.hitUnsure(l, v, r, seq)
		case r.Full(seq):
			return e.hitAtOnce(l, v)
		}
	}
}

// hitUnsure ends the hit of a link that had no cap when it was resolved and may have been given one
// since. The hit already has a slot. So either the fold before the publication of the cap finds the
// record in it, or LookAgain is set here (see Engine.countAtOnce). A hit that the new cap does not
// admit leaves a void record.
func (e *Engine) hitUnsure(l index.Link, v journal.Visit, r *journal.Ring, seq uint64) (admitted bool) {
	w := v.Words(l.ID(), l.Owner())
	admitted = true
	if r.LookAgain() && e.index.CountsAtOnce(l) {
		if admitted = e.admit(l, v.Class == tally.ClassHit); admitted {
			w.SetCounted()
		} else {
			w = journal.Void()
		}
	}
	r.Put(seq, &w)
	return admitted
}

// hitAtOnce is Hit for a link whose hits raise its counter themselves. It panics if the class is
// unknown.
func (e *Engine) hitAtOnce(l index.Link, v journal.Visit) bool {
	if v.Class >= tally.NumClasses {
		panic("engine: unknown class of visit") // such a record would be taken for another
	}
	if e.caps.exists {
		return e.hitShared(l, v)
	}
	id := l.ID()
	if !e.index.Admit(l, id, v.Class == tally.ClassHit) {
		return false
	}
	return e.recordCounted(l, v)
}

// recordCounted records a hit that has raised the counter.
func (e *Engine) recordCounted(l index.Link, v journal.Visit) bool {
	id := l.ID()
	w := v.Words(id, l.Owner())
	w.SetCounted()
	if !e.journal.RingOf(id).Append(&w) {
		e.appendSlow(id, &w)
	}
	return true
}

// Referrer returns the number of a referrer host, as Visit takes it: see journal.Referrers.Number.
func (e *Engine) Referrer(host []byte) uint16 { return e.journal.Referrers.Number(host) }

const (
	msPerHour   = 3600 * 1000
	hoursPerDay = 24
)

// hourOf returns the hour of a time; before 1970 it is 0.
func hourOf(t time.Time) uint32 { return uint32(max(0, t.Unix()) / 3600) }
