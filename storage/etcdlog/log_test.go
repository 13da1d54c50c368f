package etcdlog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func TestFollowersGetEveryEntryInOrder(t *testing.T) {
	s := newSite(t, 3)
	leader, follower := s.open(), s.open()
	r := s.lead(leader, "a")
	const n = 300
	var want []string
	var following sync.WaitGroup
	following.Go(func() { s.entries(follower, n) }) // as they come
	for i := range n {
		payload := numbered(i) + strings.Repeat("x", i%7*2000)
		want = append(want, payload)
		p := r.mustAppend(payload)
		expect.MustThat(t, p.Sequence == uint64(i+1) && p.Epoch == r.Epoch(), "entry %d is at %v", i+1, p)
	}
	following.Wait()
	s.wantPayloads(s.open(), want...) // all at once
	c := &leader.counts
	expect.That(t, c.ambiguous.Load() == 0 && c.unknown.Load() == 0, "got %+v", c)
}

func TestTheLargestEntriesAreRead(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	r := s.lead(l, "a")
	var want []string
	for i := range 60 {
		size := clusterlog.MaxPayloadBytes
		if i < 30 {
			size = 10 // so that the follower asks for many, and gets too many bytes
		}
		want = append(want, strings.Repeat("x", size))
		r.mustAppend(want[i])
	}
	s.wantPayloads(l, want...)
	_, err := r.Append(within(t), clusterlog.NewBatchID(), make([]byte, clusterlog.MaxPayloadBytes+1), nil)
	expect.Error(t, err, clusterlog.ErrTooLarge, "the error")
}

func TestAnIdleFollowerLearnsThatItIsUpToDate(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	r := s.lead(l, "the leader")
	r.mustAppend("x")
	start, fresh := time.Now(), 0
	err := l.Follow(within(t), clusterlog.Origin(s.id), func(p clusterlog.Progress) error {
		if p.AsOf.After(start) && p.After.Sequence == 1 && p.Leader == (clusterlog.Leader{Candidate: "the leader", Epoch: r.Epoch()}) {
			fresh++
		}
		if fresh == 3 {
			return errEnough
		}
		return nil
	})
	took := time.Since(start)
	expect.That(t, err == errEnough && took <= 3*time.Second, "got %v after %v", err, took)
}

func TestOfTwoCandidatesOneLeads(t *testing.T) {
	s := newSite(t, 3)
	a, b := s.open(), s.open()
	first := s.lead(a, "a")
	campaigning, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if lead, err := b.Campaign(campaigning, "b"); lead != nil || err == nil {
		t.Fatalf("a second leader: %v, %v", lead, err)
	}
	expect.That(t, first.Valid(), "a leader that renews its lease is not valid after 5 s")
	status, err := b.Status(within(t))
	expect.That(t, err == nil && status.Leader == (clusterlog.Leader{Candidate: "a", Epoch: first.Epoch()}) && len(status.Servers) == 3 && status.ID == s.id,
		"got %+v, %v", status, err)
	use := status.QuotaUse()
	expect.That(t, use > 0 && use <= .01, "%f of the quota is in use", use)
}

func TestALeaderThatResignsHandsOverAtOnce(t *testing.T) {
	s := newSite(t, 3)
	a, b := s.open(), s.open()
	first := s.lead(a, "a")
	head := first.mustAppend("x")
	var second *reign
	var waiting sync.WaitGroup
	waiting.Go(func() { second = s.lead(b, "b") })
	time.Sleep(time.Second) // b has seen the leader
	start := time.Now()
	expect.Error(t, first.stop(), nil, "Run")
	waiting.Wait()
	took := time.Since(start)
	if took > time.Second || second.Head() != head || second.Epoch() <= first.Epoch() {
		t.Errorf("after %v the head is %v, want %v; epoch %d after %d", took, second.Head(), head, second.Epoch(), first.Epoch())
	}
	t.Logf("handed over in %v", took)
	expect.That(t, !first.Valid(), "a leader that has resigned is valid")
	_, err := first.Append(within(t), clusterlog.NewBatchID(), nil, nil)
	expect.Error(t, err, clusterlog.ErrDeposed, "the error")
}

func TestConcurrentAppendsAllHaveAPlace(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	r := s.lead(l, "a")
	var writers sync.WaitGroup
	var want []string
	for i := range 40 {
		want = append(want, numbered(i))
		writers.Go(func() { r.mustAppend(numbered(i)) })
	}
	writers.Wait()
	var got []string
	for _, e := range s.entries(l, len(want)) {
		got = append(got, string(e.Payload))
	}
	slices.Sort(got)
	slices.Sort(want)
	expect.Slices(t, got, want)
}

func TestAFollowerBelowTheFloorIsTold(t *testing.T) {
	s := newSite(t, 3)
	l := s.open()
	r := s.lead(l, "a")
	var at []clusterlog.Position
	for i := range 30 {
		at = append(at, r.mustAppend(numbered(i)))
	}
	expect.That(t, r.Trim(within(t), 31) != nil, "entries that are not there can be trimmed")
	for range 2 { // a repeat changes nothing
		expect.OK(t, r.Trim(within(t), 20))
	}
	status, err := l.Status(within(t))
	expect.That(t, err == nil && status.Floor == 21 && status.Head == at[29], "got %+v, %v", status, err)
	nothing := func(p clusterlog.Progress) error { return errEnough }
	expect.Error(t, l.Follow(within(t), at[18], nothing), clusterlog.ErrBelowFloor, "from entry 19")
	expect.Equal(t, l.Follow(within(t), at[19], nothing), errEnough, "from entry 20")
	expect.OK(t, r.Trim(within(t), 30))
	expect.Equal(t, l.Follow(within(t), at[29], nothing), errEnough, "from the head of an empty log")
	expect.Equal(t, l.counts.compactions.Load(), 1, "compactions")
	r.mustAppend("after it")
}

func TestALeaderOfAnOlderEpochCannotTrim(t *testing.T) {
	s := newSite(t, 1)
	a, b := s.open(), s.open()
	first := s.lead(a, "a")
	first.mustAppend("x")
	expect.OK(t, first.stop())
	second := s.lead(b, "b")
	expect.Error(t, first.Trim(within(t), 1), clusterlog.ErrDeposed, "the error")
	status, err := b.Status(within(t))
	expect.That(t, err == nil && status.Floor == 1, "got %+v, %v", status, err)
	expect.Error(t, second.Trim(within(t), 1), nil, "the new leader")
}
