package etcdlog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/storage/clusterlog"
)

const mutationBytes = 300 // about a link with its receipt

// BenchmarkGroupCommit is writers whose mutations one goroutine gathers into entries, as a store does.
// Servers, log and writers share the machine. Every 1,000 entries the log is trimmed.
func BenchmarkGroupCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 128} {
		for _, kib := range []int{64, 256} {
			if writers < 128 && kib > 64 {
				continue // their entries are small anyway
			}
			b.Run(fmt.Sprintf("writers=%d/entry=%dKiB", writers, kib), func(b *testing.B) { benchGroupCommit(b, writers, kib<<10) })
		}
	}
}

type write struct{ done chan struct{} }

func benchGroupCommit(b *testing.B, writers, entryBytes int) {
	s := newSite(b, 3)
	l := s.open()
	r := s.lead(l, "a")
	queue := make(chan write, writers)
	var committing, writing sync.WaitGroup
	committing.Go(func() { commitGroups(b, r, queue, entryBytes) })
	took := make([][]time.Duration, writers)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	start := time.Now()
	for i := range writers {
		writing.Go(func() {
			for w := (write{make(chan struct{})}); left.Add(-1) >= 0; {
				sent := time.Now()
				queue <- w
				<-w.done
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	writing.Wait()
	seconds := time.Since(start).Seconds()
	b.StopTimer()
	close(queue)
	committing.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/seconds, "writes/s")
	b.ReportMetric(float64(len(all))/float64(len(s.all(l))), "writes/entry")
	b.ReportMetric(all[len(all)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(all[len(all)*99/100].Seconds()*1000, "p99-ms")
}

// commitGroups appends what is in the queue, as one entry of at most entryBytes, until the queue is
// closed.
func commitGroups(b *testing.B, r *reign, queue <-chan write, entryBytes int) {
	payload := make([]byte, entryBytes)
	var group []write
	for first := range queue {
		group = append(group[:0], first)
		for more := true; more && (len(group)+1)*mutationBytes <= entryBytes; {
			select {
			case w, open := <-queue:
				if more = open; open {
					group = append(group, w)
				}
			default:
				more = false
			}
		}
		p, err := r.Append(context.Background(), clusterlog.NewBatchID(), payload[:min(len(group)*mutationBytes, entryBytes)], nil)
		if err != nil {
			b.Error(err)
		}
		for _, w := range group {
			w.done <- struct{}{}
		}
		if p.Sequence%1000 == 0 && err == nil {
			if err := r.Trim(context.Background(), p.Sequence); err != nil {
				b.Error(err)
			}
		}
	}
}

// BenchmarkAppend appends entries of one size, one after the other.
func BenchmarkAppend(b *testing.B) {
	for _, kib := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("payload=%dKiB", kib), func(b *testing.B) {
			s := newSite(b, 3)
			r := s.lead(s.open(), "a")
			payload := make([]byte, kib<<10)
			b.SetBytes(int64(len(payload)))
			for i := range b.N {
				if _, err := r.Append(context.Background(), clusterlog.NewBatchID(), payload, nil); err != nil {
					b.Fatal(err)
				}
				if i%500 == 499 {
					if err := r.Trim(context.Background(), uint64(i+1)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkCatchUp reads a log from its origin.
func BenchmarkCatchUp(b *testing.B) {
	for _, size := range []struct{ entries, bytes int }{{5000, mutationBytes}, {400, 64 << 10}} {
		b.Run(fmt.Sprintf("entries=%d/payload=%dB", size.entries, size.bytes), func(b *testing.B) {
			s := newSite(b, 3)
			l := s.open()
			r := s.lead(l, "a")
			for range size.entries {
				if _, err := r.Append(context.Background(), clusterlog.NewBatchID(), make([]byte, size.bytes), nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				s.entries(l, size.entries)
			}
			b.ReportMetric(float64(b.N)*float64(size.entries)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(float64(b.N)*float64(size.entries)*float64(size.bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
		})
	}
}

// BenchmarkValid is what a leader pays to learn that it still leads.
func BenchmarkValid(b *testing.B) {
	lead := newLeadership(&Log{}, &state{}, time.Now().Add(time.Hour))
	for b.Loop() {
		if !lead.Valid() {
			b.Fatal("not valid")
		}
	}
}
