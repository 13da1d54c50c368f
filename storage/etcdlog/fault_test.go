package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func TestAnAppendWhoseAnswerIsLostIsWrittenOnce(t *testing.T) {
	s := newSite(t, 3)
	proxies, endpoints := s.Proxies(t)
	l := s.open(endpoints...)
	r := s.lead(l, "a")
	r.mustAppend("first")
	at := int(l.preferred.Load()) % 3
	proxies[at].DropAnswers(true)
	r.mustAppend("second")
	proxies[at].DropAnswers(false)
	r.mustAppend("third")
	s.wantPayloads(s.open(), "first", "second", "third")
	c := &l.counts
	expect.That(t, c.ambiguous.Load() != 0 && c.retries.Load() != 0 && c.unknown.Load() == 0, "got %+v", c)
}

func TestAnUnknownOutcomeIsSettledByTheNextAppend(t *testing.T) {
	s := newSite(t, 3)
	proxies, endpoints := s.Proxies(t)
	l := s.open(endpoints...)
	r := s.lead(l, "a")
	r.mustAppend("first")
	short := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 300*time.Millisecond)
	}
	batch := clusterlog.NewBatchID()
	for _, p := range proxies {
		p.DropAnswers(true)
	}
	ctx, cancel := short()
	defer cancel()
	expect.MustError(t, expect.Err(r.Append(ctx, batch, []byte("second"), privateOf("second"))), clusterlog.ErrUnknownOutcome)
	ctx, cancel = short()
	defer cancel()
	if _, err := r.Append(ctx, clusterlog.NewBatchID(), []byte("never"), nil); !errors.Is(err, clusterlog.ErrUnavailable) || errors.Is(err, clusterlog.ErrUnknownOutcome) {
		t.Fatalf("another before the first is settled: got %v, want %v", err, clusterlog.ErrUnavailable)
	}
	for _, p := range proxies {
		p.DropAnswers(false)
	}
	p, err := r.Append(within(t), batch, []byte("second"), privateOf("second"))
	expect.That(t, err == nil && p.Sequence == 2, "the same again: %v, %v", p, err)
	r.mustAppend("third")
	s.wantPayloads(s.open(), "first", "second", "third")
}

// The entry was written and trimmed by the next leader before its author learned of it.
func TestAnEntryThatWasTrimmedMeanwhileStaysUnknown(t *testing.T) {
	s := newSite(t, 3)
	proxies, endpoints := s.Proxies(t)
	r := s.lead(s.open(endpoints...), "a")
	r.mustAppend("first")
	for _, p := range proxies {
		p.DropAnswers(true)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	batch := clusterlog.NewBatchID()
	if _, err := r.Append(ctx, batch, []byte("second"), privateOf("second")); !errors.Is(err, clusterlog.ErrUnknownOutcome) || errors.Is(err, clusterlog.ErrBelowFloor) {
		t.Fatalf("while answers are lost: got %v, want %v alone", err, clusterlog.ErrUnknownOutcome)
	}
	next := s.lead(s.open(), "b")
	expect.MustEqual(t, next.Head().Sequence, 2, "the head of the next leader is %v", next.Head())
	next.mustAppend("third")
	expect.OK(t, next.Trim(within(t), 2))
	for _, p := range proxies {
		p.DropAnswers(false)
	}
	for range 2 {
		if _, err := r.Append(within(t), batch, []byte("second"), privateOf("second")); !errors.Is(err, clusterlog.ErrUnknownOutcome) || !errors.Is(err, clusterlog.ErrBelowFloor) || errors.Is(err, clusterlog.ErrDeposed) {
			t.Errorf("the same again: got %v, want %v and %v", err, clusterlog.ErrUnknownOutcome, clusterlog.ErrBelowFloor)
		}
		_, err := r.Append(within(t), clusterlog.NewBatchID(), nil, nil)
		expect.That(t, errors.Is(err, clusterlog.ErrDeposed) && !errors.Is(err, clusterlog.ErrUnknownOutcome), "another: got %v, want %v alone", err, clusterlog.ErrDeposed)
	}
}

func TestAppendsGoOnWithin3sWithoutTheLeaderOfTheServers(t *testing.T) {
	for name, fault := range map[string]func(s *site) (end func()){
		"killed": func(s *site) func() { m := s.Leader(); m.Kill(); return m.Start },
		"paused": func(s *site) func() { m := s.Leader(); m.Pause(); return m.Resume },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 3)
			l := s.open()
			r := s.lead(l, "a")
			want := []string{"before"}
			r.mustAppend("before")
			end := fault(s)
			start := time.Now()
			longest := time.Duration(0)
			for i := 0; time.Since(start) < 5*time.Second; i++ {
				sent := time.Now()
				want = append(want, numbered(i))
				expect.OK(t, expect.Err(r.Append(within(t), clusterlog.NewBatchID(), []byte(numbered(i)), privateOf(numbered(i)))), "after %v", time.Since(start))
				longest = max(longest, time.Since(sent))
				time.Sleep(10 * time.Millisecond)
			}
			expect.That(t, longest <= 3*time.Second, "an append took %v", longest)
			t.Logf("the longest append took %v; %d appends, %+v", longest, len(want), &l.counts)
			end()
			s.wantPayloads(s.open(), want...)
		})
	}
}

