package accesslog

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Stdout is the Path of a log on standard output.
const Stdout = "stdout"

// Options say what to log, and where.
type Options struct {
	Path     string // of a file, which is made if it is missing; or Stdout
	Combined bool   // lines are in the Combined Log Format; default: JSON
	Sample   int    // one request of Sample is logged, by chance; default: all
	Clients  bool   // lines have the address, the User-Agent and the referrer of the client
	Logger   *slog.Logger
}

const (
	shards       = 8
	shardBytes   = 256 << 10
	interval     = 250 * time.Millisecond
	stopPatience = 3 * time.Second // for the last write, after ctx of Run has ended
)

// fileMode lets the operator's group read the log.
const fileMode = 0o640

// A Log is an access log. Any number of goroutines may use it at once.
type Log struct {
	o      Options
	shards [shards]shard

	noted   chan struct{} // a shard that was empty has a line; capacity 1
	half    chan struct{} // a shard is half full; capacity 1
	reopen  chan struct{} // capacity 1
	dropped atomic.Uint64

	// Of Run.
	out    io.Writer
	file   *os.File // out, unless that is standard output
	spare  []byte
	torn   bool // out ends in a part of a line
	failed time.Time
}

type shard struct {
	mu    sync.Mutex
	lines []byte   // guarded by mu
	_     [64]byte // a cache line of its own
}

// Open opens the log. It starts no goroutine: lines are kept until Run writes them.
func Open(o Options) (*Log, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l := &Log{o: o, out: os.Stdout, noted: make(chan struct{}, 1), half: make(chan struct{}, 1), reopen: make(chan struct{}, 1)}
	if o.Path != Stdout {
		file, err := openFile(o.Path)
		if err != nil {
			return nil, err
		}
		l.file, l.out = file, file
	}
	for i := range l.shards {
		l.shards[i].lines = make([]byte, 0, shardBytes)
	}
	l.spare = make([]byte, 0, shardBytes)
	return l, nil
}

func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
}

// Due reports whether the sample has the next request. Ask it before an Entry is made.
func (l *Log) Due() bool { return l.o.Sample <= 1 || rand.IntN(l.o.Sample) == 0 }

// Note logs a request, unless there is no room. It never waits and allocates nothing.
func (l *Log) Note(e *Entry) {
	random := rand.Uint64()
	for i := range uint64(shards) {
		s := &l.shards[(random+i)%shards]
		if !s.mu.TryLock() {
			continue
		}
		room, first := cap(s.lines)-len(s.lines) >= maxLine, len(s.lines) == 0
		if room {
			s.lines = l.appendLine(s.lines, e)
		}
		due := len(s.lines) >= shardBytes/2
		s.mu.Unlock()
		switch {
		case due:
			signal(l.half)
		case first:
			signal(l.noted)
		}
		if room {
			return
		}
	}
	l.dropped.Add(1)
}

// appendLine calls no function value: e would escape to the heap.
func (l *Log) appendLine(dst []byte, e *Entry) []byte {
	if l.o.Combined {
		return appendCombined(dst, e, l.o.Clients)
	}
	return appendJSON(dst, e, l.o.Clients)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has been told already
	}
}

// Dropped returns how many lines were dropped since the start.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Reopen makes Run open the file again, for what moves files away (logrotate): lines noted from now
// on are in the new file. If that cannot be opened, the old one stays in use and an error is logged.
// Standard output is not reopened.
func (l *Log) Reopen() { signal(l.reopen) }

// Run writes lines until ctx ends, then those that are left, and closes the file. A file that does
// not answer then is left as it is after 3 s.
func (l *Log) Run(ctx context.Context) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.write(ctx)
	}()
	<-ctx.Done()
	select {
	case <-written:
	case <-time.After(stopPatience):
		l.o.Logger.Error("the access log does not take its last lines", slog.String("file", l.o.Path))
	}
	return ctx.Err()
}

// write is Run, without its patience. While nothing is noted, it sleeps.
func (l *Log) write(ctx context.Context) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for waits := true; ; {
		select {
		case <-ctx.Done():
			l.writeAll()
			l.closeFile()
			return
		case <-l.noted:
			if !waits {
				timer.Reset(interval)
				waits = true
			}
			continue
		case <-timer.C:
			waits = false
		case <-l.half:
		case <-l.reopen:
			l.writeAll()
			l.openAgain()
		}
		l.writeAll()
	}
}

func (l *Log) writeAll() {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		lines := s.lines
		s.lines = l.spare[:0]
		s.mu.Unlock()
		l.spare = lines
		l.writeLines(lines)
	}
}

// writeLines writes lines, or counts them as dropped. A line that an error has cut is ended before
// the next one.
func (l *Log) writeLines(lines []byte) {
	if len(lines) == 0 {
		return
	}
	if l.torn {
		if _, err := l.out.Write([]byte{'\n'}); err != nil {
			l.lose(lines, err)
			return
		}
		l.torn = false
	}
	n, err := l.out.Write(lines)
	if err != nil {
		l.torn = n > 0 && lines[n-1] != '\n'
		l.lose(lines[n:], err)
	}
}

// failureInterval is the time between two log lines about failed writes.
const failureInterval = time.Minute

// lose counts lines that could not be written.
func (l *Log) lose(lines []byte, err error) {
	n := uint64(0)
	for _, c := range lines {
		if c == '\n' {
			n++
		}
	}
	l.dropped.Add(n)
	if now := time.Now(); now.Sub(l.failed) >= failureInterval {
		l.failed = now
		l.o.Logger.Error("the access log cannot be written", slog.Any("cause", err), slog.Uint64("dropped", l.Dropped()))
	}
}

func (l *Log) openAgain() {
	if l.file == nil {
		return
	}
	file, err := openFile(l.o.Path)
	if err != nil {
		l.o.Logger.Error("the access log cannot be opened again; the old file stays in use", slog.Any("cause", err))
		return
	}
	l.closeFile()
	l.file, l.out, l.torn = file, file, false
}

func (l *Log) closeFile() {
	if l.file == nil {
		return
	}
	if err := l.file.Close(); err != nil {
		l.o.Logger.Error("closing the access log", slog.Any("cause", fmt.Errorf("%s: %w", l.o.Path, err)))
	}
}
