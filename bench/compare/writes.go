package main

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
)

// Names of shunts in the scenarios of writes.
const (
	shuntEmpty   = "shunt, empty"
	shuntFull    = "shunt, full" // with --many links
	importServer = "shunt import, server"
	importBoth   = "shunt import, server and client"
)

// A writing is a scenario of writes. Figures are of a link.
type writing struct {
	name, words string
	connections int
	bulk        bool // 1,000 links a request
	servers     []string
	targets     []target
}

var writings = []writing{
	{
		name: "create", words: "one link a request, 64 connections", connections: 64,
		servers: []string{shuntEmpty, shuntFull},
		targets: []target{{ofLink, shuntFull, shuntEmpty, 1.15}},
	},
	{name: "bulk", words: "1,000 links a request, 4 connections", connections: 4, bulk: true, servers: []string{shuntEmpty}},
	{name: "import", words: "shunt import of a file", servers: []string{importServer}},
}

// ofLink is the figure of targets: the CPU time of the server for each link.
const ofLink = "CPU of a link"

// writingNames returns the names that --writes takes.
func writingNames() (names []string) {
	for _, w := range writings {
		names = append(names, w.name)
	}
	return names
}

// asScenario returns what tables and targets need of w.
func (w *writing) asScenario() scenario {
	return scenario{name: w.name, words: w.words, targets: w.targets}
}

// many writes a number of links as a person would: 3 M links.
func many(n int) string {
	if n%1_000_000 == 0 {
		return strconv.Itoa(n/1_000_000) + " M links"
	}
	return thousands(float64(n)) + " links"
}

// mulMod returns a*b mod m without overflow.
func mulMod(a, b, m uint64) uint64 {
	high, low := bits.Mul64(a, b)
	_, rest := bits.Div64(high%m, low, m)
	return rest
}

// writeWrites writes the table of a scenario of writes.
func (r results) writeWrites(w io.Writer, x *writing) {
	fmt.Fprintf(w, "\n### %s: %s\n\n| | CPU of a link, µs | links/s | p50 of a request, ms | p99, ms | calm turns |\n|---|---|---|---|---|---|\n", x.name, x.words)
	for _, name := range append(slices.Clone(x.servers), importBoth) {
		all := r[x.name][name]
		if len(all) == 0 {
			continue
		}
		calm, rate := all.calm(), "–"
		if s := spreadOf(calm.values(func(s *sample) float64 { return s.perSecond })); s.most > 0 {
			rate = thousands(s.median)
		}
		fmt.Fprintf(w, "| %s | %v | %s | %s | %s | %d of %d |\n", name, spreadOf(calm.values(cpuOf)), rate,
			inMilliseconds(calm, p50Of), inMilliseconds(calm, p99Of), all.calmTurns(), len(all))
	}
}

// wideCode returns a code of 8 characters that differs for each i below 62^8 and looks random: an
// odd factor that is no multiple of 31 permutes the codes.
func wideCode(i uint64) string {
	const factor, space = 0x9E3779B97F5 % (62 * 62 * 62 * 62 * 62 * 62 * 62 * 62), 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var code [8]byte
	for n, v := 0, mulMod(i, factor, space); n < len(code); n++ {
		code[n] = base62[v%62]
		v /= 62
	}
	return string(code[:])
}
