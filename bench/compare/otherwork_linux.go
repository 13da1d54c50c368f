package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"shunt/bench/compare/load"
)

const (
	createsPerSecond = 200
	creators         = 16 // creates at once, at most

	// The store writes a memtable after 128 MiB, and compacts after four of them. Each link is in it
	// twice. So bulks make it compact within a minute, which hits alone do every four.
	bulksPerSecond  = 20
	bulkClients     = 2
	bulkLinks       = 40
	bulkTargetBytes = 8000
)

// The chores of a shunt beside other work, in this order.
const (
	choreCreates = iota
	choreScrapes
	choreBulks
)

// chores makes 200 links a second through the API of a running shunt and reads its metrics every
// second; shuntBulks also gets bulks of long links, 6.4 MB a second. The server flushes every 100 ms
// besides.
func (p *process) chores() []load.Chore {
	all := []load.Chore{
		choreCreates: p.postChore("/api/v1/shorten", fmt.Sprintf(`{"url":%q}`, load.Target(0)), http.StatusCreated, createsPerSecond, creators),
		choreScrapes: {
			Address: p.admin, Request: fmt.Appendf(nil, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", p.admin),
			Status: http.StatusOK, Every: time.Second, Connections: 1,
		},
	}
	if p.name == shuntBulks {
		all = append(all, p.postChore("/api/v1/shorten/bulk", bulkBody(), http.StatusOK, bulksPerSecond, bulkClients))
	}
	return all
}

func (p *process) postChore(path, body string, status, perSecond, connections int) load.Chore {
	return load.Chore{
		Address: p.address, Status: status, Every: time.Second / time.Duration(perSecond), Connections: connections,
		Request: fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			path, p.address, p.site.token, len(body), body),
	}
}

// bulkBody returns a body of links with long targets.
func bulkBody() string {
	item := `{"url":"` + load.TargetStart + strings.Repeat("x", bulkTargetBytes-len(load.TargetStart)) + `"}`
	return "[" + item + strings.Repeat(","+item, bulkLinks-1) + "]"
}

// addWork adds to sum what the server has done beside the load with a report.
func (p *process) addWork(sum *otherWork, spec *load.Spec, report *load.Report) error {
	values, err := p.metrics()
	if err != nil {
		return err
	}
	w := otherWork{
		creates: int64(report.Chores[choreCreates]), scrapes: int64(report.Chores[choreScrapes]), took: spec.WarmUp + spec.Length,
		flushes: values["shunt_flush_duration_seconds_count"], memtables: values["shunt_storage_memtable_flushes_total"],
		compacts: values["shunt_storage_compactions_total"],
	}
	if len(report.Chores) > choreBulks {
		w.long = int64(report.Chores[choreBulks]) * bulkLinks
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
