package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"shunt/bench/compare/load"
)

// Arguments by which this program becomes the generator, in a process of its own. It reads a Spec
// from standard input.
const (
	loadArgument = "load" // prints a Report
	holdArgument = "hold" // prints a line when its connections stand, and ends with its input
)

// generate is the generator's process.
func generate(kind string) error {
	var spec load.Spec
	input := json.NewDecoder(os.Stdin)
	if err := input.Decode(&spec); err != nil {
		return err
	}
	if kind == holdArgument {
		return load.Hold(&spec, func() { fmt.Println("ready") }, io.MultiReader(input.Buffered(), os.Stdin))
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
	spec.Address, spec.Cores = p.address, []int{p.site.server, p.site.load}
	if spec.Processes, err = p.ids(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, spec.WarmUp+spec.Length+load.Tail+startTimeout)
	defer cancel()
	cmd, err := generator(ctx, loadArgument, &spec)
	if err != nil {
		return nil, err
	}
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

func generator(ctx context.Context, kind string, spec *load.Spec) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, kind)
	cmd.Stdin = bytes.NewReader(text)
	// The loop does not give way, so asking it to 100 times a second only costs time.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	return cmd, nil
}

// hold makes idle connections to a running server, until release is called.
func (p *process) hold(ctx context.Context, n int) (release func() error, err error) {
	cmd, err := generator(ctx, holdArgument, &load.Spec{Address: p.address, Connections: n, Pipeline: 1, Links: 1})
	if err != nil {
		return nil, err
	}
	var complaints bytes.Buffer
	input, end := io.Pipe()
	cmd.Stdin, cmd.Stderr = io.MultiReader(cmd.Stdin, input), &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.site.start(cmd, p.site.load); err != nil {
		return nil, err
	}
	release = func() error {
		_ = end.Close()
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%d idle connections to %s: %w: %s", n, p.name, err, strings.TrimSpace(complaints.String()))
		}
		return nil
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		return nil, errors.Join(release(), err)
	}
	return release, nil
}
