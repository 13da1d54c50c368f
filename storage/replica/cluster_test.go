package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
	"shunt/storage/row/rowtest"
)

// member is a node of a cluster without a network: a store in memory, an engine, and a replica.
type member struct {
	t       testing.TB
	name    string
	options Options
	disk    *vfs.MemFS

	flushInterval time.Duration

	store   *sharedStore
	engine  *engine.Engine
	replica *Replica
	stop    func()

	mu       sync.Mutex
	accounts int // calls of AccountsChanged
}

func (m *member) Learn(l *engine.Learned) error { return m.engine.Learn(l) }

func (m *member) DomainsChanged() error { return nil }

func (m *member) FoldersChanged() {}

func (m *member) AccountsChanged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accounts++
}

func (m *member) Lead(ctx context.Context, begin func()) error { return m.engine.Lead(ctx, begin) }
func (m *member) StopLeading()                                 { m.engine.StopLeading() }

// newMembers returns nodes of one cluster, whose stores are copies of one that is empty.
func newMembers(t testing.TB, log clusterlog.Log, id clusterlog.ID, names ...string) []*member {
	return newMembersWith(t, log, id, Options{Logger: slog.New(slog.DiscardHandler)}, names...)
}

// newMembersWith is newMembers with options of all of them.
func newMembersWith(t testing.TB, log clusterlog.Log, id clusterlog.ID, o Options, names ...string) (members []*member) {
	return newMembersFlushing(t, log, id, o, 10*time.Millisecond, names...)
}

// newMembersFlushing is newMembersWith that flush at an interval.
func newMembersFlushing(
	t testing.TB, log clusterlog.Log, id clusterlog.ID, o Options, flushInterval time.Duration, names ...string,
) (members []*member) {
	for _, name := range names {
		o.Name = name
		m := &member{t: t, name: name, options: o, flushInterval: flushInterval, disk: vfs.NewMem()}
		s := m.openStore(true)
		expect.OK(t, s.JoinLog(id, clusterlog.Origin(id)))
		expect.OK(t, s.Close())
		m.start(log)
		members = append(members, m)
	}
	return members
}

func (m *member) openStore(create bool) *sharedStore {
	m.t.Helper()
	key := [16]byte{1, 2, 3}
	s, err := storage.Open("data", storage.Options{Create: create, FS: m.disk, Logger: slog.New(slog.DiscardHandler), VisitorKey: &key, Replicate: replicate.New})
	expect.OK(m.t, err, m.name)
	return &sharedStore{s, replicate.Of(s)}
}

// sharedStore is a store with what it has of its cluster.
type sharedStore struct {
	*storage.Store
	*replicate.Rows
}

// start opens the node's store and runs everything.
func (m *member) start(log clusterlog.Log) {
	m.t.Helper()
	m.store = m.openStore(false)
	var err error
	m.engine, err = engine.Open(m.store.Store, engine.Options{
		JournalDir: m.t.TempDir(), Cluster: true, ClockSettles: -1, FlushInterval: m.flushInterval, RingRecords: 256, Rings: 1,
	})
	expect.OK(m.t, err)
	expect.OK(m.t, m.engine.Load(context.Background(), nil))
	m.replica = New(log, m.store.Rows, m, m.options)
	replicating, stopReplica := context.WithCancel(context.Background())
	running, stopRunning := context.WithCancel(context.Background())
	var replica, rest sync.WaitGroup
	replica.Go(func() {
		expect.Error(m.t, m.replica.Run(replicating), nil, "%s", m.name)
	})
	rest.Go(func() { _ = m.store.Run(running) })
	rest.Go(func() { _ = m.engine.Run(running) })
	m.stop = sync.OnceFunc(func() {
		stopReplica()
		replica.Wait()
		stopRunning()
		rest.Wait()
		expect.Error(m.t, errors.Join(m.engine.Close(), m.store.Close()), nil, "%s: closing", m.name)
	})
	m.t.Cleanup(m.stop)
}

// patienceOfTests ends tests that hang. No test measures it.
const patienceOfTests = time.Minute

