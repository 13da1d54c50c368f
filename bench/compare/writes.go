package main

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of what is measured beside shunt in the scenarios of writes, and of shunts there.
const (
	httpAlone     = "HTTP alone: fasthttp, encoding/json"
	pebbleGroup   = "Pebble alone, links that wait share a commit"
	pebbleEach    = "Pebble alone, a commit for each link"
	pebbleBulks   = "Pebble alone, batches of 1,000, with flush"
	redis         = "Redis, SET with fsync"
	httpAndPebble = "HTTP + Pebble"
	shuntEmpty    = "shunt, empty"
	shuntFull     = "shunt, full" // with --many links
	importServer  = "shunt import, server"
	importBoth    = "shunt import, server and client"
)

const redisTimeout = time.Second

// A writing is a scenario of writes. Figures are of a link.
type writing struct {
	name, words string
	connections int  // and writers of Pebble alone
	bulk        bool // 1,000 links a request
	imports     bool // by shunt import
	servers     []string
	targets     []target
}

var writings = []writing{
	{
		name: "create", words: "one link a request, 64 connections", connections: 64,
		servers: []string{httpAlone, pebbleGroup, pebbleEach, redis, shuntEmpty, shuntFull},
		targets: []target{{ofLink, shuntEmpty, httpAndPebble, 1.8}, {ofLink, shuntFull, shuntEmpty, 1.15}},
	},
	{
		name: "bulk", words: "1,000 links a request, 4 connections", connections: 4, bulk: true,
		servers: []string{httpAlone, pebbleBulks, shuntEmpty},
		targets: []target{{ofLink, shuntEmpty, pebbleBulks, 1.5}},
	},
	{
		name: "import", words: "shunt import of a file", connections: 4, bulk: true, imports: true,
		servers: []string{httpAlone, pebbleBulks, importServer},
		// The limit is 25 µs where HTTP alone takes 15 for a creation of one link.
		targets: []target{{ofLink, importServer, pebbleBulks, 2}, {ofLink, importBoth, httpAlone, 25.0 / 15}},
	},
	{name: "writers-1", words: "one link a request, 1 connection", connections: 1, servers: alike},
	{name: "writers-16", words: "one link a request, 16 connections", connections: 16, servers: alike},
	{name: "writers-256", words: "one link a request, 256 connections", connections: 256, servers: alike},
}

// alike are those that are compared with several numbers of writers.
var alike = []string{pebbleGroup, pebbleEach, redis, shuntEmpty}

// ofLink is the figure of targets: the CPU time of the server for each link.
const ofLink = "CPU of a link"

// besideName and tripName are scenarios with tables of their own.
const (
	besideName = "beside"
	tripName   = "trip"
)

// writingNames returns the names that --writes takes.
func writingNames() (names []string) {
	for _, w := range writings {
		names = append(names, w.name)
	}
	return append(names, besideName, tripName)
}

// asScenario returns what tables and targets need of w.
func (w *writing) asScenario() scenario {
	return scenario{name: w.name, words: w.words, targets: w.targets}
}

// redisServer syncs its log before each answer, and never writes the whole database.
func redisServer(_ *site, program string, p *place) (*exec.Cmd, error) {
	ip, port, _ := strings.Cut(p.address, ":")
	return exec.Command(program, "--bind", ip, "--port", port, "--dir", p.dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", "--daemonize", "no"), nil
}

// withSum adds the sample of HTTP alone and Pebble alone together, of rounds that have both.
func (r results) withSum(scenario string) {
	for _, a := range r[scenario][httpAlone] {
		for _, b := range r[scenario][pebbleGroup] {
			if a.round == b.round {
				sum := sample{round: a.round, cpu: a.cpu + b.cpu, others: max(a.others, b.others)}
				r[scenario][httpAndPebble] = append(r[scenario][httpAndPebble], sum)
			}
		}
	}
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
	for _, name := range append(slices.Clone(x.servers), httpAndPebble, importBoth) {
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

// halfRate returns half of the median rate of creations, for the load of beside.
func (r results) halfRate() float64 {
	s := spreadOf(r["create"][shuntEmpty].calm().values(func(s *sample) float64 { return s.perSecond }))
	return math.Floor(s.median / 2)
}

// redisAnswers is a probe of Redis.
func redisAnswers(address string) error {
	conn, err := net.DialTimeout("tcp4", address, redisTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(redisTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 7)
	if n, err := conn.Read(answer); err != nil || string(answer[:n]) != "+PONG\r\n" {
		return fmt.Errorf("the answer of Redis is %q: %w", answer[:n], err)
	}
	return nil
}
