package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func testNode(name string) clusterlog.Node {
	return clusterlog.Node{Name: name, Advertise: "https://" + name + ".example:7443", Role: clusterlog.Full, Outbox: [16]byte{9}, Reads: 1, SinceMs: 1}
}

// presence is an announcement that runs until stop, or the end of the test.
type presence struct {
	clusterlog.Announcement
	ended chan struct{}
	stop  func() error // and returns what Run returned
}

func (s *site) announce(l *Log, n clusterlog.Node, claim clusterlog.Claim) *presence {
	s.t.Helper()
	a, err := l.Announce(within(s.t), n, claim)
	expect.OK(s.t, err)
	return s.run(a)
}

func (s *site) run(a clusterlog.Announcement) *presence {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var result error
	go func() { defer close(ended); result = a.Run(ctx) }()
	p := &presence{Announcement: a, ended: ended, stop: func() error { cancel(); <-ended; return result }}
	s.t.Cleanup(func() { _ = p.stop() })
	return p
}

// member returns a node as the registry has it.
func (s *site) member(l *Log, name string) (m clusterlog.Member, ok bool) {
	s.t.Helper()
	members, err := l.Nodes(within(s.t))
	expect.OK(s.t, err)
	at := slices.IndexFunc(members, func(m clusterlog.Member) bool { return m.Name == name })
	if at < 0 {
		return m, false
	}
	return members[at], true
}

func (s *site) live(l *Log, name string) bool {
	s.t.Helper()
	m, _ := s.member(l, name)
	return m.Live
}

func TestANameIsGivenToOneNode(t *testing.T) {
	s := newSite(t, 3)
	l := s.open()
	first := s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	taken := func() {
		t.Helper()
		_, err := s.open().Announce(within(t), testNode("a"), clusterlog.Claim{2})
		expect.MustError(t, err, clusterlog.ErrNameTaken)
		for _, part := range []string{"https://a.example:7443", "--node-name", "shunt cluster forget a"} {
			expect.That(t, strings.Contains(err.Error(), part), "%q does not say %q", err, part)
		}
	}
	taken()
	expect.Error(t, l.Forget(within(t), "a"), clusterlog.ErrStillLive, "to forget a live node")
	expect.OK(t, first.stop())
	m, ok := s.member(l, "a")
	expect.That(t, ok && !m.Live && m.Node == testNode("a"), "a node that has ended is %+v, %v", m, ok)
	taken() // it is down, and not forgotten
	again := testNode("a")
	again.Advertise = "https://elsewhere.example:1"
	first = s.announce(l, again, clusterlog.Claim{1})
	eventually(t, "it is live at its new address", func() bool {
		m, _ := s.member(l, "a")
		return m == clusterlog.Member{Node: again, Live: true}
	})
	expect.OK(t, first.stop())
	expect.OK(t, l.Forget(within(t), "a"))
	expect.Error(t, l.Forget(within(t), "a"), clusterlog.ErrUnknownNode, "to forget it again")
	second := s.announce(l, testNode("a"), clusterlog.Claim{2})
	eventually(t, "the next of its name is live", func() bool { return s.live(l, "a") })
	expect.OK(t, second.stop())
}

func TestOfNodesThatRaceForANameOneGetsIt(t *testing.T) {
	s := newSite(t, 3)
	logs := []*Log{s.open(), s.open(), s.open()}
	for round := range 10 {
		name := fmt.Sprintf("node-%d", round)
		var racing sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			racing.Go(func() { _, errs[i] = logs[i%3].Announce(within(t), testNode(name), clusterlog.Claim{byte(i + 1)}) })
		}
		racing.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, clusterlog.ErrNameTaken) {
				t.Errorf("%s: %v", name, err)
			}
		}
		expect.Equal(t, won, 1, "%s was given to nodes", name)
	}
}

// journal is what one node's Members has called fn with.
type journal struct {
	mu   sync.Mutex
	last []clusterlog.Member
}

func (s *site) observe(l *Log) *journal {
	j := &journal{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- l.Members(ctx, func(m []clusterlog.Member) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.last = m
		})
	}()
	s.t.Cleanup(func() {
		cancel()
		expect.Error(s.t, <-ended, context.Canceled, "Members")
	})
	return j
}

func (j *journal) shows(want ...clusterlog.Member) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Equal(j.last, want)
}