// caughtUp waits until all members have applied the whole log.
func caughtUp(t testing.TB, log *memLog, members []*member) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(5 * time.Millisecond) {
		log.mu.Lock()
		head := log.head
		log.mu.Unlock()
		behind := ""
		for _, m := range members {
			if at, _ := m.store.LogPosition(); at != head {
				behind = fmt.Sprintf("%s is at %v, the log at %v", m.name, at, head)
			}
		}
		if behind == "" {
			return
		}
		expect.MustThat(t, !time.Now().After(deadline), "%v", behind)
	}
}

// awaitEntries waits until n more entries have been appended.
func (l *memLog) awaitEntries(t testing.TB, n uint64) {
	t.Helper()
	_, from := l.span()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) {
		_, head := l.span()
		if head >= from+n {
			return
		}
		expect.MustThat(t, time.Now().Before(deadline), "%d entries in %v", head-from, patienceOfTests)
	}
}

// alike fails the test unless the shared rows of all members are equal, and what their engines resolve.
func alike(t *testing.T, members []*member) {
	t.Helper()
	want, err := members[0].store.SharedHash()
	expect.OK(t, err)
	for _, m := range members[1:] {
		got, err := m.store.SharedHash()
		expect.That(t, err == nil && got == want, "hash of the rows of %s: %x, %v; that of %s is %x", m.name, got, err, members[0].name, want)
	}
	wantLinks := linksOf(members[0])
	for _, m := range members[1:] {
		got := linksOf(m)
		for code, target := range wantLinks {
			expect.That(t, got[code] == target, "%s: %q leads to %q, in memory of %s to %q", m.name, code, got[code], members[0].name, target)
		}
		expect.That(t, len(got) == len(wantLinks), "%s has %d links in memory, %s has %d", m.name, len(got), members[0].name, len(wantLinks))
	}
}

func linksOf(m *member) map[string]string {
	links := make(map[string]string)
	err := m.store.LoadLinks(context.Background(), engine.EachLink(func(h engine.HotView) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if l, ok := m.engine.Resolve(viewOf(h.Code)); ok {
			links[string(h.Code)] = string(l.AppendTarget(nil)) + string(l.Extras())
			l.Release()
		}
		return nil
	}))
	expect.NoError(m.t, err)
	return links
}

// TestOneNodeLeadsAndTheOthersHaveItsLinks is the plain case.
func TestOneNodeLeadsAndTheOthersHaveItsLinks(t *testing.T) {
	id := clusterlog.NewID()
	log := newMemLog(id)
	members := newMembers(t, log, id, "a", "b", "c")
	detail := createSomewhere(t, members, engine.Draft{
		Alias: "welcome", Owner: 1, Target: "https://example.com/", StartsAt: time.UnixMilli(9000), ExpiredURL: "https://example.com/after", Query: engine.ForwardKeep,
	})
	caughtUp(t, log, members)
	for _, m := range members {
		got, err := m.engine.Read(keyOf("welcome"))
		expect.That(t, err == nil && got.ID == detail.ID && got.Target == "https://example.com/" && got.StartsAt.UnixMilli() == 9000 && got.ExpiredURL == "https://example.com/after" && got.Query == engine.ForwardKeep, "%s: Read: %+v, %v", m.name, got, err)
		_, _, err = m.engine.Create(context.Background(), engine.Draft{Alias: "welcome", Owner: 2, Target: "https://example.com/2"})
		want := engine.ErrTaken
		expect.That(t, !m.replica.Leads() || errors.Is(err, want), "the leader: Create of a taken alias: %v, want %v", err, want)
		expect.That(t, m.replica.Leads() || errors.Is(err, engine.ErrNotLeader), "%s: Create: %v, want %v", m.name, err, engine.ErrNotLeader)
	}
	alike(t, members)
}

// createSomewhere makes a link at the node that leads.
func createSomewhere(t testing.TB, members []*member, d engine.Draft) engine.Detail {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, m := range members {
			detail, _, err := m.engine.Create(context.Background(), d)
			if err == nil {
				return detail
			}
			expect.MustThat(t, errors.Is(err, engine.ErrNotLeader) || errors.Is(err, engine.ErrOverloaded), "%s: Create: %v", m.name, err)
		}
	}
	t.Fatal("no node leads")
	return engine.Detail{}
}

