package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	tools, data   string
	rounds, links int
	seconds       float64
	scenarios     string
	servers       string
	writes        string
	many          int
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == loadArgument {
		exit(generate())
	}
	if len(os.Args) == 3 && os.Args[1] == syncArgument {
		exit(syncOften(os.Args[2]))
	}
	var s settings
	flag.StringVar(&s.tools, "tools", "", "`folder` of the programs that make compare has built")
	flag.StringVar(&s.data, "data", "", "data `folder` of shunt, made if missing and kept (default: one that is removed at the end)")
	flag.IntVar(&s.rounds, "rounds", 6, "rounds, and pairs")
	flag.Float64Var(&s.seconds, "seconds", 3, "seconds of each measurement")
	flag.IntVar(&s.links, "links", 1_000_000, "links of shunt, at most 1,048,576")
	flag.StringVar(&s.scenarios, "scenarios", "", "names of scenarios with commas between them: "+strings.Join(allNames(), ",")+" (default: all)")
	flag.StringVar(&s.servers, "servers", "", "parts of names of servers with commas between them (default: all)")
	flag.StringVar(&s.writes, "writes", "", "measure writes instead: names of their scenarios with commas between them: "+strings.Join(writingNames(), ",")+"; or all")
	flag.IntVar(&s.many, "many", 3_000_000, "links of the full store that creations are measured on, 0: none")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := s.run(ctx)
	cancel()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// allNames returns the names that --scenarios takes.
func allNames() (names []string) {
	for _, sc := range scenarios {
		names = append(names, sc.name)
	}
	return names
}

func (s *settings) check() error {
	if s.tools == "" || s.rounds < 1 || s.rounds > 100 || s.seconds < 0.1 || s.seconds > 600 || s.links < 1 || s.links > 1<<20 || s.many < 0 || s.many > 50_000_000 || flag.NArg() > 0 {
		return errors.New("run it by make compare; flags: compare -help")
	}
	for _, name := range s.chosen() {
		if !slices.Contains(allNames(), name) {
			return fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(allNames(), ", "))
		}
	}
	for _, name := range s.chosenWrites() {
		if !slices.Contains(writingNames(), name) {
			return fmt.Errorf("there is no scenario of writes %q; there are %s", name, strings.Join(writingNames(), ", "))
		}
	}
	return nil
}

// chosenWrites returns the names of the scenarios of writes to run, in place of those of redirects.
func (s *settings) chosenWrites() []string {
	switch s.writes {
	case "":
		return nil
	case "all":
		return writingNames()
	}
	return strings.Split(s.writes, ",")
}

// chosen returns the names of the scenarios to run.
func (s *settings) chosen() []string {
	if s.scenarios == "" {
		return allNames()
	}
	return strings.Split(s.scenarios, ",")
}

func (s *settings) run(ctx context.Context) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	at, err := s.site()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(at.temp)) }()
	c := &comparison{site: at, rounds: s.rounds, length: time.Duration(s.seconds * float64(time.Second)), absent: make(map[string]string), many: s.many, wanted: s.servers}
	began := time.Now()
	var tables strings.Builder
	var heading string
	if writes := s.chosenWrites(); writes != nil {
		err, heading = c.compareWrites(ctx, writes, &tables), c.headingOfWrites(began)
	} else {
		err, heading = s.compareRedirects(ctx, c, &tables), c.heading(began)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(os.Stdout, heading+tables.String())
	return err
}

func (s *settings) compareRedirects(ctx context.Context, c *comparison, tables *strings.Builder) error {
	if err := c.importShunt(ctx); err != nil {
		return err
	}
	c.choose(s.servers)
	return s.compare(ctx, c, tables)
}

// compare runs all that was chosen and writes the tables.
func (s *settings) compare(ctx context.Context, c *comparison, tables *strings.Builder) error {
	var chosen []scenario
	for _, sc := range scenarios {
		if slices.Contains(s.chosen(), sc.name) {
			chosen = append(chosen, sc)
		}
	}
	if err := c.measure(ctx, chosen); err != nil {
		return err
	}
	c.results.writeAll(tables, chosen, c.order())
	for _, name := range c.order() {
		if work := c.work[name]; work != nil {
			work.write(tables, name)
		}
	}
	return nil
}

// site chooses the cores and makes the folders.
func (s *settings) site() (*site, error) {
	available, err := cores()
	if err != nil {
		return nil, err
	}
	if len(available) < 2 {
		return nil, errors.New("this needs two cores: one for the server, one for the load")
	}
	at := &site{tools: s.tools, data: s.data, links: s.links, server: available[0], load: available[1], progress: os.Stderr}
	if err := pinSelf(at.load); err != nil {
		return nil, err
	}
	if at.temp, err = os.MkdirTemp("", "compare-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(at.temp, 0o755); err != nil { // nginx's worker is another user
		return nil, err
	}
	if at.data == "" {
		at.data = filepath.Join(at.temp, "data")
	}
	return at, nil
}

// choose sets the servers that can be run and are wanted.
func (c *comparison) choose(wanted string) {
	for _, sv := range servers(c.site) {
		isWanted := func(part string) bool { return strings.Contains(sv.name, part) }
		if wanted != "" && !slices.ContainsFunc(strings.Split(wanted, ","), isWanted) {
			continue
		}
		if why := c.missing(&sv); why != "" {
			c.absent[sv.name] = why
			continue
		}
		c.servers = append(c.servers, sv)
	}
}

// order returns the names of the servers in the order of the tables.
func (c *comparison) order() (names []string) {
	for _, sv := range c.servers {
		names = append(names, sv.name)
	}
	return names
}

// heading returns the lines that say where, when and how the figures were taken.
func (c *comparison) heading(began time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s; %s; commit %s; %s UTC.\n", machine(), strings.Join(c.versions(), "; "), commit(), began.UTC().Format("2006-01-02 15:04"))
	fmt.Fprintf(&b, "Servers on core %d, load on core %d; rounds: %d, and up to %d more where others used the machine; turns of %v; links: %s in shunt, %s in the maps.\n",
		c.server, c.load, c.rounds, c.rounds/2, c.length, thousands(float64(c.links)), thousands(float64(min(mapLinks, c.links))))
	fmt.Fprintf(&b, "Medians over calm turns (others used at most %.0f %% of both cores; all turns of a server that had no calm one), with their range.\n"+
		"CPU is that of all processes of the server, in the kernel, too. Every answer was checked.\n", 100*calmShare)
	for _, sv := range servers(c.site) {
		if why := c.absent[sv.name]; why != "" {
			fmt.Fprintf(&b, "Without %s: %s.\n", sv.name, why)
		}
	}
	return b.String()
}

func (c *comparison) versions() []string {
	return []string{c.version("nginx", "-v"), c.version("haproxy", "-v"), c.version("gcc", "--version")}
}

// commit returns the commit of the tree, with a mark if it was changed.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=7").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine describes this machine: its processor, kernel and Go.
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
