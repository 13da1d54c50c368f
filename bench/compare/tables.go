package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"shunt/bench/compare/load"
)

// A figure is one that is compared, by its name in tables.
type figure string

const (
	cpu    figure = "CPU" // of a request or a link, in µs
	second figure = "a second"
	p50    figure = "p50" // of a request, in ms; 0: not measured
	p99    figure = "p99"
)

// A sample is what one turn of a server has measured.
type sample map[figure]float64

func sampleOf(r *load.Report) sample {
	answers := float64(max(1, r.Answers))
	return sample{
		cpu: r.CPU.Seconds() * 1e6 / answers, second: answers / r.Elapsed.Seconds(), p50: inMilliseconds(r.P50), p99: inMilliseconds(r.P99),
	}
}

func inMilliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// results are the samples of each scenario and server, by their names and by round.
type results map[string]map[string]map[int]sample

// add adds what a turn has measured.
func (r results) add(scenario, server string, round int, s sample) {
	if r[scenario] == nil {
		r[scenario] = make(map[string]map[int]sample)
	}
	if r[scenario][server] == nil {
		r[scenario][server] = make(map[int]sample)
	}
	r[scenario][server][round] = s
}

// spread returns the spread of a figure of a server.
func (r results) spread(sc *scenario, server string, f figure) spread {
	var values []float64
	for _, s := range r[sc.name][server] {
		values = append(values, s[f])
	}
	return spreadOf(values)
}

// ratio returns a figure of a server as a multiple of another's in the same rounds.
func (r results) ratio(sc *scenario, of, against string, f figure) spread {
	var values []float64
	for round, s := range r[sc.name][of] {
		if other := r[sc.name][against][round][f]; other != 0 {
			values = append(values, s[f]/other)
		}
	}
	return spreadOf(values)
}

// write writes which targets are met, and a table of each scenario.
func (r results) write(w io.Writer, chosen []scenario) {
	fmt.Fprint(w, "\n### Targets\n\n| scenario | figure | target | measured | |\n|---|---|---|---|---|\n")
	for i := range chosen {
		for _, t := range chosen[i].targets {
			measured, met := "not measured", ""
			if s := r.ratio(&chosen[i], t.of, t.against, t.figure); s.n > 0 {
				measured, met = s.String(), "**not met**"
				if s.median <= t.atMost {
					met = "met"
				}
			}
			fmt.Fprintf(w, "| %s | %s of %s | at most %.2f × %s | %s | %s |\n", chosen[i].name, t.figure, t.of, t.atMost, t.against, measured, met)
		}
	}
	for i := range chosen {
		r.writeScenario(w, &chosen[i])
	}
}

func (r results) writeScenario(w io.Writer, sc *scenario) {
	first := sc.servers[0]
	fmt.Fprintf(w, "\n### %s: %s\n\n| | CPU, µs | × %s | a second | p50, ms | p99, ms |\n|---|---|---|---|---|---|\n", sc.name, sc.words, first)
	for _, name := range append(slices.Clone(sc.servers), importBoth) {
		if len(r[sc.name][name]) > 0 {
			fmt.Fprintf(w, "| %s | %v | %v | %s | %v | %v |\n", name, r.spread(sc, name, cpu), r.ratio(sc, name, first, cpu),
				thousands(r.spread(sc, name, second).median), r.spread(sc, name, p50), r.spread(sc, name, p99))
		}
	}
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
	slices.Sort(values)
	n := len(values)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1], n}
}

func (s spread) String() string {
	switch {
	case s.most == 0:
		return "–"
	case s.n == 1:
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.least, s.most)
}

// thousands writes a number with commas.
func thousands(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
