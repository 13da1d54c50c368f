package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"shunt/bench/compare/load"
)

const (
	loopsName       = "loops"
	loopsShare      = 0.6 // of what two loops can do is asked of them
	loopsMost       = 1.2 // × the CPU time of one loop
	spreadOver      = 500 // connections
	spreadMostShare = 0.6 // of one of two loops
	oneCore         = "one core"
	bothCores       = "both cores"

	loopConnections = "shunt_loop_connections{" // the metric's name, before its label loop
)

// loopsLoad is the load of both halves of a pair. It does not keep its core busy while it waits,
// because the server needs it.
func (c *comparison) loopsLoad(rate float64, round int) load.Spec {
	sc := scenario{spec: load.Spec{Connections: connections, Pipeline: 1, Rate: rate, Sleep: true, Visitors: true}, zipf: true}
	return sc.specFor(c.links, c.links, c.length, round)
}

// compareLoops compares shunt on one core with shunt on both, at the same rate. The generator's core
// is one of both.
func (c *comparison) compareLoops(ctx context.Context, w *strings.Builder) error {
	sv := c.named(shunt)
	if sv == nil {
		return nil
	}
	able, err := c.turnOn(ctx, sv, c.loopsLoad(0, 0), c.server, c.load)
	if err != nil {
		return fmt.Errorf("what two loops can do: %w", err)
	}
	most := float64(able.Answers) / able.Elapsed.Seconds()
	var one, both samples
	for round := range c.rounds {
		c.say("pair %d, %s", round+1, loopsName)
		for n := range 2 {
			into, on := &one, []int{c.server}
			if n != round%2 {
				into, on = &both, []int{c.server, c.load}
			}
			report, err := c.turnOn(ctx, sv, c.loopsLoad(loopsShare*most, round), on...)
			if err != nil {
				return fmt.Errorf("pair %d, %s: %w", round+1, loopsName, err)
			}
			*into = append(*into, sampleOf(round, report, 2))
		}
	}
	shares, err := c.spreads(ctx, sv)
	if err != nil {
		return err
	}
	writeLoops(w, most, one, both, shares)
	return nil
}

// named returns a server of the comparison, nil if it does not take part.
func (c *comparison) named(name string) *server {
	for i := range c.servers {
		if c.servers[i].name == name {
			return &c.servers[i]
		}
	}
	return nil
}

// turnOn is a turn on some cores.
func (c *comparison) turnOn(ctx context.Context, sv *server, spec load.Spec, on ...int) (report *load.Report, err error) {
	p, err := c.run(ctx, sv, on...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	return p.apply(ctx, spec)
}

// spreads returns for each round which share of 500 connections the loop with the most of them has;
// none if the server does not say.
func (c *comparison) spreads(ctx context.Context, sv *server) (shares []float64, err error) {
	for range c.rounds {
		share, err := c.spread(ctx, sv)
		if err != nil {
			return nil, err
		}
		if share > 0 {
			shares = append(shares, share)
		}
	}
	return shares, nil
}

func (c *comparison) spread(ctx context.Context, sv *server) (share float64, err error) {
	p, err := c.run(ctx, sv, c.server, c.load)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	release, err := p.hold(ctx, spreadOver)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	values, err := p.metrics()
	if err != nil {
		return 0, err
	}
	return mostShare(values), nil
}

// mostShare returns the largest share of the connections that a loop has, 0 if there is no such
// metric.
func mostShare(metrics map[string]float64) float64 {
	var sum, most float64
	for name, n := range metrics {
		if strings.HasPrefix(name, loopConnections) {
			sum += n
			most = max(most, n)
		}
	}
	if sum == 0 {
		return 0
	}
	return most / sum
}

func writeLoops(w *strings.Builder, most float64, one, both samples, shares []float64) {
	ratio := spreadOf(both.ratios(one, ofCPU))
	fmt.Fprintf(w, "\n### shunt on one core and on both\n\nZipf over all links, %s requests a second, which is %.0f %% of what both cores can do (%s). "+
		"The generator runs on the second core, beside the second loop.\n\n",
		thousands(loopsShare*most), 100*loopsShare, thousands(most))
	fmt.Fprint(w, "| | CPU of a request, µs | p50, ms | p99, ms | calm turns |\n|---|---|---|---|---|\n")
	for _, row := range []struct {
		name string
		all  samples
	}{{oneCore, one}, {bothCores, both}} {
		row.all.writePair(w, row.name)
	}
	fmt.Fprintf(w, "\nCPU of a request on both cores: %v × that on one core in %d pairs; at most %.2f: %s.\n", ratio, ratio.n, loopsMost, verdict(ratio.median, loopsMost))
	if len(shares) == 0 {
		fmt.Fprintf(w, "The spread of %d connections over loops is not known: no metric %s…}.\n", spreadOver, loopConnections)
		return
	}
	s := spreadOf(shares)
	fmt.Fprintf(w, "The loop with the most of %d connections has a share of %v; at most %.2f: %s.\n", spreadOver, s, spreadMostShare, verdict(s.most, spreadMostShare))
}

// writePair writes the row of one half of pairs.
func (all samples) writePair(w *strings.Builder, name string) {
	calm := all.calm()
	fmt.Fprintf(w, "| %s | %v | %s | %s | %d of %d |\n", name, spreadOf(calm.values(cpuOf)), inMilliseconds(calm, p50Of), inMilliseconds(calm, p99Of),
		all.calmTurns(), len(all))
}
