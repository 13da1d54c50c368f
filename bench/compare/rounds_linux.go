package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"shunt/bench/compare/load"
)

// A comparison is a run of this program.
type comparison struct {
	*site
	servers []server          // those that can be run
	absent  map[string]string // why others cannot, by name
	rounds  int
	length  time.Duration // of a measurement
	results results
	work    map[string]*otherWork // beside which servers ran, by their names

	// Of scenarios of writes.
	many        int    // links of full
	wanted      string // parts of names of servers, with commas; "": all
	empty, full folder
}

// measure runs rounds of all scenarios, and again up to half as many of those in which a server has
// too few calm turns.
func (c *comparison) measure(ctx context.Context, chosen []scenario) error {
	c.results, c.work = make(results), map[string]*otherWork{shuntBusy: {}, shuntSyncs: {}}
	for _, sc := range chosen {
		c.results[sc.name] = make(map[string]samples)
	}
	for round := range c.rounds + c.rounds/2 {
		for i := range chosen {
			sc := &chosen[i]
			if round >= c.rounds && c.leastCalm(sc) >= c.rounds {
				continue
			}
			c.say("round %d, %s", round+1, sc.name)
			if err := c.round(ctx, sc, round); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, sc.name, err)
			}
		}
	}
	return nil
}

// leastCalm returns the number of calm turns of the server that has the fewest.
func (c *comparison) leastCalm(sc *scenario) int {
	least := math.MaxInt
	for _, all := range c.results[sc.name] {
		least = min(least, all.calmTurns())
	}
	return least
}

// round gives each server a turn. Every round begins with the next one.
func (c *comparison) round(ctx context.Context, sc *scenario, round int) error {
	for n := range c.servers {
		sv := &c.servers[(n+round)%len(c.servers)]
		if !sc.takesPart(sv.name) {
			continue
		}
		report, err := c.turn(ctx, sv, sc.specFor(sv.links, c.links, c.length, round))
		if err != nil {
			return err
		}
		s := sampleOf(round, report, 2)
		c.results[sc.name][sv.name] = append(c.results[sc.name][sv.name], s)
		c.say("%-24s %6.2f µs, %7.0f/s, p50 %v, p99 %v; load %.2f µs; others %.1f %%", sv.name, s.cpu, s.perSecond,
			s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond), report.Own.Seconds()*1e6/float64(max(1, report.Answers)), 100*s.others)
	}
	return nil
}

// turn starts a server, loads it and stops it.
func (c *comparison) turn(ctx context.Context, sv *server, spec load.Spec) (report *load.Report, err error) {
	p, err := c.run(ctx, sv)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if sv.name == nginxSyncs {
		end, err := p.syncBeside(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	work := c.work[sv.name]
	if work != nil {
		spec.Chores = p.chores()
	}
	if report, err = p.apply(ctx, spec); err == nil && work != nil {
		err = p.addWork(work, &spec, report)
	}
	return report, err
}
