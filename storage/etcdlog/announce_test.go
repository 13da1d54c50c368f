package etcdlog

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// The node is cut off until its lease ends, twice: it comes back by itself, and it does not if it has
// been forgotten.
func TestANodeThatIsCutOffIsDeadUntilItReturns(t *testing.T) {
	s := newSite(t, 1)
	proxies, endpoints := s.Proxies(t)
	l := s.open()
	a := s.announce(s.open(endpoints...), testNode("a"), clusterlog.Claim{1})
	a.Applied(7)
	eventually(t, "it is live", func() bool { m, _ := s.member(l, "a"); return m.Live && m.Applied == 7 })
	cutOff := func() {
		t.Helper()
		proxies[0].Hold(true)
		start := time.Now()
		eventually(t, "its lease has ended", func() bool { return !s.live(l, "a") })
		took := time.Since(start)
		expect.That(t, took >= nodeTTL-2*nodeRenewInterval && took <= nodeTTL+3*time.Second, "its lease ended after %v", took)
		m, _ := s.member(l, "a")
		expect.That(t, m.Applied == 7 && m.Outbox == [16]byte{9}, "it is known as %+v", m)
	}
	cutOff()
	proxies[0].Hold(false)
	eventually(t, "it is live again", func() bool { return s.live(l, "a") })
	cutOff()
	expect.OK(t, l.Forget(within(t), "a"))
	proxies[0].Hold(false)
	await(t, "it ends", a.ended)
	expect.Error(t, a.stop(), clusterlog.ErrForgotten, "the error")
	m, ok := s.member(l, "a")
	expect.That(t, !ok, "it is a member again: %+v", m)
}

func TestANodeTellsItsClockAsOfNow(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	s.clockMs.Store(1767225600000)
	a := s.announce(l, testNode("a"), clusterlog.Claim{1})
	shows := func(ms int64) func() bool {
		return func() bool { m, _ := s.member(l, "a"); return m.Live && m.ClockMs == ms }
	}
	eventually(t, "its clock is known", shows(1767225600000))
	s.clockMs.Store(1767229200000)
	a.Applied(1)
	eventually(t, "its clock is known when it says something", shows(1767229200000))
	s.clockMs.Store(1767232800000)
	eventually(t, "its clock is known although it has nothing to say", shows(1767232800000))
}

// A process whose predecessor crashed waits for the end of its lease. If the holder goes on writing, somebody
// runs a copy of the node's folder, and that is what goes on.
func TestASecondProcessOfANodeIsRefused(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	first := s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	copied := testNode("a")
	copied.Advertise = "https://copy.example:7443"
	a, err := s.open().Announce(within(t), copied, clusterlog.Claim{1})
	expect.OK(t, err)
	const left = 2 * time.Second
	a.(*announcement).waits = time.Now().Add(left - predecessorPatience)
	start := time.Now()
	second := s.run(a)
	await(t, "the second process ends", second.ended) // it sees what the first writes, if not before then after sayAgain
	if err := second.stop(); !errors.Is(err, clusterlog.ErrNameTaken) || !strings.Contains(err.Error(), "copy") || time.Since(start) < left {
		t.Errorf("after %v: got %v, want %v", time.Since(start), err, clusterlog.ErrNameTaken)
	}
	m, _ := s.member(l, "a")
	expect.Equal(t, m, clusterlog.Member{Node: testNode("a"), Live: true}, "the first is known as")
	expect.Error(t, first.stop(), nil, "the first")
}

