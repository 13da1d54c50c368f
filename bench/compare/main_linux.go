package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	tools, data       string
	rounds            int
	links, many       int
	seconds           float64
	scenarios, writes string
	servers           string
}

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == loadArgument:
		err = generate()
	case len(os.Args) == 3 && os.Args[1] == syncArgument:
		err = syncOften(os.Args[2])
	default:
		err = compare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare() error {
	var s settings
	flag.StringVar(&s.tools, "tools", "", "`folder` of the programs that make compare has built")
	flag.StringVar(&s.data, "data", "", "data `folder` of shunt, made if missing and kept (default: one that is removed at the end)")
	flag.IntVar(&s.rounds, "rounds", 6, "rounds")
	flag.Float64Var(&s.seconds, "seconds", 3, "seconds of each measurement")
	flag.IntVar(&s.links, "links", 1_000_000, "links of shunt")
	flag.StringVar(&s.scenarios, "scenarios", "all", "scenarios with commas between them: "+namesOf(redirects))
	flag.StringVar(&s.servers, "servers", "", "parts of names of servers with commas between them (default: all)")
	flag.StringVar(&s.writes, "writes", "", "measure writes instead: scenarios with commas between them: "+namesOf(writes)+"; or all")
	flag.IntVar(&s.many, "many", 3_000_000, "links of the full store that creations are measured on, 0: none")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return s.run(ctx)
}

func namesOf(scenarios []scenario) string {
	var names []string
	for i := range scenarios {
		names = append(names, scenarios[i].name)
	}
	return strings.Join(names, ",")
}

// chosen returns the scenarios to run.
func (s *settings) chosen() (chosen []scenario, err error) {
	if s.tools == "" || s.rounds < 1 || s.rounds > 100 || s.seconds < 0.1 || s.seconds > 600 || s.links < 1 || s.many < 0 || flag.NArg() > 0 {
		return nil, errors.New("run it by make compare; flags: compare -help")
	}
	all, wanted := redirects, s.scenarios
	if s.writes != "" {
		all, wanted = writes, s.writes
	}
	if wanted == "all" {
		return all, nil
	}
	for name := range strings.SplitSeq(wanted, ",") {
		at := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no scenario %q; there are %s", name, namesOf(all))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

func (s *settings) run(ctx context.Context) (err error) {
	chosen, err := s.chosen()
	if err != nil {
		return err
	}
	at, err := s.site()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(at.temp)) }()
	c := &comparison{site: at, rounds: s.rounds, length: time.Duration(s.seconds * float64(time.Second)), results: make(results)}
	if s.servers != "" {
		c.wanted = strings.Split(s.servers, ",")
	}
	began := time.Now()
	if err := s.makeFolders(ctx, at); err != nil {
		return err
	}
	if err := c.measure(ctx, chosen); err != nil {
		return err
	}
	links := fmt.Sprintf("%d in shunt, %d in the map", c.links, min(mapLinks, c.links))
	if s.writes != "" {
		links = fmt.Sprintf("%d in a full store", s.many)
	}
	fmt.Printf("Machine: %s; %s; commit %s; %s UTC.\n"+
		"Servers on core %d, load on core %d; %d rounds; turns of %v; links: %s.\n"+
		"Medians, with their range. CPU is that of all processes of the server, in the kernel, too. Every answer was checked.\n",
		machine(), c.version("nginx", "-v"), commit(), began.UTC().Format("2006-01-02 15:04"),
		c.server, c.load, c.rounds, c.length, links)
	c.results.write(os.Stdout, chosen)
	return nil
}

// makeFolders makes the data folders that the scenarios need.
func (s *settings) makeFolders(ctx context.Context, at *site) (err error) {
	if s.writes == "" {
		at.filled, err = at.makeFolder(ctx, s.data, s.links)
		return err
	}
	if at.empty, err = at.makeFolder(ctx, filepath.Join(at.temp, "empty"), 0); err == nil && s.many > 0 {
		at.full, err = at.makeFolder(ctx, filepath.Join(at.temp, "full"), s.many)
	}
	return err
}

// site chooses the cores and makes a folder.
func (s *settings) site() (*site, error) {
	available, err := cores()
	if err != nil {
		return nil, err
	}
	if len(available) < 2 {
		return nil, errors.New("this needs two cores: one for the server, one for the load")
	}
	at := &site{tools: s.tools, links: s.links, server: available[0], load: available[1]}
	if err := pinSelf(at.load); err != nil {
		return nil, err
	}
	if at.temp, err = os.MkdirTemp("", "compare-"); err != nil {
		return nil, err
	}
	if s.data == "" {
		s.data = filepath.Join(at.temp, "data")
	}
	return at, os.Chmod(at.temp, 0o755) // nginx's worker is another user
}

// commit returns the commit of the tree, with a mark if it was changed.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=7").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine describes this machine: its processor and kernel.
func machine() string {
	cpu := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
			break
		}
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return cpu + ", Linux " + strings.TrimSpace(string(release))
}