func TestThreeNodesSeeEachOthersChangesWithinASecond(t *testing.T) {
	s := newSite(t, 3)
	var journals []*journal
	var nodes []*presence
	var want []clusterlog.Member
	for i, name := range []string{"a", "b", "c"} {
		l := s.open()
		journals = append(journals, s.observe(l))
		nodes = append(nodes, s.announce(l, testNode(name), clusterlog.Claim{byte(i + 1)}))
		want = append(want, clusterlog.Member{Node: testNode(name), Live: true})
	}
	seen := func(what string) {
		t.Helper()
		start := time.Now()
		for i, j := range journals {
			eventually(t, what, func() bool { return j.shows(want...) })
			took := time.Since(start)
			expect.That(t, took <= time.Second, "%s: node %d saw it after %v", what, i, took)
		}
		t.Logf("%s: after %v", what, time.Since(start))
	}
	seen("all are there")
	time.Sleep(saidInterval) // so that nothing is held back
	nodes[1].Applied(42)
	want[1].Applied = 42
	seen("one has applied entries")
	expect.OK(t, nodes[2].Update(func(n *clusterlog.Node) { n.Role, n.Reads = clusterlog.Edge, 2 }))
	want[2].Role, want[2].Reads = clusterlog.Edge, 2
	seen("one has another role")
	expect.OK(t, nodes[0].stop())
	want[0].Live = false
	seen("one has ended")
	expect.OK(t, s.open().Forget(within(t), "a"))
	want = want[1:]
	seen("one was forgotten")
}

// foreign are rows that no node wrote, by what is wrong with them, with the value of a node b and its claim 2.
func foreign(k *keys) map[string][2]string {
	n := testNode("b")
	node, _ := clusterlog.EncodeNode(&n)
	claim, _ := clusterlog.EncodeClaim(&n, clusterlog.Claim{2})
	return map[string][2]string{
		"a claim that is nothing":     {k.name("b"), "hello"},
		"a claim that is empty":       {k.name("b"), ""},
		"a claim that is large":       {k.name("b"), strings.Repeat(" ", 1<<20)},
		"a claim without a claim":     {k.name("b"), string(node)},
		"a claim of a newer program":  {k.name("b"), `{"version":2}`},
		"a claim at another's key":    {k.name("c"), string(claim)},
		"a key below a name":          {k.name("b/c"), string(claim)},
		"a key that is no text":       {k.name("\x00\xff\n"), "x"},
		"a node without a lease":      {k.node("a"), ""},
		"a node of nobody":            {k.node("b"), string(node)},
		"a node that is nothing":      {k.node("b"), "\x00"},
		"a node of a newer program":   {k.node("b"), `{"version":3}`},
		"a node with another's claim": {k.node("b"), string(claim)},
	}
}

