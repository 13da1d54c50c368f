package etcdlog

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// child leads the log that task names and appends to it, until it is deposed. It says "leads EPOCH",
// and of each append "sends BATCH" before it and "RESULT BATCH" after it.
func child(task string) {
	var id, name string
	var endpoints string
	if _, err := fmt.Sscan(task, &id, &name, &endpoints); err != nil {
		panic(err)
	}
	cluster, err := clusterlog.ParseID([]byte(id))
	if err != nil {
		panic(err)
	}
	l, err := New(Options{Endpoints: strings.Split(endpoints, ","), ID: cluster})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	lead, err := l.Campaign(ctx, name)
	if err != nil {
		panic(err)
	}
	fmt.Println("leads", lead.Epoch())
	go func() { _ = lead.Run(ctx) }()
	for {
		batch := clusterlog.NewBatchID()
		fmt.Printf("sends %x\n", batch)
		_, err := lead.Append(ctx, batch, batch[:], nil)
		switch {
		case err == nil:
			fmt.Printf("wrote %x\n", batch)
		case errors.Is(err, clusterlog.ErrDeposed):
			fmt.Printf("deposed %x\n", batch)
			return
		default:
			fmt.Printf("failed %x %v\n", batch, err)
			return
		}
	}
}

// A childNode is a process that leads and appends.
type childNode struct {
	*exec.Cmd
	t     testing.TB
	leads chan struct{} // closed when it does
	ended chan struct{}
	mu    struct {
		sync.Mutex
		results map[clusterlog.BatchID]string // the last that it said of each batch
	}
}

func (s *site) startChild(name string, endpoints []string) *childNode {
	s.t.Helper()
	self, err := os.Executable()
	expect.OK(s.t, err)
	c := &childNode{Cmd: exec.Command(self), t: s.t, leads: make(chan struct{}), ended: make(chan struct{})}
	c.mu.results = make(map[clusterlog.BatchID]string)
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%v %s %s", childEnv, s.id, name, strings.Join(endpoints, ",")))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	expect.OK(s.t, err)
	expect.OK(s.t, c.Start())
	go c.listen(out)
	s.t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-c.ended
	})
	return c
}

func (c *childNode) listen(out io.Reader) {
	defer close(c.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if words[0] == "leads" {
			close(c.leads)
			continue
		}
		var batch clusterlog.BatchID
		_, _ = hex.Decode(batch[:], []byte(words[1]))
		c.mu.Lock()
		c.mu.results[batch] = words[0]
		c.mu.Unlock()
	}
	_ = c.Wait()
}

// results returns what the child said of each batch.
func (c *childNode) results() map[clusterlog.BatchID]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := make(map[clusterlog.BatchID]string, len(c.mu.results))
	for batch, result := range c.mu.results {
		found[batch] = result
	}
	return found
}
