package replica

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// sharing is what a member does for caps, and for the hits of others, besides replicating: the part of a network.
type sharing struct {
	*member
	all []*sharing
}

// All implements engine.CapNodes.
func (s *sharing) All(context.Context) (ids [][16]byte, err error) {
	for _, other := range s.all {
		id, _ := other.store.OutboxID()
		ids = append(ids, id)
	}
	return ids, nil
}

// Shown implements engine.CapNodes.
func (s *sharing) Shown(outbox [16]byte) (uint64, error) { return s.store.PulledNext(outbox) }

var errNoLeader = errors.New("no member leads")

func (s *sharing) send(ctx context.Context, m *engine.CapMessage) error {
	for _, other := range s.all {
		if other.replica.Leads() {
			return other.engine.TakeCapMessage(ctx, m, len(s.all))
		}
	}
	return errNoLeader
}

// pull applies what the others have counted, until ctx is done.
func (s *sharing) pull(ctx context.Context) {
	for ctx.Err() == nil {
		for _, other := range s.all {
			if other != s {
				s.pullFrom(other)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *sharing) pullFrom(other *sharing) {
	id, _ := other.store.OutboxID()
	next, err := s.store.PulledNext(id)
	if err != nil {
		s.t.Error(err)
		return
	}
	part, err := other.store.Outbox(next-1, 1<<20)
	if err != nil {
		s.t.Error(err)
		return
	}
	if len(part.Records) == 0 {
		return
	}
	err = s.engine.Pulled(func() ([]engine.PulledHits, error) {
		p, err := s.store.ApplyPulled(id, part.First, part.Records)
		return p.Hits, err
	})
	if err != nil && !errors.Is(err, replicate.ErrOutboxEarly) && !errors.Is(err, engine.ErrBehind) {
		s.t.Error(err)
	}
}

// TestMembersShareCaps has clients at three members follow links while leaders change: one whose cap began with it, and
// one whose cap is set meanwhile, and lowered, and raised.
func TestMembersShareCaps(t *testing.T) {
	t.Parallel()
	id := clusterlog.NewID()
	log := newMemLog(id)
	members := newMembers(t, log, id, "a", "b", "c")
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var all []*sharing
	for _, m := range members {
		all = append(all, &sharing{member: m})
	}
	for _, s := range all {
		s.all = all
		running.Go(func() { s.engine.ShareCaps(ctx, s, s.send) })
		running.Go(func() { s.pull(ctx) })
	}
	const limit = 500
	createSomewhere(t, members, engine.Draft{Alias: "born", Owner: 1, Target: "https://example.com/", MaxHits: limit})
	createSomewhere(t, members, engine.Draft{Alias: "late", Owner: 1, Target: "https://example.com/"})
	caughtUp(t, log, members)
	admitted := map[string]*atomic.Int64{"born": new(atomic.Int64), "late": new(atomic.Int64)}
	for _, s := range all {
		for range 4 {
			running.Go(func() { s.follow(ctx, admitted) })
		}
	}
	eventually(t, "the link without a cap is followed", func() bool { return admitted["late"].Load() > 20 })
	for i, to := range []uint64{limit, limit / 2, limit, 10 * limit} {
		setCap(t, members, "late", to)
		if i%2 == 1 {
			log.depose()
		}
	}
	for code, want := range map[string]int64{"born": limit, "late": 10 * limit} {
		eventually(t, code+" is used up", func() bool { return admitted[code].Load() >= want })
		for _, s := range all {
			eventually(t, s.name+" says that "+code+" is used up", func() bool { return s.usedUp(code) })
		}
		if got := admitted[code].Load(); got != want {
			t.Errorf("%s was followed %d times, and its cap is %d", code, got, want)
		}
	}
	cancel()
	running.Wait()
	caughtUp(t, log, members)
	alike(t, members)
}

// TestHitsFromBeforeAResetCountAtNoMember has hits of each member wait in its outbox when another resets their link.
func TestHitsFromBeforeAResetCountAtNoMember(t *testing.T) {
	t.Parallel()
	id := clusterlog.NewID()
	log := newMemLog(id)
	members := newMembers(t, log, id, "a", "b", "c")
	createSomewhere(t, members, engine.Draft{Alias: "x", Owner: 1, Target: "https://example.com/"})
	caughtUp(t, log, members)
	var all []*sharing
	for _, m := range members {
		all = append(all, &sharing{member: m})
	}
	hits := func(each int) {
		for _, s := range all {
			for range each {
				if !s.hit("x") {
					t.Errorf("%s does not redirect", s.name)
				}
			}
		}
	}
	hits(10)
	eventually(t, "the figures are reset", func() bool {
		for _, m := range members {
			if _, err := m.engine.Reset(context.Background(), "x", engine.Guard{AnyOwner: true}); err == nil {
				return true
			}
		}
		return false
	})
	caughtUp(t, log, members)
	hits(5)
	ctx, cancel := context.WithCancel(context.Background())
	var pulling sync.WaitGroup
	defer pulling.Wait()
	defer cancel()
	for _, s := range all {
		s.all = all
		pulling.Go(func() { s.pull(ctx) })
	}
	for _, s := range all {
		eventually(t, s.name+" has the hits since the reset", func() bool {
			got, err := s.engine.Stats(ctx, "x")
			return err == nil && got.Hits == 15
		})
	}
	for _, s := range all { // all outboxes were read to their ends, hits of before too
		eventually(t, s.name+" has all hits of the owner", func() bool {
			r, err := s.engine.OwnerReport(ctx, []uint32{1}, "", engine.Query{})
			return err == nil && r.Hits == 45
		})
		if got, err := s.engine.Stats(ctx, "x"); err != nil || got.Hits != 15 {
			t.Errorf("%s, in the end: got %+v, %v, want 15 hits", s.name, got, err)
		}
	}
	alike(t, members)
}

func (s *sharing) follow(ctx context.Context, admitted map[string]*atomic.Int64) {
	for ctx.Err() == nil {
		for code, n := range admitted {
			if s.hit(code) {
				n.Add(1)
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func (s *sharing) hit(code string) bool {
	l, ok := s.engine.Resolve([]byte(code))
	if !ok {
		return false
	}
	defer l.Release()
	return s.engine.Hit(l, engine.Visit{Visitor: 1, NowMs: time.Now().UnixMilli()})
}

func (s *sharing) usedUp(code string) bool {
	l, ok := s.engine.Resolve([]byte(code))
	if !ok {
		return false
	}
	defer l.Release()
	return s.engine.UsedUp(l)
}

// setCap sets the cap of a link at the member that leads.
func setCap(t *testing.T, members []*member, code string, limit uint64) {
	t.Helper()
	eventually(t, "the cap is set", func() bool {
		for _, m := range members {
			_, err := m.engine.Update(t.Context(), code, engine.Guard{AnyOwner: true}, func(r *engine.Record) error {
				r.Hot.MaxHits = limit
				return nil
			})
			if err == nil {
				return true
			}
		}
		return false
	})
}