func TestWhatOthersWroteAmongTheNodesIsSkippedAndReported(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	a := s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	client := s.Client()
	defer client.Close()
	for name, row := range foreign(&l.keys) {
		key, value := row[0], row[1]
		_, err := client.Put(within(t), key, value)
		expect.OK(t, err)
		members, err := l.Nodes(within(t))
		expect.That(t, err == nil && len(members) == 1 && members[0].Name == "a", "%s: got %+v, %v, want node a alone", name, members, err)
		bad := l.BadRows()
		expect.That(t, key == l.keys.node("a") || len(bad) == 1 && bad[0].Key == shown([]byte(key)) && bad[0].Err != nil, "%s: reported as %+v", name, bad)
		if key == l.keys.name("b") {
			if err := l.Forget(within(t), "b"); err != nil { // which is how an operator removes it
				t.Errorf("%s: Forget: %v", name, err)
			}
		} else if _, err := client.Delete(within(t), key); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the node whose key was overwritten is back", func() bool { return s.live(l, "a") })
	if _, err := client.Put(within(t), l.keys.node("a"), "mine"); err != nil { // and nobody deletes it
		t.Fatal(err)
	}
	eventually(t, "the node has its key again", func() bool { return s.live(l, "a") })
	select {
	case <-a.ended:
		t.Errorf("it ended: %v", a.stop())
	default:
	}
}

// A start finds what somebody wrote in the place of its claim. It has its name nevertheless, unless a
// process that is alive has it.
func TestANodeReplacesWhatOthersWroteInPlaceOfItsClaim(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	client := s.Client()
	defer client.Close()
	put := func(key, value string) {
		t.Helper()
		_, err := client.Put(within(t), key, value)
		expect.OK(t, err)
	}
	put(l.keys.name("a"), "hello")
	a := s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	put(l.keys.name("a"), "hello")
	_, err := s.open().Announce(within(t), testNode("a"), clusterlog.Claim{2}) // once the first has written it again
	expect.Error(t, err, clusterlog.ErrNameTaken, "another node")
	select {
	case <-a.ended:
		t.Errorf("the first ended: %v", a.stop())
	default:
	}
}

// The answer to a read of all rows is larger than is read at once.
func TestRowsThatAreTooLargeTogetherAreSkipped(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	client := s.Client()
	defer client.Close()
	for i := range 5 {
		_, err := client.Put(within(t), l.keys.name(fmt.Sprintf("b%d", i)), strings.Repeat("x", 1400<<10))
		expect.OK(t, err)
	}
	members, err := l.Nodes(within(t))
	if err != nil || len(members) != 1 || !members[0].Live || len(l.BadRows()) != 5 {
		t.Errorf("got %+v, %v and %d bad rows, want the one node and 5", members, err, len(l.BadRows()))
	}
}

// Two nodes that counted the same claims might both take the last place.
func TestAClaimIsMadeOnlyIfTheCountIsStillRight(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	counted, err := l.claimOf(within(t), "a")
	expect.OK(t, err)
	for _, name := range []string{"a", "b"} {
		n := testNode(name)
		value, _ := clusterlog.EncodeClaim(&n, clusterlog.Claim{1})
		expect.OK(t, l.makeClaim(within(t), name, string(value), counted.revision))
	}
	members, err := l.Nodes(within(t))
	expect.That(t, err == nil && len(members) == 1 && members[0].Name == "a", "got %+v, %v", members, err)
}

func TestAClusterHas256NodesAtMost(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	var racing sync.WaitGroup
	errs := make([]error, clusterlog.MaxNodes+4)
	names := make(chan int, len(errs))
	for i := range errs {
		names <- i
	}
	close(names)
	for range 4 {
		racing.Go(func() {
			for i := range names {
				_, errs[i] = l.Announce(within(t), testNode(fmt.Sprintf("n%d", i)), clusterlog.Claim{byte(i), byte(i >> 8)})
			}
		})
	}
	racing.Wait()
	refused := 0
	for _, err := range errs {
		if errors.Is(err, clusterlog.ErrTooManyNodes) {
			refused++
		} else if err != nil {
			t.Errorf("got %v, want %v or nothing", err, clusterlog.ErrTooManyNodes)
		}
	}
	members, err := l.Nodes(within(t))
	expect.That(t, refused == 4 && len(members) == clusterlog.MaxNodes && err == nil, "%d were refused; %d are members, %v", refused, len(members), err)
}

// FuzzMembers reads any values as a claim and a node.
func FuzzMembers(f *testing.F) {
	n := testNode("a")
	node, _ := clusterlog.EncodeNode(&n)
	claim, _ := clusterlog.EncodeClaim(&n, clusterlog.Claim{1})
	f.Add("a", claim, "a", node, int64(1))
	f.Add("b", claim, "", []byte{}, int64(0))
	f.Fuzz(func(t *testing.T, name string, claim []byte, other string, node []byte, lease int64) {
		k := keysBelow("/p/")
		names := []*mvccpb.KeyValue{{Key: []byte(k.name(name)), Value: claim}}
		nodes := []*mvccpb.KeyValue{{Key: []byte(k.node(other)), Value: node, Lease: lease}}
		members, bad := k.members(names, nodes)
		for _, m := range members {
			want := map[bool]string{false: name, true: other}[m.Live]
			expect.MustThat(t, m.Name == want && (!m.Live || lease != 0), "got %+v of the rows of %q and %q", m, name, other)
		}
		rows := len(members) + len(bad)
		expect.MustThat(t, rows == 2 || rows == 1 && name == other && members[0].Live, "of two rows, %d are nodes and %d are bad", len(members), len(bad))
		for _, row := range bad {
			expect.MustThat(t, row.Err != nil && strings.HasPrefix(row.Key, k.prefix) && !strings.ContainsAny(row.Key, "\n\x00"), "%+v", row)
		}
	})
}
