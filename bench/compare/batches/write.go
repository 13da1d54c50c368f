package main

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	bulkLinks   = 1000
	mostSamples = 1 << 20 // of latencies; later ones are not kept
	warmUpShare = 4       // the warm-up is a fourth of the length
)

// A Report is what a run has measured. The program that measures reads it as JSON.
type Report struct {
	Links, Batches uint64
	Elapsed, CPU   time.Duration // with the flush of memtables at the end
	P50, P99       time.Duration // of one link, or of a bulk, until it is durable
}

// A phase is some time of writing.
type phase struct {
	db             *pebble.DB
	end            time.Time
	links, batches atomic.Uint64

	mu      sync.Mutex
	latency []time.Duration
	err     error
}

// lastLink and lastBatch are the highest numbers that are in use.
var lastLink, lastBatch atomic.Uint64

// kinds are the ways of writing. Each runs until the end of the phase.
var kinds = map[string]func(p *phase, writers int){
	"group": func(p *phase, writers int) { p.group(writers) },
	"each":  func(p *phase, writers int) { p.each(writers, 1) },
	"bulk":  func(p *phase, writers int) { p.each(writers, bulkLinks) },
}

// measure writes for a warm-up, and then for length, from which the figures are.
func measure(db *pebble.DB, write func(*phase, int), writers int, length time.Duration) (*Report, error) {
	if _, err := writeFor(db, write, writers, length/warmUpShare); err != nil {
		return nil, err
	}
	cpu, began := cpuTime(), time.Now()
	p, err := writeFor(db, write, writers, length)
	if err != nil {
		return nil, err
	}
	r := &Report{Links: p.links.Load(), Batches: p.batches.Load(), Elapsed: time.Since(began), CPU: cpuTime() - cpu}
	slices.Sort(p.latency)
	if n := len(p.latency); n > 0 {
		r.P50, r.P99 = p.latency[n/2], p.latency[n*99/100]
	}
	return r, nil
}

// writeFor writes for a time, and then writes memtables to tables.
func writeFor(db *pebble.DB, write func(*phase, int), writers int, length time.Duration) (*phase, error) {
	p := &phase{db: db, end: time.Now().Add(length)}
	write(p, writers)
	return p, errors.Join(p.err, db.Flush())
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// done counts links that are durable, and keeps how long that took.
func (p *phase) done(links int, began time.Time) {
	took := time.Since(began)
	p.links.Add(uint64(links))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.latency) < mostSamples {
		p.latency = append(p.latency, took)
	}
}

func (p *phase) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

// each lets every writer commit batches of its own, of a number of links.
func (p *phase) each(writers, links int) {
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			var r rower
			b := p.db.NewBatch()
			for time.Now().Before(p.end) {
				began := time.Now()
				if err := p.commit(b, &r, links, 1); err != nil {
					p.fail(err)
					return
				}
				p.done(links, began)
			}
		})
	}
	all.Wait()
}

// commit makes a batch of a number of links durable, with that many entries of the audit log.
func (p *phase) commit(b *pebble.Batch, r *rower, links, entries int) error {
	last, each := lastLink.Add(uint64(links)), uint64(links/entries)
	before := last - uint64(links)
	for n := before + 1; n <= last; n++ {
		if err := r.add(b, n); err != nil {
			return err
		}
	}
	for n := before + each; n <= last; n += each {
		if err := r.audit(b, n, each); err != nil {
			return err
		}
	}
	return p.sync(b, r)
}

func (p *phase) sync(b *pebble.Batch, r *rower) error {
	defer b.Reset()
	if err := r.number(b, lastBatch.Add(1)); err != nil {
		return err
	}
	p.batches.Add(1)
	return b.Commit(pebble.Sync)
}

// group lets one goroutine commit the links of all writers that wait.
func (p *phase) group(writers int) {
	waiting := make(chan chan struct{}, writers)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			durable := make(chan struct{}, 1)
			for time.Now().Before(p.end) {
				began := time.Now()
				waiting <- durable
				<-durable
				p.done(1, began)
			}
		})
	}
	go func() { all.Wait(); close(waiting) }()
	p.commitAll(waiting, writers)
}

// commitAll commits what waits until the channel is closed.
func (p *phase) commitAll(waiting chan chan struct{}, writers int) {
	var r rower
	b, group := p.db.NewBatch(), make([]chan struct{}, 0, writers)
	for first := range waiting {
		group = append(group[:0], first)
		for len(group) < writers && len(waiting) > 0 {
			group = append(group, <-waiting)
		}
		if err := p.commit(b, &r, len(group), len(group)); err != nil {
			p.fail(err)
		}
		for _, durable := range group {
			durable <- struct{}{}
		}
	}
}
