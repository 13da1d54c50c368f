package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const samplePause = 50 * time.Millisecond // between two looks at a server's memory

// A step is one of a trip: an import or an export.
type step struct {
	name                  string
	took                  time.Duration
	before, during, after float64 // MB of the server's resident memory; during: the most
}

// compareTrip imports links, exports them, imports the export into another shunt and exports that.
// Both exports must be equal, byte for byte.
func (c *comparison) compareTrip(ctx context.Context, w *strings.Builder) error {
	rows := filepath.Join(c.temp, "rows.ndjson")
	if err := writeRows(rows, c.links); err != nil {
		return err
	}
	defer os.Remove(rows)
	var steps []step
	files := []string{rows}
	for n := range 2 {
		export := filepath.Join(c.temp, fmt.Sprintf("export-%d.ndjson", n))
		defer os.Remove(export)
		more, err := c.oneWay(ctx, files[n], export)
		if err != nil {
			return err
		}
		steps, files = append(steps, more...), append(files, export)
	}
	if err := equalFiles(files[1], files[2], c.links); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n### trip: %s links imported, exported, imported elsewhere, exported\n\nThe two exports are equal, byte for byte. "+
		"Memory is resident memory of the server.\n\n| | seconds | links/s | MB before | most | after |\n|---|---|---|---|---|---|\n", thousands(float64(c.links)))
	for _, s := range steps {
		fmt.Fprintf(w, "| %s | %.1f | %s | %.0f | %.0f | %.0f |\n", s.name, s.took.Seconds(), thousands(float64(c.links)/s.took.Seconds()), s.before, s.during, s.after)
	}
	return nil
}

// oneWay imports a file into an empty shunt and exports its links to another file.
func (c *comparison) oneWay(ctx context.Context, from, to string) (steps []step, err error) {
	p, err := c.run(ctx, c.writeServers()[importServer])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	imported, err := p.step("import", func() error {
		_, err := c.importFile(ctx, p.address, c.empty.token, from, c.links)
		return err
	})
	if err != nil {
		return nil, err
	}
	exported, err := p.step("export", func() error { return c.exportFile(ctx, p.address, to) })
	return []step{imported, exported}, err
}

// step does something and looks at the server's memory before, meanwhile and after.
func (p *process) step(name string, do func() error) (s step, err error) {
	s.name = name
	if s.before, err = p.residentMB(); err != nil {
		return s, err
	}
	ended := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		for {
			if mb, err := p.residentMB(); err == nil {
				s.during = max(s.during, mb)
			}
			select {
			case <-ended:
				return
			case <-time.After(samplePause):
			}
		}
	})
	began := time.Now()
	err = do()
	s.took = time.Since(began)
	close(ended)
	looks.Wait()
	if err != nil {
		return s, err
	}
	s.after, err = p.residentMB()
	return s, err
}

func (p *process) residentMB() (float64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var all, resident float64
	_, err = fmt.Sscan(string(statm), &all, &resident)
	return resident * float64(os.Getpagesize()) / 1e6, err
}

// exportFile runs shunt export against a server. Short links are cut, because they name the server.
func (c *comparison) exportFile(ctx context.Context, address, to string) (err error) {
	program, err := c.find("shunt")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, importEnd)
	defer cancel()
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "export", "--server", "http://"+address)
	cmd.Env = append(os.Environ(), "SHUNT_TOKEN="+c.empty.token)
	cmd.Stdout, cmd.Stderr = file, &complaints
	if err := c.start(cmd, c.load); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("shunt export: %w: %s", err, &complaints)
	}
	return nil
}

// equalFiles returns an error if two exports differ, in anything but the server that short links
// name, or do not have a number of lines.
func equalFiles(a, b string, lines int) error {
	x, err := os.Open(a)
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return err
	}
	defer y.Close()
	return equalExports(x, y, lines)
}

func equalExports(a, b io.Reader, lines int) error {
	x, y, n := bufio.NewScanner(a), bufio.NewScanner(b), 0
	for {
		more := x.Scan()
		if y.Scan() != more {
			return fmt.Errorf("one export ends after %d links, the other does not", n)
		}
		if !more {
			break
		}
		if n++; !bytes.Equal(withoutServer(x.Bytes()), withoutServer(y.Bytes())) {
			return fmt.Errorf("line %d differs: %s and %s", n, x.Bytes(), y.Bytes())
		}
	}
	if n != lines {
		return fmt.Errorf("exports have %d links, want %d", n, lines)
	}
	return errors.Join(x.Err(), y.Err())
}

// withoutServer cuts the address from the short link of an exported line.
func withoutServer(line []byte) []byte {
	const start = `"short_url":"http://127.0.0.1:`
	head, rest, found := bytes.Cut(line, []byte(start))
	if !found {
		return line
	}
	_, rest, _ = bytes.Cut(rest, []byte("/"))
	return append(append(bytes.Clone(head), start...), rest...)
}
