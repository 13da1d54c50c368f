package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"shunt/bench/compare/load"
)

// loadArgument makes this program the generator, in a process of its own. It reads a Spec from standard input and
// prints a Report.
const loadArgument = "load"

// generate is the generator's process.
func generate() error {
	var spec load.Spec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return err
	}
	report, err := load.Run(&spec)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// apply loads a running server, from the core for that.
func (p *process) apply(ctx context.Context, spec load.Spec) (*load.Report, error) {
	var err error
	spec.Address = p.address
	if spec.Processes, err = p.ids(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, spec.WarmUp+spec.Length+load.Tail+startTimeout)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(&spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, loadArgument)
	cmd.Stdin = bytes.NewReader(text)
	// The loop does not give way, so asking it to 100 times a second only costs time.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := p.site.start(cmd, p.site.load); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("load on %s: %w: %s", p.name, err, strings.TrimSpace(complaints.String()))
	}
	report := new(load.Report)
	return report, json.Unmarshal(out.Bytes(), report)
}
