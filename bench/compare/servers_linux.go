package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"shunt/bench/compare/load"
)

const (
	mapLinks    = 100_000    // in the map of nginx
	busyFlushes = "100ms"    // the flush interval beside other work
	inMemory    = "/dev/shm" // where a shunt beside other work has its data, or on disk
)

// On some virtual machines the thread of the host that serves the disk shares the time of the cores: while both are
// busy, each synced write stops both of them for milliseconds, whoever writes (nginxSyncs shows it). So a shunt's own
// delays beside other work show in memory only.

// A site is where the servers run: the folders and cores that they share.
type site struct {
	tools  string // folder of the programs that make compare has built
	temp   string // removed at the end
	links  int    // of shunt in redirects
	server int    // the core of the server
	load   int    // the core of everything else

	filled, empty, full folder
}

// A folder is a data folder of shunt, and a token for it.
type folder struct{ data, token string }

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "compare: "+format+"\n", args...) }

// A place is where a server listens, and a folder of its own.
type place struct {
	address, admin string
	dir            string
	copied         string // a folder that goes with dir
}

// place returns a place for a server: two free ports, and a new folder.
func (s *site) place() (*place, error) {
	dir, err := os.MkdirTemp(s.temp, "server-")
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir}
	for _, address := range []*string{&p.address, &p.admin} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // after the second, so that they differ
		*address = l.Addr().String()
	}
	return p, nil
}

func (p *place) log() string { return filepath.Join(p.dir, "log") }

func (p *place) removeFolders() error {
	return errors.Join(os.RemoveAll(p.dir), os.RemoveAll(p.copied))
}

// A server is one of those that are measured.
type server struct {
	program string // its file, of the tools or of the system
	command func(program string, p *place) (*exec.Cmd, error)
	code    string // that it answers with status when it is ready
	status  int
	token   string // of its API
}

func (s *site) serverOf(name string) *server {
	switch name {
	case nginx, nginxSyncs:
		return &server{"nginx", s.nginxMap, load.Code(min(mapLinks, s.links) - 1), http.StatusFound, ""}
	case shunt:
		return s.redirector(s.shuntOn(s.filled.data))
	case shuntBusy:
		return s.redirector(s.shuntOnCopy(s.filled.data, inMemory, "--flush-interval", busyFlushes))
	case shuntSyncs:
		return s.redirector(s.shuntOnCopy(s.filled.data, s.temp, "--flush-interval", busyFlushes))
	case shuntFull:
		return &server{"shunt", s.shuntOn(s.full.data), "x", http.StatusNotFound, s.full.token}
	default:
		return &server{"shunt", s.shuntOnCopy(s.empty.data, s.temp), "x", http.StatusNotFound, s.empty.token}
	}
}

func (s *site) redirector(command func(string, *place) (*exec.Cmd, error)) *server {
	return &server{"shunt", command, load.Code(s.links - 1), http.StatusFound, s.filled.token}
}

func (s *site) shuntOn(data string, flags ...string) func(string, *place) (*exec.Cmd, error) {
	return func(program string, p *place) (*exec.Cmd, error) {
		return exec.Command(program, append([]string{
			"serve", "--data", data, "--listen", p.address, "--admin-listen", p.admin, "--base-url", "http://" + p.address, "--log-level", "warn",
			"--limit-creates", "off", "--limit-calls", "off", "--limit-misses", "off",
		}, flags...)...), nil
	}
}

// shuntOnCopy is shuntOn for a copy of the data below where, which the load enlarges.
func (s *site) shuntOnCopy(data, where string, flags ...string) func(string, *place) (*exec.Cmd, error) {
	return func(program string, p *place) (cmd *exec.Cmd, err error) {
		if p.copied, err = os.MkdirTemp(where, "compare-"); err != nil {
			return nil, err
		}
		own := filepath.Join(p.copied, "data")
		if err := os.CopyFS(own, os.DirFS(data)); err != nil {
			return nil, err
		}
		return s.shuntOn(own, flags...)(program, p)
	}
}

//go:embed proxies/nginx.conf
var nginxConfiguration string

// nginxMap writes the configuration of nginx, and its map.
func (s *site) nginxMap(program string, p *place) (*exec.Cmd, error) {
	links := min(mapLinks, s.links)
	values := struct {
		Address, Dir, Map string
		Links             int
	}{p.address, p.dir, filepath.Join(s.temp, "nginx.map"), links}
	if _, err := os.Stat(values.Map); err != nil {
		if err := writeLinks(values.Map, links, "\t/%s %s;\n"); err != nil {
			return nil, err
		}
	}
	file, err := os.Create(filepath.Join(p.dir, "nginx.conf"))
	if err != nil {
		return nil, err
	}
	err = errors.Join(template.Must(template.New("").Parse(nginxConfiguration)).Execute(file, values), file.Close())
	return exec.Command(program, "-p", p.dir, "-c", file.Name()), err
}

// writeLinks writes a line for each link, by a format with its code and its target.
func writeLinks(name string, links int, line string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	for i := range links {
		fmt.Fprintf(w, line, load.Code(i), load.Target(i))
	}
	return w.Flush()
}

// importLine is the format of a link in a file to import.
const importLine = `{"code":"%s","url":"%s","hits":7}` + "\n"

// find returns the file of a program: of the tools, or of the system.
func (s *site) find(program string) (string, error) {
	for _, file := range []string{filepath.Join(s.tools, program), program} {
		if found, err := exec.LookPath(file); err == nil {
			return found, nil
		}
	}
	return exec.LookPath(filepath.Join("/usr/sbin", program))
}

// makeFolder makes a data folder with a user, a number of links and a token, or only a token if it is there.
func (s *site) makeFolder(ctx context.Context, data string, links int) (f folder, err error) {
	f.data = data
	if _, err := os.Stat(filepath.Join(data, "format")); err != nil {
		if err := s.fill(ctx, data, links); err != nil {
			return f, err
		}
	}
	f.token, err = s.runShunt(ctx, data, "token", "add", "--name", "compare")
	return f, err
}

func (s *site) fill(ctx context.Context, data string, links int) error {
	if _, err := s.runShunt(ctx, data, "user", "add", "compare@example.com", "--admin", "--init"); err != nil || links == 0 {
		return err
	}
	say("importing %d links", links)
	file := filepath.Join(s.temp, "links.ndjson")
	defer os.Remove(file)
	if err := writeLinks(file, links, importLine); err != nil {
		return err
	}
	out, err := s.runShunt(ctx, data, "import", file)
	return errors.Join(err, allImported(out, links))
}

// runShunt runs a command of shunt on a data folder and returns what it prints.
func (s *site) runShunt(ctx context.Context, data string, args ...string) (string, error) {
	program, err := s.find("shunt")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, program, append(args, "--data", data)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("shunt %s: %w: %s", args[0], err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// allImported checks what shunt import has printed. Links are already there if it repeated a part
// whose outcome it did not know.
func allImported(out string, links int) error {
	var imported, there, refused int
	_, err := fmt.Sscanf(out, "%d links imported, %d already there, %d refused", &imported, &there, &refused)
	if err != nil || imported+there != links || refused > 0 {
		return fmt.Errorf("shunt import of %d links printed %q", links, out)
	}
	return nil
}
