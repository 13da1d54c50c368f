package hit

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"shunt/engine/caps"
	"shunt/engine/expect"
	"shunt/engine/index"
	"shunt/engine/internal/settings"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

// BenchmarkJournalCost compares redirects (resolve and count) that write the journal's record with
// redirects that only raise the counter. cpu-ns/op is the CPU time of the whole process, including
// the fold, which runs as in Run and frees the slots ten times a second as if they were flushed;
// package bench measures the store's share. SHUNT_BENCH_LINKS is the number of links, drawn
// uniformly; 1 M if it is not set.
func BenchmarkJournalCost(b *testing.B) {
	links := uint64(1_000_000)
	if s := os.Getenv("SHUNT_BENCH_LINKS"); s != "" {
		var err error
		links, err = strconv.ParseUint(s, 10, 64)
		expect.OK(b, err)
	}
	hs := costHits(b, links)
	for _, on := range []bool{false, true} {
		name := map[bool]string{false: "off", true: "on"}[on]
		b.Run(fmt.Sprintf("links=%d/journal=%s", links, name), func(b *testing.B) {
			visit := journal.Visit{Visitor: 1, NowMs: time.Now().UnixMilli(), Values: tally.Values{Agent: tally.AgentOf(tally.Mobile, 0)}}
			draw := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			stop := hs.foldAndFree()
			before := processTime(b)
			for b.Loop() {
				var code [8]byte
				costCode(&code, draw.Uint64N(links))
				l, ok := hs.index.Resolve(viewOf(code[:]))
				if !ok {
					b.Fatalf("%s does not resolve", code)
				}
				if on {
					visit.Visitor += 0x9e3779b97f4a7c15
					hs.Hit(l, visit)
				} else {
					hs.index.AddHits(l.ID(), 1)
				}
				l.Release()
			}
			stop()
			b.ReportMetric(float64(processTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	b.Logf("%d redirects waited for a full ring", hs.flusher.waits.Load())
}

// costHits returns hits with links and a journal, and without a store.
func costHits(b *testing.B, links uint64) *Hits {
	hs := &Hits{index: new(index.Index), caps: new(caps.Shared), now: time.Now, log: slog.New(slog.DiscardHandler)}
	hs.flusher.init(Positions{})
	hs.index.Init()
	n := journal.Spec{Epoch: 1, Rings: settings.DefaultRings, Records: settings.DefaultRingRecords, Now: hs.now}
	j, err := journal.Create(journal.NewFolder([16]byte{}, b.TempDir()), n)
	expect.OK(b, err)
	b.Cleanup(func() { _ = j.Close() })
	hs.journal, hs.keeper = j, journal.NewKeeper(j, hs.log, hs.flushSoon)
	hs.pending = newPending(j, hs.index, Positions{}, countedHours{}, settings.DefaultPendingEntries)
	target := []byte("https://www.example.com/a/path/as/long/as/most-are?and=a-query")
	for i := range links {
		var code [8]byte
		costCode(&code, i)
		expect.OK(b, hs.index.Put(&index.HotView{KeyView: viewOf(code[:]), Target: target, ID: i + 1, Owner: 1}))
	}
	return hs
}

// costCode spells n with 6 bits a character.
func costCode(code *[8]byte, n uint64) {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
	for i := range code {
		code[i] = alphabet[n>>(6*i)&63]
	}
}

// foldAndFree folds as Run does, and frees folded slots without a store, until stop is called,
// which folds the rest.
func (hs *Hits) foldAndFree() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	free := func() {
		positions := Positions{Rings: make([]uint64, len(hs.journal.Rings))}
		if _, ok := hs.pending.begin(&positions, false); ok {
			hs.pending.committed(&positions)
		}
	}
	loops.Go(func() { hs.foldLoop(ctx) })
	loops.Go(func() { hs.keeper.Run(ctx) })
	loops.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; {
			select {
			case <-ctx.Done():
			case <-hs.flusher.soon:
				free()
			case <-tick.C:
				free()
			}
		}
	})
	return func() {
		cancel()
		loops.Wait()
		hs.pending.fold()
		free()
	}
}

// processTime returns the CPU time of the process so far.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	expect.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
