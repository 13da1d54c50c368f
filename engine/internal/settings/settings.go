// Package settings has what is set when an engine is opened, what it is by default (such as how much may wait in memory
// for a store that stalls), and what never changes in a store.
package settings

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"shunt/engine/journal"
)

// Defaults of Options.
const (
	DefaultFlushInterval = time.Second
	DefaultKeptHours     = 8 * 24 // so that any zone has today and the seven days before it, by the hour
	DefaultKeptDays      = 400
	DefaultKeptAuditDays = 400
	DefaultClockSettles  = 10 * time.Minute
	DefaultRings         = 8
	DefaultRingRecords   = 1 << 18 // 8 MiB a ring; 8 of them hold 10 s of 200,000 hits/s
	DefaultCloseTimeout  = 10 * time.Second
	DefaultMaxReceipts   = 100_000

	// DefaultPendingEntries bounds the entries that wait for a store that stalls: a cache line an
	// entry is 1 GiB, with the index 1.3 GiB. That is enough for 100 s of 155,000 different links
	// each second. Without visitors and breakdowns, a flush of this many rows has at most 48 bytes
	// a row, 768 MiB, and a store takes 1 GiB at once: so counts are never too large to flush.
	DefaultPendingEntries = 1 << 24
)

// Limits of Options.
const (
	MaxKeptHours = 31 * 24
	MaxKeptDays  = 3660
)

// Options are the engine's settings; the zero value of each field is its default.
type Options struct {
	JournalDir    string        // where the journal's rings are; required, made if it is missing
	FlushInterval time.Duration // default 1 s
	RingRecords   int           // records a ring, a power of two from 256 to 2^26
	Rings         int           // a power of two up to 32
	KeptHours     int           // hours for which figures by the hour are kept; default 192
	KeptDays      int           // days for which figures by the day are kept; default 400
	KeptAuditDays int           // days for which the audit log is kept; default 400
	MaxReceipts   int           // receipts that a sender may have at a time (CreateOnce); default 100,000
	ClockSettles  time.Duration // how long the clock must run evenly before it closes hours; default 10 min; negative: 0, and Now is trusted in all
	CloseTimeout  time.Duration // how long Run's end and Close each wait for a store that hangs; default 10 s

	// PendingEntries bounds the (hour, link), (hour, target) and (hour, owner) entries that wait in memory for the
	// store; at least 3, at most the default. Redirects beyond it are only in live counters: see
	// Metrics.HitsMissing.
	PendingEntries int

	// Cluster says that the store shares its writes with other nodes: the engine takes writes only
	// after Lead.
	Cluster bool

	// EdgeOfWriter says that this is an edge of a server that is no cluster, which records the hits of links with a
	// cap: see package caps. Cluster must be true, too.
	EdgeOfWriter bool

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

	Random io.Reader // of drawn codes; default crypto/rand

	// Monotonic is the clock that nobody sets; default time.Now. Only differences count.
	Monotonic func() time.Time
}

// SetDefaults sets the fields that have no value, and checks all.
func (o *Options) SetDefaults() error {
	if o.JournalDir == "" {
		return errors.New("no journal folder")
	}
	o.FlushInterval = cmp.Or(o.FlushInterval, DefaultFlushInterval)
	o.Rings = cmp.Or(o.Rings, DefaultRings)
	o.RingRecords = cmp.Or(o.RingRecords, DefaultRingRecords)
	o.KeptHours = cmp.Or(o.KeptHours, DefaultKeptHours)
	o.ClockSettles = cmp.Or(o.ClockSettles, DefaultClockSettles)
	o.KeptDays = cmp.Or(o.KeptDays, DefaultKeptDays)
	o.KeptAuditDays = cmp.Or(o.KeptAuditDays, DefaultKeptAuditDays)
	o.MaxReceipts = cmp.Or(o.MaxReceipts, DefaultMaxReceipts)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, DefaultCloseTimeout)
	o.PendingEntries = cmp.Or(o.PendingEntries, DefaultPendingEntries)
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
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
	if n := o.PendingEntries; n < 3 || n > DefaultPendingEntries {
		return fmt.Errorf("%d pending entries: not 3 to %d", n, DefaultPendingEntries)
	}
	if n := o.Rings; n < 1 || n > journal.MaxRings || n&(n-1) != 0 {
		return fmt.Errorf("%d rings: not a power of two up to %d", n, journal.MaxRings)
	}
	if n := o.RingRecords; n < journal.MinRingRecords || n > journal.MaxRingRecords || n&(n-1) != 0 {
		return fmt.Errorf("%d records a ring: not a power of two from %d to %d", n, journal.MinRingRecords, journal.MaxRingRecords)
	}
	return nil
}

// Identity is what never changes in a store's life.
type Identity struct {
	StoreID    [16]byte
	VisitorKey [16]byte // secret key of the visitor hash
}
