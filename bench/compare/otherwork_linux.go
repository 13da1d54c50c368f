package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shunt/bench/compare/load"
)

const (
	createsPerSecond = 200
	creators         = 16 // creates at once, at most
	createTimeout    = 10 * time.Second

	// The store writes a memtable after 128 MiB, and compacts after four of them. Each link is in it
	// twice. So bulks make it compact within a minute, which hits alone do every four.
	bulksPerSecond  = 20
	bulkLinks       = 40
	bulkTargetBytes = 8000
)

// A busyShunt is one that creates links and is scraped.
type busyShunt struct {
	*process
	began            time.Time
	creates, scrapes atomic.Int64
	bulks            atomic.Int64
	failed           atomic.Pointer[error] // the first failure
	stop             context.CancelFunc
	all              sync.WaitGroup
}

// beBusy makes 200 links a second through the API of a running shunt and reads its metrics every
// second, until end is called; shuntBulks also gets bulks of long links, 6.4 MB a second. The server
// flushes every 100 ms besides.
func (c *comparison) beBusy(ctx context.Context, p *process) (end func() error) {
	b := &busyShunt{process: p, began: time.Now()}
	ctx, b.stop = context.WithCancel(ctx)
	due := make(chan int, creators)
	client := &http.Client{Timeout: createTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: creators}}
	b.all.Go(func() { b.every(ctx, time.Second/createsPerSecond, func(n int) { due <- n }); close(due) })
	b.all.Go(func() {
		b.every(ctx, time.Second, func(int) {
			_, err := p.metrics()
			b.note(&b.scrapes, err)
		})
	})
	if p.name == shuntBulks {
		long := bulkBody()
		b.all.Go(func() {
			b.every(ctx, time.Second/bulksPerSecond, func(int) { b.note(&b.bulks, b.post(client, "/api/v1/shorten/bulk", long, http.StatusOK)) })
		})
	}
	for range creators {
		b.all.Go(func() {
			for n := range due {
				b.note(&b.creates, b.create(client, n))
			}
		})
	}
	return func() error {
		b.stop()
		b.all.Wait()
		client.CloseIdleConnections()
		return b.finish(c.work[p.name])
	}
}

// every calls do again and again after a time, with a number that counts up.
func (b *busyShunt) every(ctx context.Context, pause time.Duration, do func(n int)) {
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			do(n)
		}
	}
}

func (b *busyShunt) note(done *atomic.Int64, err error) {
	if done.Add(1); err != nil {
		b.failed.CompareAndSwap(nil, &err)
	}
}

func (b *busyShunt) create(client *http.Client, n int) error {
	return b.post(client, "/api/v1/shorten", fmt.Appendf(nil, `{"url":%q}`, load.Target(n)), http.StatusCreated)
}

// bulkBody returns a body of links with long targets.
func bulkBody() []byte {
	item := `{"url":"` + load.TargetStart + strings.Repeat("x", bulkTargetBytes-len(load.TargetStart)) + `"}`
	return []byte("[" + item + strings.Repeat(","+item, bulkLinks-1) + "]")
}

func (b *busyShunt) post(client *http.Client, path string, body []byte, want int) error {
	request, err := http.NewRequest(http.MethodPost, "http://"+b.address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+b.site.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != want {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, logBytes))
		return fmt.Errorf("POST %s: %s: %s", path, answer.Status, text)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// finish adds what was done to sum, by the server's metrics.
func (b *busyShunt) finish(sum *otherWork) error {
	if err := b.failed.Load(); err != nil {
		return fmt.Errorf("beside the load: %w", *err)
	}
	values, err := b.metrics()
	if err != nil {
		return err
	}
	sum.add(otherWork{
		creates: b.creates.Load(), long: b.bulks.Load() * bulkLinks, scrapes: b.scrapes.Load(), took: time.Since(b.began), flushes: values["shunt_flush_duration_seconds_count"],
		memtables: values["shunt_storage_memtable_flushes_total"], compacts: values["shunt_storage_compactions_total"],
	})
	return nil
}
