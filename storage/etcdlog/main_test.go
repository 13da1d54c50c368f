package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/etcdlog/etcdtest"
)

// childEnv makes the test binary a node that leads and appends; see child.
const childEnv = "SHUNT_ETCDLOG_TEST_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		child(task)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds everything that a test waits for.
const patience = 30 * time.Second

// A site is an etcd cluster with a log.
type site struct {
	*etcdtest.Cluster
	t       testing.TB
	id      clusterlog.ID
	clockMs atomic.Int64 // what announcements tell
}

func newSite(t testing.TB, members int, args ...string) *site {
	t.Helper()
	s := &site{Cluster: etcdtest.Start(t, members, args...), t: t, id: clusterlog.NewID()}
	expect.OK(t, Create(within(t), Options{Endpoints: s.Endpoints(), ID: s.id}))
	return s
}

// within returns a context that ends with the test, or its patience.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// open opens the log by way of some endpoints, by all of the servers' if there are none.
func (s *site) open(endpoints ...string) *Log {
	s.t.Helper()
	if len(endpoints) == 0 {
		endpoints = s.Endpoints()
	}
	o := Options{Endpoints: endpoints, ID: s.id, Now: func() time.Time { return time.UnixMilli(s.clockMs.Load()) }}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	l, err := New(o)
	expect.OK(s.t, err)
	s.t.Cleanup(func() { _ = l.Close() })
	return l
}

// reign is a leadership that is kept until stop, or the end of the test.
type reign struct {
	clusterlog.Leadership
	t    testing.TB
	stop func() error // and returns what Run returned
}

func (s *site) lead(l *Log, name string) *reign {
	s.t.Helper()
	lead, err := l.Campaign(within(s.t), name)
	expect.OK(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var result error
	running.Go(func() { result = lead.Run(ctx) })
	r := &reign{Leadership: lead, t: s.t, stop: func() error { cancel(); running.Wait(); return result }}
	s.t.Cleanup(func() { _ = r.stop() })
	return r
}

// privateOf returns the private part that mustAppend writes with a payload: none if that is large.
func privateOf(payload string) []byte {
	if len(payload) > 10000 {
		return nil
	}
	return []byte("private to " + payload)
}

func (r *reign) mustAppend(payload string) clusterlog.Position {
	r.t.Helper()
	p, err := r.Append(within(r.t), clusterlog.NewBatchID(), []byte(payload), privateOf(payload))
	if err != nil {
		r.t.Fatalf("Append %q: %v", payload, err)
	}
	return p
}

// errEnough ends a Follow.
var errEnough = errors.New("enough")

// entries follows the log from its origin, until it has n entries.
func (s *site) entries(l *Log, n int) (found []clusterlog.Entry) {
	s.t.Helper()
	err := l.Follow(within(s.t), clusterlog.Origin(s.id), func(p clusterlog.Progress) error {
		if found = append(found, p.Entries...); len(found) >= n {
			return errEnough
		}
		return nil
	})
	expect.MustThat(s.t, err == errEnough && len(found) == n, "Follow: %d entries and %v, want %d", len(found), err, n)
	return found
}

// all follows the log from its origin to its head of now.
func (s *site) all(l *Log) []clusterlog.Entry {
	s.t.Helper()
	status, err := l.Status(within(s.t))
	expect.OK(s.t, err)
	if status.Head.Sequence == 0 {
		return nil
	}
	return s.entries(l, int(status.Head.Sequence))
}

func (s *site) wantPayloads(l *Log, want ...string) {
	s.t.Helper()
	for i, e := range s.entries(l, len(want)) {
		if e.Sequence != uint64(i+1) || string(e.Payload) != want[i] || !bytes.Equal(e.Private, privateOf(want[i])) {
			s.t.Errorf("entry %d is %q with %q, want %d, %q with %q", e.Sequence, e.Payload, e.Private, i+1, want[i], privateOf(want[i]))
		}
	}
}

// eventually waits until something is true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		expect.MustThat(t, !time.Now().After(deadline), "not in time: %s", what)
	}
}

func numbered(n int) string { return fmt.Sprintf("payload %d", n) }
