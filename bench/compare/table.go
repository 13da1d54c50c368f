package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// writeAll writes the tables of scenarios, with those that sum them up first.
func (r results) writeAll(w io.Writer, chosen []scenario, order []string) {
	if len(chosen) == 0 {
		return
	}
	r.writeSummary(w, chosen, order)
	r.writeTargets(w, chosen)
	for i := range chosen {
		r.write(w, &chosen[i], order)
	}
}

// writeSummary writes the medians of the CPU times as multiples of the fasthttp constant's.
func (r results) writeSummary(w io.Writer, chosen []scenario, order []string) {
	fmt.Fprintf(w, "\n### CPU of a request as a multiple of the %s\n\n| server |", fasthttpConstant)
	for _, sc := range chosen {
		fmt.Fprintf(w, " %s |", sc.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(chosen)))
	for _, name := range order {
		fmt.Fprintf(w, "| %s |", name)
		for _, sc := range chosen {
			cell := "–"
			if s := r.ratio(&sc, name, fasthttpConstant, ofCPU); s.n > 0 {
				cell = fmt.Sprintf("%.2f", s.median)
			}
			fmt.Fprintf(w, " %s |", cell)
		}
		fmt.Fprintln(w)
	}
}

// writeTargets writes which targets are met.
func (r results) writeTargets(w io.Writer, chosen []scenario) {
	fmt.Fprint(w, "\n### Targets\n\n| scenario | figure | target | measured | |\n|---|---|---|---|---|\n")
	for _, sc := range chosen {
		for _, t := range sc.targets {
			measured, met := "not measured", ""
			if s := r.ratio(&sc, t.of, t.against, t.figure); s.n > 0 {
				measured, met = s.String(), verdict(s.median, t.atMost)
			}
			fmt.Fprintf(w, "| %s | %s of %s | at most %.2f × %s | %s | %s |\n", sc.name, t.figure, t.of, t.atMost, t.against, measured, met)
		}
	}
}

func verdict(got, atMost float64) string {
	if got <= atMost {
		return "met"
	}
	return "**not met**"
}

// ratio returns a figure of a server as a multiple of another's.
func (r results) ratio(sc *scenario, of, against, figure string) spread {
	return spreadOf(r[sc.name][of].ratios(r[sc.name][against], figure))
}

// write writes the table of a scenario.
func (r results) write(w io.Writer, sc *scenario, order []string) {
	fmt.Fprintf(w, "\n### %s: %s\n\n| server | CPU of a request, µs | × %s | × %s | requests/s | p50, ms | p99, ms | calm turns |\n|---|---|---|---|---|---|---|---|\n",
		sc.name, sc.words, fasthttpConstant, nginx)
	for _, name := range order {
		all := r[sc.name][name]
		if len(all) == 0 {
			continue
		}
		calm := all.calm()
		fmt.Fprintf(w, "| %s | %v | %v | %v | %s | %s | %s | %d of %d |\n", name, spreadOf(calm.values(cpuOf)),
			r.ratio(sc, name, fasthttpConstant, ofCPU), r.ratio(sc, name, nginx, ofCPU),
			thousands(spreadOf(calm.values(func(s *sample) float64 { return s.perSecond })).median),
			inMilliseconds(calm, p50Of), inMilliseconds(calm, p99Of),
			all.calmTurns(), len(all))
	}
}

func inMilliseconds(all samples, of func(*sample) time.Duration) string {
	s := spreadOf(all.values(func(s *sample) float64 { return float64(of(s)) / float64(time.Millisecond) }))
	if s.most == 0 {
		return "–"
	}
	return s.String()
}

// write says what was done beside redirects.
func (w *otherWork) write(to io.Writer, name string) {
	if seconds := w.took.Seconds(); seconds > 0 {
		fmt.Fprintf(to, "\n%s: %.0f links made, %.1f flushes and %.1f scrapes a second.\n",
			name, float64(w.creates)/seconds, w.flushes/seconds, float64(w.scrapes)/seconds)
	}
}

func (s spread) String() string {
	switch s.n {
	case 0:
		return "–"
	case 1:
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
