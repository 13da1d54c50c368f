package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"shunt/bench/compare/load"
)

const (
	createsPerSecond = 200
	creators         = 16 // creates at once, at most
)

// The chores of a shunt beside other work, in this order.
const (
	choreCreates = iota
	choreScrapes
)

// chores makes 200 links a second through the API of a running shunt and reads its metrics every
// second. The server flushes every 100 ms besides.
func (p *process) chores() []load.Chore {
	return []load.Chore{
		choreCreates: p.postChore("/api/v1/shorten", fmt.Sprintf(`{"url":%q}`, load.Target(0)), http.StatusCreated, createsPerSecond, creators),
		choreScrapes: {
			Address: p.admin, Request: fmt.Appendf(nil, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", p.admin),
			Status: http.StatusOK, Every: time.Second, Connections: 1,
		},
	}
}

func (p *process) postChore(path, body string, status, perSecond, connections int) load.Chore {
	return load.Chore{
		Address: p.address, Status: status, Every: time.Second / time.Duration(perSecond), Connections: connections,
		Request: fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			path, p.address, p.site.token, len(body), body),
	}
}

// addWork adds to sum what the server has done beside the load with a report.
func (p *process) addWork(sum *otherWork, spec *load.Spec, report *load.Report) error {
	values, err := p.metrics()
	if err != nil {
		return err
	}
	w := otherWork{
		creates: int64(report.Chores[choreCreates]), scrapes: int64(report.Chores[choreScrapes]), took: spec.WarmUp + spec.Length,
		flushes: values["shunt_flush_duration_seconds_count"],
	}
	sum.add(w)
	return nil
}

// syncArgument makes this program write and sync, in a process of its own, as often as links are made
// beside other servers: what the disk alone costs a server on the same core.
const syncArgument = "sync"

const syncedBytes = 300 // of each write: about those of a link in Pebble's log

// syncOften writes to a file until the process is ended.
func syncOften(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	ticks := time.NewTicker(time.Second / createsPerSecond)
	defer ticks.Stop()
	for b := make([]byte, syncedBytes); ; <-ticks.C {
		if _, err := f.Write(b); err != nil {
			return err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
	}
}

// syncBeside runs syncOften on the server's core until end is called.
func (p *process) syncBeside(ctx context.Context) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, syncArgument, filepath.Join(p.dir, "synced"))
	if err := p.site.start(cmd, p.site.server); err != nil {
		return nil, err
	}
	return func() error {
		err := cmd.Process.Kill()
		if wait := cmd.Wait(); cmd.ProcessState == nil || cmd.ProcessState.Exited() {
			err = errors.Join(err, fmt.Errorf("writing and syncing ended by itself: %w", wait))
		}
		return err
	}, nil
}