func TestALeaderKeepsItsLeaseWhileAServerIsPaused(t *testing.T) {
	s := newSite(t, 3)
	l := s.open()
	r := s.lead(l, "a")
	leader := s.Leader()
	for _, m := range s.Members {
		if m != leader {
			m.Pause()
			defer m.Resume()
			break
		}
	}
	select {
	case <-r.Done():
		t.Fatalf("the leader is deposed: %v", r.stop())
	case <-time.After(6 * time.Second):
	}
	expect.That(t, r.Valid() && l.counts.renewFailures.Load() != 0, "valid: %v; %+v", r.Valid(), &l.counts)
	r.mustAppend("x")
}

func TestALeaderWithoutServersStopsBeforeItsLeaseEnds(t *testing.T) {
	s := newSite(t, 1)
	proxies, endpoints := s.Proxies(t)
	r := s.lead(s.open(endpoints...), "a")
	r.mustAppend("x")
	proxies[0].Hold(true)
	start := time.Now()
	await(t, "it is deposed", r.Done())
	took := time.Since(start)
	expect.That(t, took >= leaseTTL-leaseMargin-renewInterval-renewTimeout && took <= leaseTTL, "after %v", took)
	expect.That(t, !r.Valid(), "it is valid")
	expect.Error(t, r.stop(), clusterlog.ErrDeposed, "the error")
	next := s.lead(s.open(), "b")
	if took := time.Since(start); took > leaseTTL+3*time.Second {
		t.Errorf("the next leads after %v", took)
	}
	expect.Equal(t, next.Head().Sequence, 1, "its head is %v", next.Head())
}

func TestAFollowerOfAPausedServerGetsEntriesFromAnother(t *testing.T) {
	s := newSite(t, 3)
	proxies, endpoints := s.Proxies(t)
	l, follower := s.open(), s.open(endpoints...)
	r := s.lead(l, "a")
	arrived := make(chan time.Time, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- follower.Follow(ctx, clusterlog.Origin(s.id), func(p clusterlog.Progress) error {
			for range p.Entries {
				arrived <- time.Now()
			}
			return nil
		})
	}()
	lag := func() time.Duration {
		start := time.Now()
		r.mustAppend("x")
		return (<-arrived).Sub(start)
	}
	for range 5 {
		t.Logf("lag %v", lag())
	}
	for i := range proxies { // one after the other, so that the follower's is among them
		proxies[i].Hold(true)
		longest := time.Duration(0)
		for range 4 {
			longest = max(longest, lag())
		}
		t.Logf("server %d held: lag at most %v", i, longest)
		expect.That(t, longest <= 3*time.Second, "server %d held: lag %v", i, longest)
		proxies[i].Hold(false)
	}
	cancel()
	expect.Error(t, <-ended, context.Canceled, "the error")
}

func TestAByteThatAServerChangesIsReadElsewhere(t *testing.T) {
	s := newSite(t, 3)
	proxies, endpoints := s.Proxies(t)
	r := s.lead(s.open(), "a")
	for range 5 {
		r.mustAppend("the original")
	}
	for i, p := range proxies {
		follower := s.open(endpoints[i], endpoints[(i+1)%3], endpoints[(i+2)%3])
		p.Edit(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("original"), []byte("0riginal")) })
		s.wantPayloads(follower, "the original", "the original", "the original", "the original", "the original")
		p.Edit(nil)
		expect.That(t, follower.counts.corruptReads.Load() != 0, "server %d: nothing was noticed", i)
	}
}

func TestAnEntryThatIsWrongEverywhereIsNeverApplied(t *testing.T) {
	s := newSite(t, 3)
	l := s.open()
	r := s.lead(l, "a")
	for i := range 5 {
		r.mustAppend(numbered(i))
	}
	client := s.Client()
	defer client.Close()
	key := l.keys.entry(3)
	right, err := client.Get(within(t), key)
	expect.OK(t, err)
	good := right.Kvs[0].Value
	wrong := bytes.Clone(good)
	wrong[40] ^= 1
	_, err = client.Put(within(t), key, string(wrong))
	expect.OK(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var got []clusterlog.Entry
	apply := func(p clusterlog.Progress) error {
		if got = append(got, p.Entries...); len(got) == 5 {
			return errEnough
		}
		return nil
	}
	err = l.Follow(ctx, clusterlog.Origin(s.id), apply)
	expect.That(t, errors.Is(err, context.DeadlineExceeded) && len(got) == 2, "got %d entries and %v", len(got), err)
	n := l.counts.corruptReads.Load()
	expect.That(t, n >= 3, "%d wrong answers were noticed", n)
	if _, err := client.Put(within(t), key, string(good)); err != nil { // an operator repaired it
		t.Fatal(err)
	}
	got = nil
	if err := l.Follow(within(t), clusterlog.Origin(s.id), apply); err != errEnough {
		t.Errorf("after the repair: %v", err)
	}
}