// Elections of the servers keep the lease of a process that crashed for as long as they go on.
func TestANodeWaitsForTheLeaseOfACrashedProcessHoweverLongItLasts(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	client := s.Client()
	defer client.Close()
	a, err := l.Announce(within(t), testNode("a"), clusterlog.Claim{1})
	expect.OK(t, err)
	lease, err := client.Grant(within(t), 600)
	expect.OK(t, err)
	crashed := testNode("a")
	crashed.Advertise = "https://before.example:7443"
	value, err := clusterlog.EncodeNode(&crashed)
	expect.OK(t, err)
	_, err = client.Put(within(t), l.keys.node("a"), string(value), clientv3.WithLease(lease.ID))
	expect.OK(t, err)
	second := a.(*announcement)
	got, err := client.Get(within(t), l.keys.node("a"))
	expect.MustThat(t, err == nil && len(got.Kvs) == 1, "got %v, %v", got, err)
	second.waits, second.wrote = time.Now().Add(-10*predecessorPatience), got.Kvs[0].ModRevision
	running := s.run(a)
	select {
	case <-running.ended:
		t.Errorf("it has ended: %v", running.stop())
	case <-time.After(4 * saidInterval):
	}
	_, err = client.Revoke(within(t), lease.ID)
	expect.OK(t, err)
	eventually(t, "it is announced", func() bool { m, ok := s.member(l, "a"); return ok && m.Live && m.Node == testNode("a") })
	expect.NoError(t, running.stop())
}

// A holder is alive if it writes, not if its lease lasts.
func TestAHolderThatWritesIsAlive(t *testing.T) {
	a := announcement{log: &Log{logger: slog.New(slog.DiscardHandler)}, name: "a"}
	begin := time.Now()
	for _, c := range []struct {
		at    time.Duration
		wrote int64
		alive bool
	}{
		{0, 5, false},
		{time.Second, 6, false}, // a request of the crashed process came late
		{predecessorPatience - 1, 6, false},
		{predecessorPatience, 6, false},
		{100 * predecessorPatience, 6, false},
		{100*predecessorPatience + sayAgain, 7, true},
		{100*predecessorPatience + sayAgain + signOfLife + 1, 7, false},
	} {
		err := a.await(c.wrote, begin.Add(c.at))
		expect.That(t, (err != nil) == c.alive && (err == nil || errors.Is(err, clusterlog.ErrNameTaken)), "after %v, at revision %d: %v", c.at, c.wrote, err)
	}
}

func TestANodeStaysLiveWhileAServerIsPaused(t *testing.T) {
	s := newSite(t, 3)
	l, observer := s.open(), s.open()
	a := s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	m := s.Members[0]
	if m == s.Leader() {
		m = s.Members[1]
	}
	m.Pause()
	defer m.Resume()
	n := uint64(0)
	for start := time.Now(); time.Since(start) < nodeTTL+4*time.Second; time.Sleep(100 * time.Millisecond) {
		expect.MustThat(t, s.live(observer, "a"), "dead after %v", time.Since(start))
		n++
		a.Applied(n)
	}
	expect.That(t, l.counts.renewFailures.Load() != 0, "no renewal failed, so nothing was tested")
	eventually(t, "what it said last is known", func() bool { m, _ := s.member(observer, "a"); return m.Applied == n })
}

func TestWhatANodeSaysIsSentTwiceASecondAtMost(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	a := s.announce(l, testNode("a"), clusterlog.Claim{1})
	const took = 3 * time.Second
	last := uint64(0)
	for start := time.Now(); time.Since(start) < took; time.Sleep(time.Millisecond) {
		last++
		a.Applied(last)
	}
	a.Applied(last - 1) // it never falls
	eventually(t, "the last is known", func() bool { m, _ := s.member(l, "a"); return m.Applied == last })
	client := s.Client()
	defer client.Close()
	got, err := client.Get(within(t), l.keys.node("a"))
	expect.MustThat(t, err == nil && len(got.Kvs) == 1, "got %v, %v", got, err)
	writes := got.Kvs[0].Version
	expect.That(t, writes >= 3 && writes <= int64(took/saidInterval)+2, "%d values were sent for %d changes in %v", writes, last, took)
	before := got.Kvs[0].ModRevision
	for name, change := range map[string]func(*clusterlog.Node){
		"another name": func(n *clusterlog.Node) { n.Name = "b" }, "no role": func(n *clusterlog.Node) { n.Role = "" },
	} {
		expect.Error(t, a.Update(change), clusterlog.ErrInvalidNode, "%s", name)
	}
	time.Sleep(2 * saidInterval)
	got, err = client.Get(within(t), l.keys.node("a"))
	expect.That(t, err == nil && got.Kvs[0].ModRevision == before, "something was sent though nothing changed: %v, %v", got, err)
}

