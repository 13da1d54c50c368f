package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func live(name string, applied uint64) clusterlog.Member {
	return clusterlog.Member{Node: clusterlog.Node{Name: name, Applied: applied}, Live: true}
}

func dead(name string, applied uint64) clusterlog.Member {
	m := live(name, applied)
	m.Live = false
	return m
}

func TestEntriesAreTrimmedOnceNobodyNeedsThem(t *testing.T) {
	const gib = 1 << 30
	using := func(used, quota int64) []clusterlog.Server {
		return []clusterlog.Server{{UsedBytes: used, QuotaBytes: quota}}
	}
	type members = []clusterlog.Member
	for name, c := range map[string]struct {
		head, floor uint64
		servers     []clusterlog.Server
		nodes       members
		maxKept     uint64
		through     uint64
		passed      string
	}{
		"an empty log":                        {floor: 1, nodes: members{live("a", 0)}},
		"few entries":                         {head: 1000, floor: 1, nodes: members{live("a", 1000)}},
		"one more than few":                   {head: 1001, floor: 1, nodes: members{live("a", 1001)}, through: 1},
		"many, and all have them":             {head: 9000, floor: 1, nodes: members{live("a", 9000), live("b", 9000)}, through: 8000},
		"one that is a bit behind":            {head: 9000, floor: 1, nodes: members{live("a", 9000), live("b", 8500)}, through: 8000},
		"one that lags":                       {head: 9000, floor: 1, nodes: members{live("a", 9000), live("b", 50)}, through: 50},
		"one that is ahead of the head":       {head: 9000, floor: 1, nodes: members{live("a", 9001)}, through: 8000},
		"one that has nothing":                {head: 9000, floor: 1, nodes: members{live("a", 9000), live("b", 0)}},
		"one that is down":                    {head: 9000, floor: 1, nodes: members{live("a", 9000), dead("b", 50)}, through: 50},
		"one that is down, for too long":      {head: 100_051, floor: 1, nodes: members{live("a", 100_051), dead("b", 50)}, through: 51, passed: "b"},
		"only one that is down":               {head: 9000, floor: 1, nodes: members{dead("a", 9000)}, through: 8000},
		"one that is down, below the floor":   {head: 9000, floor: 101, nodes: members{live("a", 9000), dead("b", 50)}, through: 8000, passed: "b"},
		"none that can follow":                {head: 9000, floor: 101, nodes: members{dead("a", 50)}, through: 100, passed: "a"},
		"no node, and too many":               {head: 200_000, floor: 1, through: 100_000},
		"a laggard at the limit":              {head: 100_050, floor: 1, nodes: members{live("a", 100_050), live("b", 50)}, through: 50},
		"a laggard beyond it":                 {head: 100_051, floor: 1, nodes: members{live("a", 100_051), live("b", 50)}, through: 51, passed: "b"},
		"two laggards":                        {head: 9000, floor: 1, nodes: members{live("a", 5), live("b", 9000), live("c", 6999)}, maxKept: 2000, through: 7000, passed: "a c"},
		"trimmed already":                     {head: 9000, floor: 8501, nodes: members{live("a", 9000)}, through: 8500},
		"one below the floor":                 {head: 9000, floor: 8501, nodes: members{live("a", 9000), live("b", 8499)}, through: 8500, passed: "b"},
		"one below it does not hold the rest": {head: 20_000, floor: 8501, nodes: members{live("a", 20_000), live("b", 8499)}, through: 19_000, passed: "b"},
		"one just above the floor":            {head: 9000, floor: 8501, nodes: members{live("a", 9000), live("b", 8500)}, through: 8500},
		"a limit below what is kept":          {head: 9000, floor: 1, nodes: members{live("a", 9000)}, maxKept: 10, through: 8990},
		"the largest entries":                 {head: 1000, floor: 1, servers: using(gib/4, 8*gib), nodes: members{live("a", 1000)}, through: 1000 - 64<<20/clusterlog.MaxEntryBytes},
		"a million small entries":             {head: 1_000_000, floor: 1, servers: using(200<<20, 2*gib), nodes: members{live("a", 1_000_000), dead("b", 7)}, through: 7},
		"small entries, much space":           {head: 50_000, floor: 1, servers: using(50<<20, 2*gib), nodes: members{live("a", 50_000), live("b", 7)}, through: 7},
		"half of an eighth in use":            {head: 10_000, floor: 1, servers: using(gib/8, 2*gib), nodes: members{live("a", 10_000), live("b", 7)}, through: 7},
		"twice an eighth in use":              {head: 10_000, floor: 1, servers: using(gib/2, 2*gib), nodes: members{live("a", 10_000), live("b", 7)}, through: 5001, passed: "b"},
		"a server that does not answer":       {head: 9000, floor: 1, servers: []clusterlog.Server{{Err: errors.New("gone"), UsedBytes: gib, QuotaBytes: 1}}, nodes: members{live("a", 9000)}, through: 8000},
		"a log that was trimmed entirely":     {head: 9000, floor: 9001, servers: using(gib, gib), nodes: members{live("a", 9000)}, through: 9000},
	} {
		s := &clusterlog.Status{Head: clusterlog.Position{Sequence: c.head}, Floor: c.floor, Servers: c.servers}
		through, passed := trimThrough(s, c.nodes, c.maxKept)
		var names []string
		for _, n := range passed {
			names = append(names, n.Name)
		}
		got := strings.Join(names, " ")
		expect.That(t, through == c.through && got == c.passed, "%s: got %d past %q, want %d past %q", name, through, got, c.through, c.passed)
	}
}

