package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"shunt/bench/compare/load"
)

const batchesEnd = 5 * time.Minute // for flushes, after the end of a run

// pebbleAlone writes rows with Pebble alone, on the server's core, in a copy of the empty folder.
func (c *comparison) pebbleAlone(ctx context.Context, x *writing, name string) (*load.Report, error) {
	kind, writers := map[string]string{pebbleGroup: "group", pebbleEach: "each", pebbleBulks: "bulk"}[name], x.connections
	p, err := c.place()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(p.dir)
	data := filepath.Join(p.dir, "data")
	if err := os.CopyFS(data, os.DirFS(c.empty.data)); err != nil {
		return nil, err
	}
	program, err := c.find("batches")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.length+batchesEnd)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, data, kind, strconv.Itoa(writers), c.length.String())
	cmd.Stdout, cmd.Stderr = &out, &complaints
	cores := []int{c.server, c.load}
	before, err := load.ReadClocks(nil, cores)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := c.start(cmd, c.server); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, &complaints)
	}
	whole := time.Since(began)
	after, err := load.ReadClocks(nil, cores)
	if err != nil {
		return nil, err
	}
	return batchesReport(out.Bytes(), whole, after.Busy-before.Busy+after.Stolen-before.Stolen, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

// batchesReport reads what batches has printed. What others used is known of its whole run only, so
// their share of that is assumed for the part that was measured.
func batchesReport(out []byte, whole, busy, used time.Duration) (*load.Report, error) {
	var r struct {
		Links        uint64
		Elapsed, CPU time.Duration
		P50, P99     time.Duration
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("batches printed %q: %w", out, err)
	}
	others := float64(max(0, busy-used)) / float64(whole)
	return &load.Report{
		Answers: r.Links, Elapsed: r.Elapsed, CPU: r.CPU, P50: r.P50, P99: r.P99,
		Busy: r.CPU + time.Duration(others*float64(r.Elapsed)),
	}, nil
}
