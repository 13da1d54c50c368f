package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"shunt/bench/compare/load"
)

const (
	idleName        = "idle"
	idleClients     = 30_000
	idleMostBytes   = 256 // of heap of each
	idleBeside      = 10_000
	idleBesideRate  = 20_000 // requests per second
	idleBesideMost  = 1.2    // × the p99 without idle connections
	withoutIdle     = "no idle connections"
	withIdle        = "10,000 idle connections"
	filesOfOthers   = 0.8 // the share of file descriptors that idle connections may take
	mostOpenFiles   = 40_000
	collectGarbage  = "/debug/pprof/heap?gc=1"
	heapMetric      = "go_memstats_heap_alloc_bytes"
	stacksMetric    = "go_memstats_stack_inuse_bytes"
	connectedMetric = "shunt_connections"
)

// openFiles returns how many files a process may open, at most as many as are needed.
func openFiles() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("getrlimit: %w", err)
	}
	return int(min(limit.Max, mostOpenFiles)), nil
}

// memory is what idle connections take, in bytes.
type memory struct {
	heap, stacks, resident float64 // of the server
	kernel                 float64 // of both ends
}

// compareIdle measures idle connections.
func (c *comparison) compareIdle(ctx context.Context, w *strings.Builder) error {
	n := min(idleClients, int(filesOfOthers*float64(c.files)))
	fmt.Fprintf(w, "\n### %s idle connections\n\nEach has sent one request (a process may open %s files here). Bytes of each; the kernel's are those of both ends. "+
		"nginx takes its memory when it starts.\n\n| server | heap | stacks | resident memory | kernel: sockets and slab |\n|---|---|---|---|---|\n",
		thousands(float64(n)), thousands(float64(c.files)))
	for _, name := range []string{fasthttpConstant, nethttpConstant, nginx, shunt, shuntFasthttp} {
		sv := c.named(name)
		if sv == nil {
			continue
		}
		c.say("%d idle connections, %s", n, name)
		m, err := c.idleMemory(ctx, sv, n)
		if err != nil {
			return fmt.Errorf("%d idle connections: %w", n, err)
		}
		m.write(w, name, n)
	}
	return c.besideIdle(ctx, w)
}

func (m *memory) write(w *strings.Builder, name string, n int) {
	each := func(bytes float64) string { return fmt.Sprintf("%.0f", bytes/float64(n)) }
	heap, stacks := "–", "–"
	if strings.HasPrefix(name, shunt) {
		heap, stacks = each(m.heap), each(m.stacks)
	}
	switch {
	case name == shunt && m.heap <= 0: // other parts of the server have let go of more
		heap += "; not measured"
	case name == shunt:
		heap += fmt.Sprintf("; at most %d: %s", idleMostBytes, verdict(m.heap/float64(n), idleMostBytes))
	}
	fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", name, heap, stacks, each(m.resident), each(m.kernel))
}

// idleMemory returns by how much memory grows with n idle connections.
func (c *comparison) idleMemory(ctx context.Context, sv *server, n int) (grown memory, err error) {
	p, err := c.run(ctx, sv)
	if err != nil {
		return grown, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	before, err := p.memory(0)
	if err != nil {
		return grown, err
	}
	release, err := p.hold(ctx, n)
	if err != nil {
		return grown, err
	}
	defer func() { err = errors.Join(err, release()) }()
	after, err := p.memory(n)
	return memory{after.heap - before.heap, after.stacks - before.stacks, after.resident - before.resident, after.kernel - before.kernel}, err
}

// memory reads the memory of a server, and of shunt also that n connections are open.
func (p *process) memory(n int) (m memory, err error) {
	if m.kernel, err = kernelMemory(); err != nil {
		return m, err
	}
	if strings.HasPrefix(p.name, shunt) {
		for range 2 { // what a sync.Pool keeps is free after the second collection only
			answer, err := http.Get("http://" + p.admin + collectGarbage)
			if err != nil {
				return m, err
			}
			answer.Body.Close()
		}
		values, err := p.metrics()
		if err != nil {
			return m, err
		}
		if m.heap, m.stacks = values[heapMetric], values[stacksMetric]; int(values[connectedMetric]) < n {
			return m, fmt.Errorf("only %.0f of %d connections are open", values[connectedMetric], n)
		}
	}
	ids, err := p.ids()
	for _, id := range ids {
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id))
		if err != nil {
			return m, err
		}
		var all, resident float64
		if _, err := fmt.Sscan(string(statm), &all, &resident); err != nil {
			return m, err
		}
		m.resident += resident * float64(os.Getpagesize())
	}
	return m, err
}

// kernelMemory returns the bytes of the kernel's socket buffers and of its own objects.
func kernelMemory() (float64, error) {
	sockets, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0, err
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return wordAfter(sockets, "TCP:", "mem")*float64(os.Getpagesize()) + wordAfter(info, "Slab:", "")*1024, nil
}

// wordAfter returns the number that follows a name, in the line that begins with start; without a
// name, the first number of the line.
func wordAfter(text []byte, start, name string) (n float64) {
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != start {
			continue
		}
		for i, word := range words[:len(words)-1] {
			if word == name || name == "" && i == 0 {
				_, _ = fmt.Sscan(words[i+1], &n)
				return n
			}
		}
	}
	return 0
}

// besideIdle compares a load of shunt, and of nginx to know what is the machine's part, with and
// without idle connections.
func (c *comparison) besideIdle(ctx context.Context, w *strings.Builder) error {
	sv := c.named(shunt)
	if sv == nil {
		return nil
	}
	servers := []*server{sv}
	if control := c.named(nginx); control != nil {
		servers = append(servers, control)
	}
	without, with := make([]samples, len(servers)), make([]samples, len(servers))
	for round := range c.rounds {
		for i, sv := range servers {
			c.say("pair %d, %s, %s", round+1, idleName, sv.name)
			for n := range 2 {
				into, idle := &without[i], 0
				if n != round%2 {
					into, idle = &with[i], idleBeside
				}
				report, err := c.turnBeside(ctx, sv, idle, round)
				if err != nil {
					return fmt.Errorf("pair %d, %s, %s: %w", round+1, idleName, sv.name, err)
				}
				*into = append(*into, sampleOf(round, report, 2))
			}
		}
	}
	fmt.Fprintf(w, "\n### %s requests a second beside idle connections\n\n| | CPU of a request, µs | p50, ms | p99, ms | calm turns |\n|---|---|---|---|---|\n",
		thousands(idleBesideRate))
	for i, sv := range servers {
		without[i].writePair(w, sv.name+", "+withoutIdle)
		with[i].writePair(w, sv.name+", "+withIdle)
	}
	for i, sv := range servers {
		ratio := spreadOf(with[i].ratios(without[i], ofP99))
		fmt.Fprintf(w, "\np99 of %s with idle connections: %v × that without in %d pairs", sv.name, ratio, ratio.n)
		if sv.name == shunt {
			fmt.Fprintf(w, "; at most %.2f: %s", idleBesideMost, verdict(ratio.median, idleBesideMost))
		}
		fmt.Fprintln(w, ".")
	}
	return nil
}

// turnBeside is a turn beside a number of idle connections.
func (c *comparison) turnBeside(ctx context.Context, sv *server, idle, round int) (report *load.Report, err error) {
	p, err := c.run(ctx, sv)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if idle > 0 {
		release, err := p.hold(ctx, idle)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	sc := scenario{spec: load.Spec{Connections: pacedVisitors, Pipeline: 1, Rate: idleBesideRate, Visitors: true}, zipf: true}
	return p.apply(ctx, sc.specFor(sv.links, c.links, c.length, round))
}