func TestWritesAreRefusedFromAQuarterOfTheQuotaUntilAFifth(t *testing.T) {
	refused := false
	for i, c := range []struct {
		use  float64
		want bool
	}{{0, false}, {.25, false}, {.2501, true}, {.22, true}, {.2001, true}, {.2, false}, {.24, false}, {.9, true}, {0, false}} {
		if refused = tooFull(c.use, refused); refused != c.want {
			t.Errorf("step %d: %f of the quota: got %t, want %t", i, c.use, refused, c.want)
		}
	}
}

// roster is a registry in memory: of members, and of others that a test makes up.
type roster struct {
	mu      sync.Mutex
	members []*member
	others  []clusterlog.Member
	fails   error // of each list
}

func (r *roster) nodes(context.Context) (nodes []clusterlog.Member, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members {
		nodes = append(nodes, live(m.name, m.store.AppliedSequence()))
	}
	if r.fails != nil {
		return nil, r.fails
	}
	return slices.Concat(nodes, r.others), nil
}

// The nodes cannot be listed: only as much is kept as there may be.
func TestALeaderThatCannotListTheNodesTrimsToTheMost(t *testing.T) {
	const mostKept = 100
	id := clusterlog.NewID()
	log, nodes := newMemLog(id), &roster{fails: errors.New("no list")}
	o := Options{Nodes: nodes.nodes, MaxKept: mostKept, Logger: slog.New(slog.DiscardHandler)}
	members := newMembersWith(t, log, id, o, "a", "b")
	for i := range mostKept + 20 {
		createSomewhere(t, members, engine.Draft{Alias: fmt.Sprintf("link-%d", i), Owner: 1, Target: "https://example.com/"})
	}
	eventually(t, "it is trimmed", func() bool { floor, head := log.span(); return floor > 1 && floor == head-mostKept+1 })
}

func (r *roster) set(members []*member, others ...clusterlog.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members, r.others = members, others
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// String returns it all.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *memLog) span() (floor, head uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.floor, l.head.Sequence
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); !is(); time.Sleep(10 * time.Millisecond) {
		expect.MustThat(t, !time.Now().After(deadline), "not in time: %s", what)
	}
}

// The log is trimmed as far as a node allows that is down, then past it, and writes go on. A node that was forgotten is
// not waited for.
func TestALeaderTrimsTheLog(t *testing.T) {
	const mostKept = 1200
	id := clusterlog.NewID()
	log, nodes, logged := newMemLog(id), &roster{}, &lines{}
	o := Options{Nodes: nodes.nodes, MaxKept: mostKept, Logger: slog.New(slog.NewTextHandler(logged, nil))}
	nodes.set(nil, dead("laggard", 100))
	members := newMembersWith(t, log, id, o, "a", "b", "c")
	nodes.set(members, dead("laggard", 100))
	create := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			createSomewhere(t, members, engine.Draft{Alias: fmt.Sprintf("link-%d", i), Owner: 1, Target: "https://example.com/"})
		}
		caughtUp(t, log, members)
	}
	create(0, 1150)
	eventually(t, "it is trimmed up to the laggard", func() bool { floor, _ := log.span(); return floor == 101 })
	time.Sleep(2 * trimInterval)
	floor, _ := log.span()
	expect.That(t, floor == 101 && logged.count("trimmed past a node") == 0, "the first entry is %d; logged: %s", floor, logged)
	create(1150, 1500)
	eventually(t, "it is trimmed past the laggard", func() bool { floor, head := log.span(); return floor == head-mostKept+1 })
	time.Sleep(2 * trimInterval)
	n := logged.count("trimmed past a node")
	expect.That(t, n == 1 && logged.count("node=laggard") == 1, "it was reported %d times: %s", n, logged)
	nodes.set(members)
	eventually(t, "a forgotten node is not waited for", func() bool { floor, head := log.span(); return floor == head-minKept+1 })
	log.depose() // the next leader trims, too
	create(1500, 1700)
	eventually(t, "it is trimmed by the next leader", func() bool { floor, head := log.span(); return head >= 1700 && floor == head-minKept+1 })
	alike(t, members)
}

func TestALeaderKnowsThatTheServersAreFull(t *testing.T) {
	id := clusterlog.NewID()
	log, nodes := newMemLog(id), &roster{}
	members := newMembersWith(t, log, id, Options{Nodes: nodes.nodes, Logger: slog.New(slog.DiscardHandler)}, "a", "b")
	nodes.set(members)
	use := func(bytes int64) {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.servers = []clusterlog.Server{{UsedBytes: bytes, QuotaBytes: 100}}
	}
	full := func() (full int) {
		for _, m := range members {
			if m.replica.Full() {
				if full++; !m.replica.Leads() {
					t.Errorf("%s does not lead", m.name)
				}
			}
		}
		return full
	}
	use(30)
	eventually(t, "the leader says so", func() bool { return full() == 1 })
	for _, m := range members {
		_, _, err := m.engine.Create(context.Background(), engine.Draft{Alias: "full", Owner: 1, Target: "https://example.com/"})
		want := engine.ErrReadOnly
		expect.That(t, !m.replica.Full() || errors.Is(err, want), "%s, whose servers are full: Create: %v, want %v", m.name, err, want)
	}
	use(10)
	eventually(t, "and that there is room again", func() bool { return full() == 0 })
	createSomewhere(t, members, engine.Draft{Alias: "again", Owner: 1, Target: "https://example.com/"})
}
