package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"shunt/bench/compare/load"
)

const (
	importRows = 200_000 // of each import
	importEnd  = 10 * time.Minute
)

// importTurn imports a file into an empty shunt, with the client on the core of the load. It returns
// what the server used, and what both used.
func (c *comparison) importTurn(ctx context.Context) (server, both *load.Report, err error) {
	p, err := c.run(ctx, c.writeServers()[importServer])
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	file := filepath.Join(p.dir, "rows.ndjson")
	if err := writeRows(file, importRows); err != nil {
		return nil, nil, err
	}
	ids, err := p.ids()
	if err != nil {
		return nil, nil, err
	}
	cores := []int{c.server, c.load}
	before, err := load.ReadClocks(ids, cores)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	client, err := c.importFile(ctx, p.address, c.empty.token, file, importRows)
	if err != nil {
		return nil, nil, err
	}
	after, err := load.ReadClocks(ids, cores)
	server = &load.Report{
		Answers: importRows, Elapsed: time.Since(began), CPU: after.Server - before.Server, Own: client,
		Busy: after.Busy - before.Busy, Stolen: after.Stolen - before.Stolen,
	}
	sum := *server
	sum.CPU, sum.Own = server.CPU+client, 0
	return server, &sum, err
}

// importFile runs shunt import against a server and returns the CPU time of the client.
func (c *comparison) importFile(ctx context.Context, address, token, file string, rows int) (client time.Duration, err error) {
	program, err := c.find("shunt")
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, importEnd)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "import", file, "--server", "http://"+address)
	cmd.Env = append(os.Environ(), "SHUNT_TOKEN="+token)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := c.start(cmd, c.load); err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("shunt import: %w: %s", err, &complaints)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), allImported(strings.TrimSpace(out.String()), rows)
}

// writeRows writes a file of links for an import, as an export has them but without fields that may
// be missing. Their codes are distinct: the number in base 62, mixed.
func writeRows(name string, links int) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	for i := range uint64(links) {
		fmt.Fprintf(w, `{"code":"%s","url":"%s","hits":%d}`+"\n", wideCode(i), writtenTarget(nil, i), i%100)
	}
	return w.Flush()
}
