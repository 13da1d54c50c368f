package engine

import (
	"context"
	"log/slog"
	"time"
)

type arena struct{}

// CommitTimeout is how long a writer waits for the store before it answers ErrOutcomeUnknown.
const CommitTimeout = 2 * time.Second

// Options are the engine's settings; the zero value of each field is its default.
type Options struct {
	JournalDir    string        // where the journal's rings are; required
	FlushInterval time.Duration // default 1 s
	RingRecords   int           // records a ring, a power of two; default 1<<18 (8 MiB)
	Rings         int           // a power of two; default 8
	Logger        *slog.Logger  // default: discards
	Now           func() time.Time
}

// Engine is the redirect engine.
type Engine struct{}

func Open(store Store, o Options) (*Engine, error)                             { panic("TODO") }
func (e *Engine) Load(ctx context.Context, progress func(loaded uint64)) error { panic("TODO") }
func (e *Engine) Ready() bool                                                  { panic("TODO") }
func (e *Engine) Run(ctx context.Context) error                                { panic("TODO") }
func (e *Engine) Close() error                                                 { panic("TODO") }
func (e *Engine) Resolve(code []byte) (l Link, ok bool)                        { panic("TODO") }
func (e *Engine) Hit(l *Link, v Visit) bool                                    { panic("TODO") }
func (e *Engine) VisitorKey() (k0, k1 uint64)                                  { panic("TODO") }
func (e *Engine) Create(ctx context.Context, d Draft) (Detail, bool, error)    { panic("TODO") }
func (e *Engine) Update(ctx context.Context, code string, g Guard, edit func(*Record) error) (Detail, error) {
	panic("TODO")
}
func (e *Engine) Delete(ctx context.Context, code string, g Guard) error { panic("TODO") }
func (e *Engine) Read(code string) (Detail, error)                       { panic("TODO") }
func (e *Engine) Stats(ctx context.Context, code string) (Stats, error)  { panic("TODO") }
func (e *Engine) Metrics() Metrics                                       { panic("TODO") }

// Metrics is a snapshot of the engine's own atomics, for a scrape. Reading it costs microseconds.
type Metrics struct {
	Links            uint64 // live links, expired ones included
	Tombstones       uint64
	IndexBytes       uint64 // slots of the shards' tables
	ArenaBytes       uint64 // mapped record bytes
	GarbageBytes     uint64 // of ArenaBytes: superseded records
	CounterBytes     uint64
	JournalBytes     uint64
	PendingBytes     uint64
	Hits             [4]uint64 // journaled since start, by Class
	JournalFillRatio float64   // fullest ring
	JournalReplayed  uint64    // records replayed at start
	JournalInvalid   uint64    // slots skipped at start: torn or stale
	JournalDropped   uint64    // hits that count live but could not be journaled: a crash or restart would lose them
	Flushes          uint64
	FlushErrors      uint64
	LastFlush        time.Time
	LastFlushTook    time.Duration
	FlushSeconds     float64 // summed
}
