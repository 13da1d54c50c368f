package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"shunt/bench/compare/load"
)

// Names of servers, which are also those in tables.
const (
	fasthttpConstant = "fasthttp constant"
	nethttpConstant  = "net/http constant"
	epollConstant    = "epoll constant in C"
	nginx            = "nginx, map"
	haproxy          = "HAProxy, map"
	shunt            = "shunt"
	shuntFasthttp    = "shunt --front fasthttp"
	nginxSyncs       = "nginx, map, beside synced writes"
	shuntBusy        = "shunt, beside other work"
	shuntSyncs       = "shunt, beside other work on disk"
)

// guests are servers that take part only where a scenario names them.
var guests = []string{nginxSyncs, shuntBusy, shuntSyncs}

const (
	mapLinks    = 100_000 // in the maps of nginx and HAProxy
	busyFlushes = "100ms" // the flush interval beside other work
)

// A server is one of those that are compared.
type server struct {
	name    string
	program string // its file, of the tools or of the system
	links   int    // 0: it answers all requests alike
	command func(s *site, program string, p *place) (*exec.Cmd, error)
	probe   func(address string) error // nil if the server answers; nil: it redirects its last link
}

// A place is where a server listens, and a folder of its own.
type place struct {
	address, admin string
	dir            string
	others         []string // folders that go with dir
}

// servers returns all servers, in the order of the tables.
func servers(s *site) []server {
	return []server{
		{fasthttpConstant, "constant", 0, constant("fasthttp"), nil},
		{nethttpConstant, "constant", 0, constant("nethttp"), nil},
		{epollConstant, "epoll", 0, epollLoop, nil},
		{nginx, "nginx", min(mapLinks, s.links), nginxMap, nil},
		{haproxy, "haproxy", min(mapLinks, s.links), haproxyMap, nil},
		{shunt, "shunt", s.links, shuntWith(), nil},
		{shuntFasthttp, "shunt", s.links, shuntWith("--front", "fasthttp"), nil},
		{nginxSyncs, "nginx", min(mapLinks, s.links), nginxMap, nil},
		{shuntBusy, "shunt", s.links, shuntBeside(inMemory), nil},
		{shuntSyncs, "shunt", s.links, shuntBeside(onDisk), nil},
	}
}

func constant(kind string) func(*site, string, *place) (*exec.Cmd, error) {
	return func(_ *site, program string, p *place) (*exec.Cmd, error) {
		return exec.Command(program, kind, p.address), nil
	}
}

func epollLoop(_ *site, program string, p *place) (*exec.Cmd, error) {
	ip, port, _ := strings.Cut(p.address, ":")
	return exec.Command(program, ip, port), nil
}

//go:embed proxies
var configurations embed.FS

func nginxMap(s *site, program string, p *place) (*exec.Cmd, error) {
	file, err := s.configure("nginx.conf", "\t/%s %s;\n", p)
	return exec.Command(program, "-p", p.dir, "-c", file), err
}

func haproxyMap(s *site, program string, p *place) (*exec.Cmd, error) {
	file, err := s.configure("haproxy.cfg", "/%s %s\n", p)
	return exec.Command(program, "-db", "-f", file), err
}

// configure writes the configuration of a proxy, and its map in lines of a format.
func (s *site) configure(name, line string, p *place) (file string, err error) {
	links := min(mapLinks, s.links)
	values := struct {
		Address, Dir, Map string
		Links             int
	}{p.address, p.dir, filepath.Join(s.temp, name+".map"), links}
	if _, err := os.Stat(values.Map); err != nil {
		if err := writeLinks(values.Map, links, line); err != nil {
			return "", err
		}
	}
	text, err := template.ParseFS(configurations, "proxies/"+name)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := text.Execute(&b, values); err != nil {
		return "", err
	}
	file = filepath.Join(p.dir, name)
	return file, os.WriteFile(file, b.Bytes(), 0o644)
}

// writeLinks writes a line for each link, by a format with its code and its target.
func writeLinks(file string, links int, line string) error {
	var b bytes.Buffer
	for i := range links {
		fmt.Fprintf(&b, line, load.Code(i), load.Target(i))
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

func shuntWith(flags ...string) func(*site, string, *place) (*exec.Cmd, error) {
	return func(s *site, program string, p *place) (*exec.Cmd, error) {
		return exec.Command(program, append([]string{
			"serve", "--data", s.data, "--listen", p.address, "--admin-listen", p.admin, "--base-url", "http://" + p.address, "--log-level", "warn",
			"--limit-creates", "off", "--limit-calls", "off", "--limit-misses", "off",
		}, flags...)...), nil
	}
}

// Where a shunt beside other work has its data. On some virtual machines the thread of the host that
// serves the disk shares the time of the cores: while both are busy, each synced write stops both of
// them for milliseconds, whoever writes (nginxSyncs shows it). So its own delays show in memory only.
const (
	inMemory = "/dev/shm"
	onDisk   = ""
)

// shuntBeside is a shunt for other work, on a copy of the folder, which that work enlarges.
func shuntBeside(where string) func(*site, string, *place) (*exec.Cmd, error) {
	return func(s *site, program string, p *place) (*exec.Cmd, error) {
		ours := *s
		ours.data = filepath.Join(p.dir, "data")
		if where != onDisk {
			folder, err := os.MkdirTemp(where, "compare-*")
			if err != nil {
				return nil, err
			}
			p.others, ours.data = append(p.others, folder), filepath.Join(folder, "data")
		}
		if err := os.CopyFS(ours.data, os.DirFS(s.data)); err != nil {
			return nil, err
		}
		return shuntWith("--flush-interval", busyFlushes)(&ours, program, p)
	}
}

// missing returns why a server cannot be run here, "" if it can.
func (s *site) missing(sv *server) string {
	if _, err := s.find(sv.program); err != nil {
		return "not installed"
	}
	return ""
}

// find returns the file of a program: of the tools, or of the system.
func (s *site) find(program string) (string, error) {
	if file := filepath.Join(s.tools, program); isFile(file) {
		return file, nil
	}
	if file, err := exec.LookPath(program); err == nil {
		return file, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", program))
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// importShunt makes shunt's data folder, with the links, if there is none, and a token for its API.
func (s *site) importShunt(ctx context.Context) error {
	run := func(args ...string) (string, error) { return s.runShunt(ctx, s.data, args...) }
	if !isFile(filepath.Join(s.data, "format")) {
		if err := s.makeLinks(run); err != nil {
			return err
		}
	}
	token, err := run("token", "add", "--name", "compare")
	s.token = token
	return err
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

func (s *site) makeLinks(run func(args ...string) (string, error)) error {
	s.say("importing %d links", s.links)
	if _, err := run("user", "add", "compare@example.com", "--admin", "--init"); err != nil {
		return err
	}
	file := filepath.Join(s.temp, "links.ndjson")
	defer os.Remove(file)
	if err := writeLinks(file, s.links, `{"code":"%s","url":"%s"}`+"\n"); err != nil {
		return err
	}
	out, err := run("import", file)
	if err != nil {
		return err
	}
	return allImported(out, s.links)
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
