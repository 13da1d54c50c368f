package main

import (
	"slices"
	"time"

	"shunt/bench/compare/load"
)

// calmShare is the share of the cores' time that others may use in a calm turn.
const calmShare = 0.05

// A sample is what one turn of a server has measured.
type sample struct {
	round     int
	cpu       float64 // µs of a request
	perSecond float64
	p50, p99  time.Duration // 0: not measured
	others    float64       // share of the cores' time
}

func sampleOf(round int, r *load.Report, cores int) sample {
	answers := float64(max(1, r.Answers))
	return sample{
		round: round, cpu: float64(r.CPU) / float64(time.Microsecond) / answers, perSecond: answers / r.Elapsed.Seconds(),
		p50: r.P50, p99: r.P99, others: r.Others(cores),
	}
}

func cpuOf(s *sample) float64       { return s.cpu }
func p50Of(s *sample) time.Duration { return s.p50 }
func p99Of(s *sample) time.Duration { return s.p99 }

func (s *sample) calm() bool { return s.others <= calmShare }

func (s *sample) of(figure string) float64 {
	if figure == ofP99 {
		return float64(s.p99)
	}
	return s.cpu
}

// samples are those of one server in one scenario.
type samples []sample

// results are the samples of each scenario and server, by their names.
type results map[string]map[string]samples

// calm returns the samples of calm turns, or all if there are none.
func (all samples) calm() samples {
	var calm samples
	for _, s := range all {
		if s.calm() {
			calm = append(calm, s)
		}
	}
	if calm == nil {
		return all
	}
	return calm
}

func (all samples) calmTurns() (n int) {
	for _, s := range all {
		if s.calm() {
			n++
		}
	}
	return n
}

func (all samples) values(of func(*sample) float64) (values []float64) {
	for i := range all {
		values = append(values, of(&all[i]))
	}
	return values
}

// ratios returns a figure as a multiple of another server's in the same round: of the rounds that
// were calm for both, or of all if there are none.
func (all samples) ratios(others samples, figure string) []float64 {
	var calm, any []float64
	for _, s := range all {
		at := slices.IndexFunc(others, func(o sample) bool { return o.round == s.round })
		if at < 0 || others[at].of(figure) == 0 {
			continue
		}
		ratio := s.of(figure) / others[at].of(figure)
		if any = append(any, ratio); s.calm() && others[at].calm() {
			calm = append(calm, ratio)
		}
	}
	if calm == nil {
		return any
	}
	return calm
}

// A spread is the median and the range of values.
type spread struct {
	median, least, most float64
	n                   int
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return spread{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1], n}
}

// otherWork is what a shunt has done beside redirects.
type otherWork struct {
	creates, scrapes int64
	flushes          float64
	took             time.Duration
}

func (w *otherWork) add(more otherWork) {
	w.creates += more.creates
	w.scrapes += more.scrapes
	w.flushes += more.flushes
	w.took += more.took
}
