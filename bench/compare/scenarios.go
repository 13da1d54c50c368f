package main

import (
	"time"

	"shunt/bench/compare/load"
)

// Names of servers, which are also those in tables.
const (
	nginx        = "nginx, map"
	shunt        = "shunt"
	nginxSyncs   = "nginx, map, beside synced writes"
	shuntBusy    = "shunt, beside other work"
	shuntSyncs   = "shunt, beside other work on disk"
	shuntEmpty   = "shunt, empty"
	shuntFull    = "shunt, full" // with --many links
	importServer = "shunt import, server"
	importBoth   = "shunt import, server and client"
)

const (
	maxWarmUp     = time.Second
	pacedRate     = 30_000 // requests per second
	pacedVisitors = 256    // connections
	bulkLinks     = 1000   // of a request
)

// A scenario is a kind of load.
type scenario struct {
	name, words string
	servers     []string // ratios are to the first
	targets     []target
	redirects   load.Spec // without the server's part
	writers     int       // connections that make links
	links       int       // of a request that makes links
}

// A target bounds a figure of one server by that of another: the ratio is at most atMost.
type target struct {
	figure      figure
	of, against string
	atMost      float64
}

var redirects = []scenario{
	{
		name: "zipf", words: "Zipf over all links, 64 connections", servers: []string{nginx, shunt},
		redirects: load.Spec{Connections: 64, Pipeline: 1},
		targets:   []target{{cpu, shunt, nginx, 0.89}},
	},
	{
		name: "paced", words: "30,000 requests a second at random times, many visitors, Zipf over all links, 256 connections",
		servers:   []string{nginx, shunt, nginxSyncs, shuntBusy, shuntSyncs},
		redirects: load.Spec{Connections: pacedVisitors, Pipeline: 1, Rate: pacedRate, Visitors: true},
		targets: []target{ // nginx has no other work to do: its creates, flushes and scrapes are what the 3 is for
			{cpu, shunt, nginx, 1.0}, {p99, shunt, nginx, 1.2}, {p99, shuntBusy, nginx, 3.0}, {p99, shuntSyncs, nginxSyncs, 3.0},
		},
	},
}

var writes = []scenario{
	{
		name: "create", words: "one link a request, 64 connections", writers: 64, links: 1,
		servers: []string{shuntEmpty, shuntFull},
		targets: []target{{cpu, shuntFull, shuntEmpty, 1.15}},
	},
	{name: "bulk", words: "1,000 links a request, 4 connections", writers: 4, links: bulkLinks, servers: []string{shuntEmpty}},
	{name: "import", words: "shunt import of a file", servers: []string{importServer}},
}
