package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"shunt/bench/compare/load"
)

// A comparison is a run of this program.
type comparison struct {
	*site
	wanted  []string // parts of names of servers; nil: all
	rounds  int
	length  time.Duration // of a measurement
	results results
}

// measure runs rounds of all scenarios. In each it gives every server a turn, and begins with the next one.
func (c *comparison) measure(ctx context.Context, chosen []scenario) error {
	for round := range c.rounds {
		for i := range chosen {
			sc := &chosen[i]
			for n := range sc.servers {
				name := sc.servers[(n+round)%len(sc.servers)]
				if !c.wants(name) {
					continue
				}
				if err := c.turn(ctx, sc, name, round); err != nil {
					return fmt.Errorf("round %d, %s, %s: %w", round+1, sc.name, name, err)
				}
			}
		}
	}
	return nil
}

func (c *comparison) wants(name string) bool {
	isWanted := func(part string) bool { return strings.Contains(name, part) }
	return (c.wanted == nil || slices.ContainsFunc(c.wanted, isWanted)) && (name != shuntFull || c.full.data != "")
}

// turn starts a server, loads it and stops it.
func (c *comparison) turn(ctx context.Context, sc *scenario, name string, round int) (err error) {
	p, err := c.run(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var report *load.Report
	switch warmUp := min(maxWarmUp, c.length/2); {
	case sc.name == "import":
		var both *load.Report
		if report, both, err = p.importRows(ctx); err == nil {
			c.results.add(sc.name, importBoth, round, sampleOf(both))
		}
	case sc.writers > 0:
		report, err = (&posts{process: p, connections: sc.writers, links: sc.links, warmUp: warmUp, length: c.length}).run(ctx)
	default:
		spec := sc.redirects
		spec.Links, spec.WarmUp, spec.Length, spec.Seed = c.links, warmUp, c.length, uint64(round)
		report, err = p.redirects(ctx, spec)
	}
	if err != nil {
		return err
	}
	s := sampleOf(report)
	c.results.add(sc.name, name, round, s)
	say("round %d, %s: %-32s %6.2f µs, %7.0f/s, p50 %.3f ms, p99 %.3f ms; chores %v", round+1, sc.name, name, s[cpu], s[second], s[p50], s[p99], report.Chores)
	return nil
}

// redirects loads a server with redirects, and with what it does beside them.
func (p *process) redirects(ctx context.Context, spec load.Spec) (report *load.Report, err error) {
	switch p.name {
	case nginx, nginxSyncs:
		spec.Links = min(mapLinks, spec.Links)
	case shuntBusy, shuntSyncs:
		spec.Chores = p.chores()
	}
	if p.name == nginxSyncs {
		var end func() error
		if end, err = p.syncBeside(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return p.apply(ctx, spec)
}

const (
	createsPerSecond = 200
	creators         = 16 // creates at once, at most
)

// chores makes 200 links a second through the API of a running shunt and reads its metrics every second. The server
// flushes every 100 ms besides.
func (p *process) chores() []load.Chore {
	return []load.Chore{
		{
			Address: p.address, Request: p.post(nil, "/api/v1/shorten", fmt.Sprintf(`{"url":%q}`, load.Target(0))),
			Status: http.StatusCreated, Every: time.Second / createsPerSecond, Connections: creators,
		},
		{
			Address: p.admin, Request: fmt.Appendf(nil, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", p.admin),
			Status: http.StatusOK, Every: time.Second, Connections: 1,
		},
	}
}

// post appends a request of the API.
func (p *process) post(b []byte, path, body string) []byte {
	return fmt.Appendf(b, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, p.address, p.token, len(body), body)
}

// syncArgument makes this program write and sync, in a process of its own, as often as links are made
// beside other servers: what the disk alone costs a server on the same core.
const syncArgument = "sync"

const syncedBytes = 300 // of each write: about those of a link in Pebble's log

// syncOften writes to a file until the process is ended.
func syncOften(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	ticks := time.NewTicker(time.Second / createsPerSecond)
	defer ticks.Stop()
	for b := make([]byte, syncedBytes); ; <-ticks.C {
		if _, err := f.Write(b); err != nil {
			return err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
	}
}

// syncBeside runs syncOften on the server's core until end is called.
func (p *process) syncBeside(ctx context.Context) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, syncArgument, filepath.Join(p.dir, "synced"))
	if err := p.site.start(cmd, p.site.server); err != nil {
		return nil, err
	}
	return func() error {
		err := cmd.Process.Kill()
		if wait := cmd.Wait(); cmd.ProcessState == nil || cmd.ProcessState.Exited() {
			err = errors.Join(err, fmt.Errorf("writing and syncing ended by itself: %w", wait))
		}
		return err
	}, nil
}
