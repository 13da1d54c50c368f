package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"shunt/bench/compare/load"
)

const (
	postTimeout = 30 * time.Second // of one answer
	importRows  = 200_000          // of each import
	importEnd   = 10 * time.Minute
)

// measured returns what the server used while work ran, which returns how many links it made.
func (p *process) measured(work func() (links int, err error)) (*load.Report, error) {
	ids, err := p.ids()
	if err != nil {
		return nil, err
	}
	before, err := load.CPUTime(ids...)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	links, err := work()
	if err != nil {
		return nil, err
	}
	after, err := load.CPUTime(ids...)
	return &load.Report{Answers: uint64(links), Elapsed: time.Since(began), CPU: after - before}, err
}

// A posts is a load of writes: requests that make links.
type posts struct {
	*process
	connections, links int // links of a request
	warmUp, length     time.Duration

	sent          atomic.Int64
	counts, ended atomic.Bool

	mu   sync.Mutex
	took []time.Duration // each request between warm-up and end
}

// run makes links from the start of the warm-up to the end, and reports what was between them. The
// first wrong answer ends it with an error.
func (s *posts) run(ctx context.Context) (report *load.Report, err error) {
	all, ctx := errgroup.WithContext(ctx)
	for range s.connections {
		all.Go(func() error { return s.connection(ctx) })
	}
	all.Go(func() (err error) {
		defer s.ended.Store(true)
		if err := sleep(ctx, s.warmUp); err != nil {
			return err
		}
		report, err = s.measured(func() (int, error) {
			s.counts.Store(true)
			err := sleep(ctx, s.length)
			s.counts.Store(false)
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.took) * s.links, err
		})
		return err
	})
	if err := all.Wait(); err != nil {
		return nil, err
	}
	if n := len(s.took); n > 0 {
		slices.Sort(s.took)
		report.P50, report.P99 = s.took[n/2], s.took[n*99/100]
	}
	return report, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// connection sends requests on a connection, one after the other, until the end.
func (s *posts) connection(ctx context.Context) error {
	conn, err := net.DialTimeout("tcp4", s.address, postTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers, request := bufio.NewReader(conn), []byte(nil)
	for ctx.Err() == nil && !s.ended.Load() {
		began := time.Now()
		request = s.request(request[:0])
		if err := conn.SetDeadline(began.Add(postTimeout)); err != nil {
			return err
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		if err := s.check(answers); err != nil {
			return err
		}
		if s.counts.Load() {
			s.mu.Lock()
			s.took = append(s.took, time.Since(began))
			s.mu.Unlock()
		}
	}
	return nil
}

// request appends a request for links of their own.
func (s *posts) request(b []byte) []byte {
	n := int(s.sent.Add(int64(s.links)))
	if s.links == 1 {
		return s.post(b, "/api/v1/shorten", fmt.Sprintf(`{"url":%q}`, load.Target(n)))
	}
	items := make([]string, s.links)
	for i := range items {
		items[i] = fmt.Sprintf(`{"url":%q}`, load.Target(n+i))
	}
	return s.post(b, "/api/v1/shorten/bulk", "["+strings.Join(items, ",")+"]")
}

// check reads an answer whole. It is an error if it is not that the links were made.
func (s *posts) check(r *bufio.Reader) error {
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	status, part := http.StatusCreated, ""
	if s.links > 1 {
		status, part = http.StatusOK, fmt.Sprintf(`"created":%d,`, s.links)
	}
	if answer.StatusCode != status || !bytes.Contains(body, []byte(part)) {
		return fmt.Errorf("the answer is not that links were made: %s: %.300q", answer.Status, body)
	}
	return nil
}

// importRows imports a file into an empty shunt, with the client on the core of the load. It returns
// what the server used, and what both used.
func (p *process) importRows(ctx context.Context) (server, both *load.Report, err error) {
	file := filepath.Join(p.dir, "rows.ndjson")
	if err := writeLinks(file, importRows, importLine); err != nil {
		return nil, nil, err
	}
	var client time.Duration
	server, err = p.measured(func() (_ int, err error) {
		client, err = p.importFile(ctx, file)
		return importRows, err
	})
	if err != nil {
		return nil, nil, err
	}
	sum := *server
	sum.CPU += client
	return server, &sum, nil
}

// importFile runs shunt import against a server and returns the CPU time of the client.
func (p *process) importFile(ctx context.Context, file string) (client time.Duration, err error) {
	program, err := p.site.find("shunt")
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, importEnd)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "import", file, "--server", "http://"+p.address)
	cmd.Env = append(os.Environ(), "SHUNT_TOKEN="+p.token)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := p.site.start(cmd, p.site.load); err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("shunt import: %w: %s", err, &complaints)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), allImported(strings.TrimSpace(out.String()), importRows)
}
