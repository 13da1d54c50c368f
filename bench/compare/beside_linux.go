package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"shunt/bench/compare/load"
)

const (
	besideRedirects   = 20_000 // per second
	besideLinks       = 100_000
	besideConnections = 64

	writesAlone    = "writes alone"
	redirectsAlone = "redirects alone"
	redirectsBoth  = "redirects, beside writes"
	writesBoth     = "writes, beside redirects"
)

// compareBeside measures latencies of creations at half of their greatest rate and of redirects,
// each alone and both together, on one shunt at a time.
func (c *comparison) compareBeside(ctx context.Context, w *strings.Builder) error {
	rate := c.results.halfRate()
	if rate < 1 {
		return errors.New("it needs the rate of the scenario create in the same run")
	}
	if err := c.importRedirects(ctx); err != nil {
		return err
	}
	all := make(map[string]samples)
	for round := range c.rounds {
		for n := range 3 {
			writes, redirects := (n+round)%3 != 0, (n+round)%3 != 1
			made, redirected, err := c.besideTurn(ctx, writes, redirects, rate, round)
			if err != nil {
				return err
			}
			nameOf := map[bool][2]string{true: {writesBoth, redirectsBoth}, false: {writesAlone, redirectsAlone}}[writes && redirects]
			if writes {
				all[nameOf[0]] = append(all[nameOf[0]], sampleOf(round, made, 2))
			}
			if redirects {
				all[nameOf[1]] = append(all[nameOf[1]], sampleOf(round, redirected, 2))
			}
		}
	}
	fmt.Fprintf(w, "\n### beside: %s creations a second, half of the greatest rate, and %s redirects\n\n"+
		"Both loads share a core, and so do their delays.\n\n| | per second | p50, ms | p99, ms | turns |\n|---|---|---|---|---|\n", thousands(rate), thousands(besideRedirects))
	for _, name := range []string{writesAlone, writesBoth, redirectsAlone, redirectsBoth} {
		s := all[name]
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d |\n", name, thousands(spreadOf(s.values(func(s *sample) float64 { return s.perSecond })).median),
			inMilliseconds(s, p50Of), inMilliseconds(s, p99Of), len(s))
	}
	ratio := spreadOf(all[redirectsBoth].ratios(all[redirectsAlone], ofP99))
	fmt.Fprintf(w, "\np99 of redirects with writes, as a multiple of that without: %v.\n", ratio)
	return nil
}

// importRedirects makes the links that redirects ask for, in a folder of their own.
func (c *comparison) importRedirects(ctx context.Context) error {
	ours := *c.site
	ours.data, ours.links = filepath.Join(c.temp, "redirects"), besideLinks
	if err := ours.importShunt(ctx); err != nil {
		return err
	}
	c.redirects = folder{ours.data, ours.token}
	return nil
}

// besideTurn starts a shunt and loads it with writes, redirects, or both.
func (c *comparison) besideTurn(ctx context.Context, writes, redirects bool, rate float64, round int) (made, redirected *load.Report, err error) {
	p, err := c.run(ctx, &server{shunt, "shunt", besideLinks, c.shuntOn(c.redirects.data, true), nil})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	failed := make(chan error, 1)
	if writes {
		s, err := p.posts(shorten(p.address, c.redirects.token), besideConnections, c.length)
		if err != nil {
			return nil, nil, err
		}
		s.rate, s.warmUp = rate, maxWarmUp
		go func() {
			var err error
			made, err = s.run(ctx)
			failed <- err
		}()
	} else {
		failed <- nil
	}
	if redirects {
		redirected, err = p.apply(ctx, load.Spec{
			Connections: besideConnections, Pipeline: 1, Rate: besideRedirects, Sleep: true, Links: besideLinks, Visitors: true,
			WarmUp: maxWarmUp, Length: c.length, Seed: uint64(round),
		})
	}
	err = errors.Join(err, <-failed)
	c.say("beside: %s", latencies(made, redirected))
	return made, redirected, err
}

func latencies(made, redirected *load.Report) (text string) {
	for name, r := range map[string]*load.Report{"writes": made, "redirects": redirected} {
		if r != nil {
			text += fmt.Sprintf("%s p50 %v, p99 %v; ", name, r.P50.Round(time.Microsecond), r.P99.Round(time.Microsecond))
		}
	}
	return strings.TrimSuffix(text, "; ")
}