func TestANodeForgottenBeforeItIsLiveIsTold(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	a, err := l.Announce(within(t), testNode("a"), clusterlog.Claim{1})
	expect.OK(t, err)
	expect.OK(t, l.Forget(within(t), "a"))
	if _, err := l.Announce(within(t), testNode("a"), clusterlog.Claim{2}); err != nil { // another takes its name
		t.Fatal(err)
	}
	expect.Error(t, a.Run(within(t)), clusterlog.ErrForgotten, "the error")
	expect.That(t, !s.live(l, "a"), "it is live, though the name is another's")
}

func TestANodeThatCrashedIsLiveAgainOnceItsOldLeaseEnds(t *testing.T) {
	s := newSite(t, 1)
	proxies, endpoints := s.Proxies(t)
	l := s.open()
	crashed := s.announce(s.open(endpoints...), testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	proxies[0].Hold(true) // it can give nothing back
	_ = crashed.stop()
	restarted := testNode("a")
	restarted.SinceMs = 2
	start := time.Now()
	again := s.announce(l, restarted, clusterlog.Claim{1})
	expect.That(t, s.live(l, "a"), "its old lease has ended at once, so nothing was tested")
	eventually(t, "it is live again", func() bool {
		m, _ := s.member(l, "a")
		return m == clusterlog.Member{Node: restarted, Live: true}
	})
	took := time.Since(start)
	expect.That(t, took <= nodeTTL+3*time.Second, "after %v", took)
	expect.Error(t, again.stop(), nil, "Run")
}

// Each request is executed, and its answer is lost.
func TestAnAnnouncementIsMadeOnceWhenAnswersAreLost(t *testing.T) {
	s := newSite(t, 1)
	proxies, endpoints := s.Proxies(t)
	l, observer := s.open(endpoints...), s.open()
	claim := clusterlog.Claim{1}
	value, err := clusterlog.EncodeClaim(&clusterlog.Node{Name: "a", Advertise: "https://h:1", Role: clusterlog.Edge, Reads: 1}, claim)
	expect.OK(t, err)
	before, err := l.claimOf(within(t), "a")
	expect.MustThat(t, err == nil && before.kv == nil, "got %+v, %v", before, err)
	lost := func(f func(ctx context.Context)) {
		t.Helper()
		proxies[0].DropAnswers(true)
		ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
		defer cancel()
		f(ctx)
		proxies[0].DropAnswers(false)
	}
	lost(func(ctx context.Context) {
		expect.Error(t, l.makeClaim(ctx, "a", string(value), before.revision), clusterlog.ErrUnavailable, "the error")
	})
	_, err = observer.Announce(within(t), testNode("a"), clusterlog.Claim{2})
	expect.Error(t, err, clusterlog.ErrNameTaken, "another node")
	made, err := l.Announce(within(t), testNode("a"), claim)
	expect.OK(t, err, "the same again")
	a := made.(*announcement)
	expect.OK(t, a.begin(within(t)))
	lost(func(ctx context.Context) {
		err := a.say(ctx)
		expect.That(t, err == nil && a.said.Name == "", "got %v, and it believes that it said %+v", err, a.said)
	})
	expect.MustThat(t, s.live(observer, "a"), "the request did not arrive, so nothing was tested")
	err = a.say(within(t))
	expect.That(t, err == nil && a.said == testNode("a"), "again: %v, and it believes that it said %+v", err, a.said)
	a.Applied(3)
	p := s.run(a)
	eventually(t, "the next value is known", func() bool { m, _ := s.member(observer, "a"); return m.Live && m.Applied == 3 })
	lost(func(ctx context.Context) {
		a.Applied(4)
		eventually(t, "it is known", func() bool { m, _ := s.member(observer, "a"); return m.Applied == 4 })
	})
	a.Applied(5)
	eventually(t, "the last value is known", func() bool { m, _ := s.member(observer, "a"); return m.Live && m.Applied == 5 })
	expect.Error(t, p.stop(), nil, "Run")
}
