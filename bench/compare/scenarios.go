package main

import (
	"slices"
	"time"

	"shunt/bench/compare/load"
)

const (
	maxWarmUp     = time.Second
	connections   = 64
	pacedRate     = 30_000 // requests per second
	pacedVisitors = 256    // connections
	pipelined     = 16

	ofCPU = "CPU of a request"
	ofP99 = "p99"
)

// A scenario is a kind of load.
type scenario struct {
	name, words string
	spec        load.Spec // without the server's part
	zipf        bool      // over all links of a server; otherwise one link
	guests      []string  // servers that take part only where they are named
	targets     []target
}

// A target bounds a figure of one server by that of another: the ratio is at most atMost.
type target struct {
	figure, of, against string
	atMost              float64
}

var scenarios = []scenario{
	{
		name: "hot", words: "one link, 64 connections",
		spec:    load.Spec{Connections: connections, Pipeline: 1},
		targets: []target{{ofCPU, shunt, fasthttpConstant, 0.80}},
	},
	{
		name: "zipf", words: "Zipf over all links, 64 connections",
		spec: load.Spec{Connections: connections, Pipeline: 1}, zipf: true,
		targets: []target{{ofCPU, shunt, fasthttpConstant, 0.88}},
	},
	{
		name: "browser", words: "a browser's header fields, many visitors, Zipf over all links, 64 connections",
		spec: load.Spec{Connections: connections, Pipeline: 1, Browser: true, Visitors: true}, zipf: true,
		targets: []target{{ofCPU, shunt, fasthttpConstant, 0.80}},
	},
	{
		name: "pipelined", words: "one link, 16 requests at once, 64 connections",
		spec:    load.Spec{Connections: connections, Pipeline: pipelined},
		targets: []target{{ofCPU, shunt, fasthttpConstant, 0.45}},
	},
	{
		name: "reconnect", words: "one link, a new connection for each request, 64 at once",
		spec:    load.Spec{Connections: connections, Pipeline: 1, Reconnect: true},
		targets: []target{{ofCPU, shunt, nginx, 1.05}},
	},
	{
		name: "paced", words: "30,000 requests a second at random times, many visitors, Zipf over all links, 256 connections",
		spec: load.Spec{Connections: pacedVisitors, Pipeline: 1, Rate: pacedRate, Visitors: true}, zipf: true,
		guests: []string{nginxSyncs, shuntBusy, shuntSyncs},
		targets: []target{
			{ofCPU, shunt, nginx, 1.0}, {ofP99, shunt, nginx, 1.0}, {ofP99, shuntBusy, nginx, 1.0}, {ofP99, shuntSyncs, nginxSyncs, 1.0},
		},
	},
}

// takesPart reports whether a server is measured in the scenario.
func (sc *scenario) takesPart(name string) bool {
	return !slices.Contains(guests, name) || slices.Contains(sc.guests, name)
}

// specFor returns the load for a server with a number of links, 0 if it answers all requests alike;
// most is the number of links of the server that has most.
func (sc *scenario) specFor(links, most int, length time.Duration, round int) load.Spec {
	s := sc.spec
	s.Links, s.Length, s.Seed = 1, length, uint64(round)
	s.WarmUp = min(maxWarmUp, length/2)
	if sc.zipf {
		if s.Links = links; links == 0 {
			s.Links = most
		}
	}
	return s
}