// TestNodesStayAlikeWhileLeadersChange has clients at all nodes that make, change and delete links of
// few aliases, while leaders are replaced and their answers are lost. At the end all nodes have the same
// rows, each acknowledged write is there, and no alias was given twice.
func TestNodesStayAlikeWhileLeadersChange(t *testing.T) {
	id := clusterlog.NewID()
	log := newMemLog(id)
	log.unknown = 0.05
	members := newMembers(t, log, id, "a", "b", "c")
	var clients sync.WaitGroup
	stop := make(chan struct{})
	made := make([]map[string]uint64, 8) // by client: code to id
	for c := range made {
		made[c] = make(map[string]uint64)
		clients.Go(func() { client(members, c, made[c], stop) })
	}
	for range 60 {
		log.awaitEntries(t, 4) // so that a slow machine tests no less
		time.Sleep(20 * time.Millisecond)
		log.depose()
	}
	close(stop)
	clients.Wait()
	log.mu.Lock()
	log.unknown = 0
	log.mu.Unlock()
	createSomewhere(t, members, engine.Draft{Alias: "the-end", Owner: 1, Target: "https://example.com/"})
	caughtUp(t, log, members)
	alike(t, members)
	ids, total := make(map[uint64]string), 0
	for c, links := range made {
		for code, id := range links {
			total++
			other, twice := ids[id]
			expect.That(t, !twice, "id %d was given to %q and %q", id, other, code)
			ids[id] = code
			detail, err := members[0].engine.Read(keyOf(code))
			expect.That(t, err == nil && detail.ID == id, "client %d: %q was acknowledged with id %d; now %d, %v", c, code, id, detail.ID, err)
		}
	}
	expect.That(t, total >= 100, "only %d links were acknowledged", total)
	log.mu.Lock()
	defer log.mu.Unlock()
	t.Logf("%d links, %d entries, %d leaderships", total, log.head.Sequence, log.epoch)
}

// TestANodeThatIsSucceededBeforeItLeadsGoesOn elects a node that applies the entries of its successor
// before it compares itself with the log at its own election. Only while its leadership is valid are such
// entries none of the log's.
func TestANodeThatIsSucceededBeforeItLeadsGoesOn(t *testing.T) {
	log := newMemLog(clusterlog.NewID())
	won, err := log.Campaign(within(t), "a")
	expect.OK(t, err)
	_, _, beyond := won.Head().Next(won.Epoch(), clusterlog.BatchID{1}, []byte("entry"), nil)
	lead := &leadership{Leadership: won}
	expect.Error(t, lead.reached(beyond), clusterlog.ErrAhead, "while it leads")
	log.depose()
	next, err := log.Campaign(within(t), "b")
	expect.OK(t, err)
	after, err := next.Append(within(t), clusterlog.BatchID{2}, []byte("entry"), nil)
	expect.OK(t, err)
	expect.Error(t, lead.reached(after), errSucceeded, "after another was elected")
	expect.Error(t, lead.reached(won.Head()), errElected, "at its own election")
}

// client makes links at random nodes, each alias once, until stop is closed. It changes and deletes some of
// its own, so made has those that must be there at the end.
func client(members []*member, c int, made map[string]uint64, stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(uint64(c), 1))
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		m := members[rng.IntN(len(members))]
		code := fmt.Sprintf("client-%d-%d", c, n)
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		detail, _, err := m.engine.Create(ctx, engine.Draft{Alias: code, Owner: uint32(c), Target: "https://example.com/" + code, Tags: []string{"t"}, By: &engine.By{Name: "c"}})
		cancel()
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		made[code] = detail.ID
		switch guard := (engine.Guard{Owner: uint32(c), By: &engine.By{Name: "c"}}); rng.IntN(8) {
		case 2: // it gets another id
			delete(made, code)
			if detail, err := m.engine.Reset(context.Background(), keyOf(code), guard); err == nil {
				made[code] = detail.ID
			}
		case 3:
			_, _ = m.engine.Give(context.Background(), keyOf(code), guard, 100+uint32(c), func(*engine.Record) error { return nil })
		case 0:
			delete(made, code) // whatever becomes of it
			_ = m.engine.Delete(context.Background(), keyOf(code), engine.Guard{Owner: uint32(c)})
		case 1:
			_, _ = m.engine.Update(context.Background(), keyOf(code), engine.Guard{Owner: uint32(c)}, func(r *engine.Record) error {
				r.Cold.Title = "changed"
				return nil
			})
		}
	}
}

