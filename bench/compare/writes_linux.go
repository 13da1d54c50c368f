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

const (
	fillEnd = time.Hour
)

// A folder is a data folder of shunt, and a token for it.
type folder struct{ data, token string }

// compareWrites runs the chosen scenarios of writes and writes their tables.
func (c *comparison) compareWrites(ctx context.Context, chosen []string, w *strings.Builder) error {
	if err := c.makeFolders(ctx, chosen); err != nil {
		return err
	}
	c.results = make(results)
	var scenarios []scenario
	for i := range writings {
		if x := &writings[i]; slices.Contains(chosen, x.name) {
			if err := c.measureWrites(ctx, x); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			scenarios = append(scenarios, x.asScenario())
		}
	}
	if len(scenarios) > 0 {
		c.results.writeTargets(w, scenarios)
	}
	for i := range writings {
		if x := &writings[i]; slices.Contains(chosen, x.name) {
			c.results.writeWrites(w, x)
		}
	}
	return nil
}

// headingOfWrites returns the lines that say where, when and how the figures of writes were taken.
func (c *comparison) headingOfWrites(began time.Time) string {
	text := fmt.Sprintf("Machine: %s; commit %s; %s UTC.\nServers on core %d, load on core %d; rounds: %d, and up to %d more where others used the machine; "+
		"turns of %v; full: %s.\nMedians over calm turns (others used at most %.0f %% of both cores; all turns of a server that had no calm one), with their range. "+
		"CPU is that of all processes of the server, in the kernel, too. Every answer was checked.\n",
		machine(), commit(), began.UTC().Format("2006-01-02 15:04"), c.server, c.site.load,
		c.rounds, c.rounds/2, c.length, many(c.many), 100*calmShare)
	for name, why := range c.absent {
		text += fmt.Sprintf("Without %s: %s.\n", name, why)
	}
	return text
}

// makeFolders makes the folders that the chosen scenarios need: empty, with the links of redirects,
// and with many links.
func (c *comparison) makeFolders(ctx context.Context, chosen []string) (err error) {
	if c.empty, err = c.makeFolder(ctx, "empty", 0); err != nil {
		return err
	}
	if slices.Contains(chosen, "create") && c.many > 0 {
		c.full, err = c.makeFolder(ctx, "full", c.many)
	}
	return err
}

// makeFolder makes a data folder with a user, a token and a number of links.
func (c *comparison) makeFolder(ctx context.Context, name string, links int) (f folder, err error) {
	ctx, cancel := context.WithTimeout(ctx, fillEnd)
	defer cancel()
	f.data = filepath.Join(c.temp, name)
	if _, err := c.runShunt(ctx, f.data, "user", "add", "compare@example.com", "--admin", "--init"); err != nil {
		return f, err
	}
	if links > 0 {
		c.say("importing %d links", links)
		file := filepath.Join(c.temp, "full.ndjson")
		defer os.Remove(file)
		if err := writeRows(file, links); err != nil {
			return f, err
		}
		out, err := c.runShunt(ctx, f.data, "import", file)
		if err := errors.Join(err, allImported(out, links)); err != nil {
			return f, err
		}
	}
	f.token, err = c.runShunt(ctx, f.data, "token", "add", "--name", "compare")
	return f, err
}

// measureWrites runs rounds of a scenario, and again up to half as many while turns are not calm.
func (c *comparison) measureWrites(ctx context.Context, x *writing) error {
	c.results[x.name] = make(map[string]samples)
	sc := x.asScenario()
	for round := range c.rounds + c.rounds/2 {
		if round >= c.rounds && c.leastCalm(&sc) >= c.rounds {
			return nil
		}
		for n := range x.servers {
			name := x.servers[(n+round)%len(x.servers)]
			if c.without(name) {
				continue
			}
			if err := c.turnOfWrites(ctx, x, name, round); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, name, err)
			}
		}
	}
	return nil
}

// without reports whether a server is not wanted, or cannot be measured here.
func (c *comparison) without(name string) bool {
	isWanted := func(part string) bool { return strings.Contains(name, part) }
	if c.wanted != "" && !slices.ContainsFunc(strings.Split(c.wanted, ","), isWanted) {
		return true
	}
	if name == shuntFull {
		return c.full.data == ""
	}
	sv := c.writeServers()[name]
	if sv == nil {
		return false
	}
	why := c.missing(sv)
	if why != "" {
		c.absent[name] = why
	}
	return why != ""
}

// turnOfWrites measures a server once.
func (c *comparison) turnOfWrites(ctx context.Context, x *writing, name string, round int) error {
	var report, both *load.Report
	var err error
	switch name {
	case importServer:
		report, both, err = c.importTurn(ctx)
	default:
		report, err = c.postsTurn(ctx, x, name)
	}
	if err != nil {
		return err
	}
	s := sampleOf(round, report, 2)
	c.results[x.name][name] = append(c.results[x.name][name], s)
	if both != nil {
		c.results[x.name][importBoth] = append(c.results[x.name][importBoth], sampleOf(round, both, 2))
	}
	c.say("%s, %-44s %7.2f µs, %8.0f/s, p50 %v, p99 %v; others %.1f %%", x.name, name, s.cpu, s.perSecond,
		s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond), 100*s.others)
	return nil
}

// postsTurn starts a server, makes links and stops it.
func (c *comparison) postsTurn(ctx context.Context, x *writing, name string) (r *load.Report, err error) {
	p, err := c.run(ctx, c.writeServers()[name])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	token := c.empty.token
	if name == shuntFull {
		token = c.full.token
	}
	kind := shorten(p.address, token)
	if x.bulk {
		kind = shortenBulk(p.address, token)
	}
	s, err := p.posts(kind, x.connections, c.length)
	if err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// posts returns a load of writes for a running server.
func (p *process) posts(kind protocol, connections int, length time.Duration) (*posts, error) {
	ids, err := p.ids()
	return &posts{
		address: p.address, connections: connections, protocol: kind, warmUp: min(maxWarmUp, length/2), length: length, own: ownTime,
		clocks: func() (load.Clocks, error) { return load.ReadClocks(ids, []int{p.site.server, p.site.load}) },
	}, err
}

// ownTime returns the CPU time that this process has used.
func ownTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeServers returns the servers that scenarios of writes start.
func (c *comparison) writeServers() map[string]*server {
	empty := answers("x", http.StatusNotFound)
	return map[string]*server{
		shuntEmpty:   {shuntEmpty, "shunt", 0, c.shuntOn(c.empty.data, true), empty},
		importServer: {importServer, "shunt", 0, c.shuntOn(c.empty.data, true), empty},
		shuntFull:    {shuntFull, "shunt", 0, c.shuntOn(c.full.data, false), empty},
	}
}

// shuntOn returns the command of a shunt on a folder, or on a copy of it.
func (c *comparison) shuntOn(data string, copied bool) func(*site, string, *place) (*exec.Cmd, error) {
	return func(s *site, program string, p *place) (*exec.Cmd, error) {
		ours := *s
		if ours.data = data; copied {
			ours.data = filepath.Join(p.dir, "data")
			if err := os.CopyFS(ours.data, os.DirFS(data)); err != nil {
				return nil, err
			}
		}
		return shuntWith()(&ours, program, p)
	}
}
