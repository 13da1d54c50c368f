package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shunt/bench/compare/load"
)

const (
	postTimeout   = 30 * time.Second // of one answer
	mostLatencies = 1 << 22
	maxAnswerHead = 64 << 10
)

// A posts is a load of writes: requests that make links.
type posts struct {
	address     string
	connections int
	protocol

	warmUp, length time.Duration
	clocks         func() (load.Clocks, error) // of the server and the cores
	own            func() time.Duration        // CPU time of this process
}

// posted is a run of posts.
type posted struct {
	*posts
	sent, counted atomic.Uint64
	counts        atomic.Bool // between the warm-up and the end

	mu      sync.Mutex
	latency []time.Duration
}

// run makes links from the start of the warm-up to the end, and reports what was between them. The
// first wrong answer ends it with an error.
func (s *posts) run(ctx context.Context) (*load.Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.warmUp+s.length+2*postTimeout, errors.New("the writes do not end"))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ending, end := context.WithCancel(ctx)
	defer end()
	p := &posted{posts: s}
	var all sync.WaitGroup
	for range s.connections {
		all.Go(func() {
			if err := p.connection(ending); err != nil {
				fail(err)
			}
		})
	}
	report, err := p.measure(ctx)
	end()
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	return report, err
}

// measure waits for the warm-up and for the length, and reads clocks before and after it.
func (p *posted) measure(ctx context.Context) (*load.Report, error) {
	if err := sleep(ctx, p.warmUp); err != nil {
		return nil, err
	}
	before, err := p.clocks()
	if err != nil {
		return nil, err
	}
	own, began := p.own(), time.Now()
	p.counts.Store(true)
	if err := sleep(ctx, p.length); err != nil {
		return nil, err
	}
	p.counts.Store(false)
	after, err := p.clocks()
	r := &load.Report{
		Answers: p.counted.Load() * uint64(p.links), Elapsed: time.Since(began), CPU: after.Server - before.Server, Own: p.own() - own,
		Busy: after.Busy - before.Busy, Stolen: after.Stolen - before.Stolen,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.P50, r.P99 = quantiles(p.latency)
	return r, err
}

func quantiles(all []time.Duration) (p50, p99 time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// connection sends requests on a connection, one after the other, until ctx is done.
func (p *posted) connection(ctx context.Context) error {
	conn, err := net.DialTimeout("tcp4", p.address, postTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers, request := bufio.NewReaderSize(conn, maxAnswerHead), []byte(nil)
	for ctx.Err() == nil {
		began := time.Now()
		request = p.append(request[:0], p.sent.Add(1))
		if err := conn.SetDeadline(time.Now().Add(postTimeout)); err != nil {
			return err
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := p.check(answers); err != nil {
			return err
		}
		if p.counts.Load() {
			p.note(time.Since(began))
		}
	}
	return nil
}

func (p *posted) note(took time.Duration) {
	p.counted.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.latency) < mostLatencies {
		p.latency = append(p.latency, took)
	}
}