// TestRacingClientsOfAnAliasHaveOneWinner claims aliases at all nodes at once, while leaders change.
func TestRacingClientsOfAnAliasHaveOneWinner(t *testing.T) {
	id := clusterlog.NewID()
	log := newMemLog(id)
	log.unknown = 0.05
	members := newMembers(t, log, id, "a", "b", "c")
	deposing, stop := context.WithCancel(context.Background())
	var chaos sync.WaitGroup
	chaos.Go(func() {
		last := uint64(0)
		for deposing.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			if _, head := log.span(); head > last { // so that each leader writes, however slow the machine is
				last = head
				log.depose()
			}
		}
	})
	const aliases = 200
	winners := make([][]int, aliases)
	var mu sync.Mutex
	for i := range aliases {
		var racing sync.WaitGroup
		for c := range 6 {
			racing.Go(func() {
				d := engine.Draft{Alias: fmt.Sprintf("alias-%d", i), Owner: uint32(c + 1), Target: "https://example.com/"}
				for try, deadline := 0, time.Now().Add(patienceOfTests); time.Now().Before(deadline); try++ {
					_, _, err := members[(c+try)%len(members)].engine.Create(context.Background(), d)
					if err == nil {
						mu.Lock()
						winners[i] = append(winners[i], c+1)
						mu.Unlock()
					}
					if err == nil || errors.Is(err, engine.ErrTaken) {
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		racing.Wait()
	}
	stop()
	chaos.Wait()
	createSomewhere(t, members, engine.Draft{Alias: "the-end", Owner: 1, Target: "https://example.com/"})
	caughtUp(t, log, members)
	alike(t, members)
	won := 0
	for i, w := range winners {
		expect.That(t, len(w) <= 1, "alias %d was given to %v", i, w)
		if len(w) == 1 {
			won++
			d, err := members[0].engine.Read(keyOf(fmt.Sprintf("alias-%d", i)))
			expect.That(t, err == nil && d.Owner == uint32(w[0]), "alias %d was given to %d and is %d's, %v", i, w[0], d.Owner, err)
		}
	}
	expect.That(t, won >= aliases/2, "only %d aliases were won", won)
}

// TestANodeThatIsAheadOfTheLogDoesNotLead takes the last entries of the log away from its leader, as a
// server does that was restored from an older copy, and gives it the leadership again.
func TestANodeThatIsAheadOfTheLogDoesNotLead(t *testing.T) {
	for name, change := range map[string]func(l *memLog){
		"fewer entries": func(l *memLog) {},
		"another entry": func(l *memLog) {
			encoded, _, after := l.head.Next(l.epoch, clusterlog.NewBatchID(), []byte{1, 3}, nil)
			l.entries, l.head = append(l.entries, encoded), after
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := clusterlog.NewID()
			log := newMemLog(id)
			m := newMembers(t, log, id, "a")[0]
			createSomewhere(t, []*member{m}, engine.Draft{Alias: "one", Owner: 1, Target: "https://example.com/"})
			log.mu.Lock()
			entries, head := len(log.entries), log.head
			log.mu.Unlock()
			createSomewhere(t, []*member{m}, engine.Draft{Alias: "two", Owner: 1, Target: "https://example.com/"})
			m.stop()
			log.mu.Lock()
			expect.MustEqual(t, len(log.entries)-entries, 1, "a link took entries")
			log.entries, log.head = log.entries[:entries], head
			change(log)
			log.mu.Unlock()
			store := m.openStore(false)
			defer store.Close()
			err := New(log, store.Rows, m, Options{Name: "a", Logger: slog.New(slog.DiscardHandler)}).Run(within(t))
			expect.That(t, errors.Is(err, clusterlog.ErrAhead) || errors.Is(err, clusterlog.ErrDiverged), "Run: %v, want ErrAhead or ErrDiverged", err)
		})
	}
}

// keyOf returns the key of a code in the default domain.
var keyOf = rowtest.Key

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
