package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
)

// life is a store in memory and a journal folder, over which one engine is opened after another. No
// loop runs: the test decides when to fold and flush.
type life struct {
	*engine.Engine
	t     testing.TB
	gate  *gate
	dir   string // of the journal
	log   logBuffer
	links int
	ids   []uint64
	stop  func() // closes the store
}

// logBuffer collects what engines log.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take returns the lines logged since the last call.
func (b *logBuffer) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := strings.Split(b.buf.String(), "\n")
	b.buf.Reset()
	return lines[:len(lines)-1]
}

// newLife makes a store with the given number of links, "link0" and so on, each with its own owner.
func newLife(t *testing.T, links int) *life {
	t.Helper()
	store, err := storage.Open("data", storage.Options{Create: true, FS: vfs.NewMem()})
	expect.OK(t, err)
	l := &life{t: t, gate: &gate{Store: store}, dir: filepath.Join(t.TempDir(), "journal"), links: links}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	l.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		expect.NoError(t, store.Close())
	})
	t.Cleanup(l.stop)
	l.open(engine.Options{})
	l.running(func() {
		for i := range links {
			d := engine.Draft{Alias: fmt.Sprintf("link%d", i), Owner: uint32(i + 1), Target: "https://example.com/"}
			made, _, err := l.Create(context.Background(), d)
			expect.OK(t, err)
			l.ids = append(l.ids, made.ID)
		}
	})
	l.close()
	return l
}

// running calls f while the engine's loops run.
func (l *life) running(f func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { _ = l.Run(ctx) })
	f()
	cancel()
	loops.Wait()
}

func (l *life) tryOpen(o engine.Options) (err error) {
	if o.RingRecords == 0 {
		o.Rings, o.RingRecords = 2, 256
	}
	if o.FlushInterval == 0 {
		o.FlushInterval = time.Hour
	}
	if o.JournalDir == "" {
		o.JournalDir = l.dir
	}
	o.Logger = slog.New(slog.NewTextHandler(&l.log, nil))
	if l.Engine, err = engine.Open(l.gate, o); err != nil {
		return err
	}
	return l.Load(context.Background(), nil)
}

func (l *life) open(o engine.Options) {
	l.t.Helper()
	expect.OK(l.t, l.tryOpen(o))
}

func (l *life) close() {
	l.t.Helper()
	expect.OK(l.t, l.Close())
}

// crash leaves the engine as a killed process would.
func (l *life) crash() {
	l.t.Helper()
	expect.OK(l.t, l.Abandon())
}

// hit counts n hits of link number i by one visitor.
func (l *life) hit(i, n int, visitor uint64) {
	l.t.Helper()
	link, ok := l.Resolve(viewOf(fmt.Appendf(nil, "link%d", i)))
	expect.MustThat(l.t, ok, "link%d does not resolve", i)
	for range n {
		l.Hit(link, engine.Visit{Visitor: visitor, NowMs: time.Now().UnixMilli()})
	}
	link.Release()
}

// flush folds and flushes all records.
func (l *life) flush() error {
	l.Fold()
	return errors.Join(l.Flush(), l.Flush()) // the second call commits the records that waited for a failed batch
}

// durable returns the hits of link number i in the store.
func (l *life) durable(i int) uint64 {
	l.t.Helper()
	tally, _, err := l.gate.readLife(l.ids[i])
	expect.OK(l.t, err)
	return tally.Hits
}

// ringPath returns the path of ring number i.
func (l *life) ringPath(i int) string {
	l.t.Helper()
	path, err := engine.RingPath(l.dir, l.gate, i)
	expect.OK(l.t, err)
	return path
}

// wantLog checks that exactly n new lines contain all parts.
func (l *life) wantLog(lines int, parts ...string) {
	l.t.Helper()
	got, n := l.log.take(), 0
	for _, line := range got {
		if !strings.Contains(line, "level=WARN") && !strings.Contains(line, "level=ERROR") {
			continue
		}
		n++
		for _, part := range parts {
			expect.That(l.t, strings.Contains(line, part), "%q is not in %q", part, line)
		}
	}
	expect.Equal(l.t, n, lines, "warnings:\n%s", strings.Join(got, "\n"))
}
