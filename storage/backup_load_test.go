package storage

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
)

// load is a set of clients of an engine: some make and delete links, one follows them. It records
// everything that was acknowledged.
type load struct {
	e    *engine.Engine
	stop atomic.Bool
	sent atomic.Uint64 // hits that began

	mu    sync.Mutex
	moved *sync.Cond
	live  map[string]string // code → target
	dead  map[string]bool
	hits  uint64 // hits that were answered
	doing int    // writes and hits done
}

func newLoad(e *engine.Engine) *load {
	l := &load{e: e, live: map[string]string{}, dead: map[string]bool{}}
	l.moved = sync.NewCond(&l.mu)
	return l
}

// did records an acknowledged operation.
func (l *load) did(note func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	note()
	l.doing++
	l.moved.Broadcast()
}

func (l *load) write(t *testing.T, writer int) {
	for i := 0; !l.stop.Load(); i++ {
		code := fmt.Sprintf("w%d-%d", writer, i)
		target := "https://example.com/" + code
		_, _, err := l.e.Create(context.Background(), engine.Draft{
			Alias: code, Owner: checkedOwner, Target: target, Tags: []string{"load"}, Texts: engine.Texts{Title: code},
		})
		if err != nil {
			t.Error(err)
			return
		}
		l.did(func() { l.live[code] = target })
		if i%5 != 4 {
			continue
		}
		l.did(func() { delete(l.live, code) }) // from here on it may exist or not
		if err := l.e.Delete(context.Background(), keyOf(code), engine.Guard{AnyOwner: true}); err != nil {
			t.Error(err)
			return
		}
		l.did(func() { l.dead[code] = true })
	}
}

func (l *load) visit() {
	for i := uint64(0); !l.stop.Load(); i++ {
		link, ok := l.e.Resolve(viewOf(fmt.Appendf(nil, "w%d-%d", i%3, i%50)))
		if !ok {
			continue
		}
		l.sent.Add(1)
		l.e.Hit(link, engine.Visit{NowMs: time.Now().UnixMilli(), Visitor: rowtest.Visitor(i % 500), Kind: engine.Kind(engine.ClassHit)})
		link.Release()
		l.did(func() { l.hits++ })
	}
}

type acknowledged struct {
	live map[string]string
	dead map[string]bool
	hits uint64
}

// acknowledged waits until done operations were acknowledged, and returns their result.
func (l *load) acknowledged(done int) acknowledged {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.doing < done {
		l.moved.Wait()
	}
	return acknowledged{maps.Clone(l.live), maps.Clone(l.dead), l.hits}
}

// compare checks that the backup has everything that was acknowledged before, and no more hits than
// were sent.
func (l *load) compare(t *testing.T, dir string, before acknowledged) {
	t.Helper()
	sent := l.sent.Load()
	v := inspect(t, dir, nil)
	defer closeInspection(t, v)
	report, faults, total := checkAll(t, v)
	if total > 0 {
		t.Errorf("got %d faults:\n%s", total, tell(faults))
	}
	for code, target := range before.live {
		rec, err := readRecord(v.r, keyOf(code))
		if err == nil && rec.Hot.Flags&engine.FlagTombstone != 0 {
			continue // deleted since
		}
		expect.That(t, err == nil && rec.Hot.Target == target && rec.Cold.Title == code && len(rec.Cold.Tags) == 1, "%s: got %+v, %v", code, rec, err)
	}
	for code := range before.dead {
		rec, err := readRecord(v.r, keyOf(code))
		expect.That(t, err == nil && rec.Hot.Flags&engine.FlagTombstone != 0, "%s was deleted: got %+v, %v", code, rec, err)
	}
	hits := uint64(0)
	for key, value := range allRows(t, v) {
		if key[0] == row.TableLinkHours {
			n, err := row.DecodeTallyHits([]byte(value))
			expect.NoError(t, err)
			hits += n
		}
	}
	expect.That(t, hits >= before.hits && hits <= sent && report.Links >= uint64(len(before.live))/2,
		"got %d links and %d hits, want at least %d and from %d to %d", report.Links, hits, len(before.live), before.hits, sent)
}
