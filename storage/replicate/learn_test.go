package replicate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// chainLog appends to a chain in memory, and fails when it is told to.
type chainLog struct {
	head    clusterlog.Position
	entries []clusterlog.Entry
	failAt  int // appends that are left until one fails with ErrDeposed; negative: none fails
}

func newLog() *chainLog { return &chainLog{head: clusterlog.Origin(clusterlog.ID{1}), failAt: -1} }

func (l *chainLog) Append(_ context.Context, batch clusterlog.BatchID, payload, private []byte) (clusterlog.Position, error) {
	if l.failAt == 0 {
		return l.head, clusterlog.ErrDeposed
	}
	l.failAt--
	encoded, sealed, after := l.head.Next(1, batch, payload, private)
	e, _, err := l.head.Follow(encoded)
	if err == nil && sealed != nil {
		err = e.Attach(sealed)
	}
	if err != nil {
		return l.head, err
	}
	l.entries, l.head = append(l.entries, e), after
	return after, nil
}

// newRunningLeader returns a store that leads and runs until the test ends, and its log.
func newRunningLeader(t testing.TB) (*Store, *chainLog) {
	t.Helper()
	log, s := newLog(), openMember(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	t.Cleanup(start(t, s))
	s.Lead(log)
	return s, log
}

// newFollower returns a store of the same cluster until the test ends.
func newFollower(t testing.TB) *Store {
	t.Helper()
	s := openMember(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// told keeps what a store tells of what it learned.
type told struct {
	codes    []string
	freed    []engine.Freed
	receipts int
	accounts int
	folders  int
}

func (t *told) Learn(l *engine.Learned) error {
	for _, h := range l.Links {
		t.codes = append(t.codes, string(h.Code))
	}
	t.freed = append(t.freed, l.Freed...)
	t.receipts += len(l.Receipts) - len(l.ReceiptsGone)
	return nil
}

func (t *told) AccountsChanged() { t.accounts++ }
func (t *told) FoldersChanged()  { t.folders++ }

// DomainsChanged implements Learner.
func (t *told) DomainsChanged() error { return nil }

// openMember returns a new store of a cluster, of which disk has the files.
func openMember(t testing.TB, disk vfs.FS) *Store {
	t.Helper()
	s := openMem(t, disk)
	expect.OK(t, s.JoinLog(clusterlog.ID{1}, clusterlog.Origin(clusterlog.ID{1})))
	return s
}

// writeBulk applies creations as one bulk and returns the outcome.
func writeBulk(t testing.TB, s *Store, links []engine.Mutation) (err error) {
	t.Helper()
	done := make(chan error, 1)
	s.ApplyAll(engine.Bulk{Creations: links}, func(err error) { done <- err })
	return <-done
}

func madeLink(id uint64, targetBytes int) engine.Mutation {
	code := fmt.Sprintf("code-%d", id)
	return engine.Mutation{
		Hot:  engine.Hot{Key: keyOf(code), ID: id, Owner: 1, Target: "https://example.com/" + strings.Repeat("x", targetBytes)},
		Cold: engine.Cold{Key: keyOf(code), Version: 1},
	}
}

func madeLinks(from, n uint64, targetBytes int) (all []engine.Mutation) {
	for i := range n {
		all = append(all, madeLink(from+i, targetBytes))
	}
	return all
}

// TestALargeBatchIsAppliedWholeOrNotAtAll writes a bulk that takes several entries, and one whose leader is
// replaced in the middle of them. Another node applies the first whole and nothing of the second, also if
// it is restarted between any two entries.
func TestALargeBatchIsAppliedWholeOrNotAtAll(t *testing.T) {
	leader, log := newRunningLeader(t)
	expect.OK(t, writeBulk(t, leader, madeLinks(1, 200, 4000)))
	whole := len(log.entries)
	expect.MustThat(t, whole >= 3, "a bulk of 800 KB took %d entries, want several", whole)
	log.failAt = 2
	expect.MustError(t, writeBulk(t, leader, madeLinks(1000, 200, 4000)), engine.ErrNotLeader, "a bulk whose leader was replaced")
	expect.MustEqual(t, len(log.entries), whole+2, "entries: two parts without an end")
	log.failAt = -1
	expect.OK(t, writeBulk(t, leader, madeLinks(2000, 1, 10)))
	leader.StopLeading()
	want, err := leader.SharedHash()
	expect.OK(t, err)
	for restartAfter := range len(log.entries) {
		disk := vfs.NewMem()
		s, seen := openMember(t, disk), &told{}
		learnEach(t, s, log, restartAfter, seen)
		expect.OK(t, s.Close())
		s = openMem(t, disk)
		learnEach(t, s, log, len(log.entries), seen)
		got, err := s.SharedHash()
		expect.That(t, err == nil && got == want, "restarted after entry %d: hash %x, %v, want %x", restartAfter, got, err, want)
		for _, code := range seen.codes {
			expect.MustThat(t, !strings.HasPrefix(code, "code-10") || len(code) != len("code-1000"),
				"restarted after entry %d: it was told of %s, which is in no whole batch", restartAfter, code)
		}
		at, _ := s.LogPosition()
		expect.That(t, at == log.head, "restarted after entry %d: it is at %v, the log at %v", restartAfter, at, log.head)
		expect.OK(t, s.Close())
	}
}

// learnEach gives a store the entries after its position, one at a time, up to a number of all.
func learnEach(t testing.TB, s *Store, log *chainLog, until int, to Learner) {
	t.Helper()
	at, _ := s.LogPosition()
	for i := int(at.Sequence); i < until; i++ {
		e := log.entries[i]
		after := log.head
		if i+1 < len(log.entries) {
			after = clusterlog.Position{Sequence: e.Sequence, Epoch: e.Epoch, Hash: log.entries[i+1].Previous}
		}
		expect.OK(t, s.Learn([]clusterlog.Entry{e}, after, to), "entry %d", e.Sequence)
	}
}

func TestAStoreThatDoesNotLeadWritesNoSharedRow(t *testing.T) {
	s := newFollower(t)
	defer start(t, s)()
	before, err := s.SharedHash()
	expect.OK(t, err)
	expect.Error(t, writeBulk(t, s, madeLinks(1, 1, 10)), engine.ErrNotLeader, "a link")
	_, err = s.AllocateIDs(10)
	expect.Error(t, err, engine.ErrNotLeader, "ids")
	done := make(chan error, 1)
	s.Accounts().Write([][2][]byte{{{'u'}, {1}}}, nil, nil, func(err error) { done <- err })
	expect.Error(t, <-done, engine.ErrNotLeader, "an account")
	expect.Error(t, s.NoteBaseURL("https://sho.rt"), nil, "a row of its own")
	after, err := s.SharedHash()
	expect.That(t, err == nil && after == before, "the shared rows have changed: %x, %v, want %x", after, err, before)
}

// watcher looks at a store while it tells what it has learned.
type watcher struct {
	s    *Store
	seen []uint64
}

func (w *watcher) Learn(*engine.Learned) error {
	w.seen = append(w.seen, w.s.AppliedSequence())
	return nil
}

func (w *watcher) AccountsChanged() {}

func (w *watcher) FoldersChanged() {}

// DomainsChanged implements Learner.
func (w *watcher) DomainsChanged() error { return nil }

// TestAnEntryIsAppliedWhenTheEngineKnowsIt: else a client of this node, whose write the leader has answered, could
// not read it yet.
func TestAnEntryIsAppliedWhenTheEngineKnowsIt(t *testing.T) {
	s := newFollower(t)
	leader, log := newRunningLeader(t)
	for i := range uint64(3) {
		expect.OK(t, writeBulk(t, leader, madeLinks(1+i, 1, 10)))
	}
	w := &watcher{s: s}
	learnEach(t, s, log, 1, &told{})
	expect.OK(t, s.Learn(log.entries[1:2], clusterlog.Position{Sequence: 2, Epoch: 1, Hash: log.entries[2].Previous}, w))
	if len(w.seen) != 1 || w.seen[0] != 1 || s.AppliedSequence() != 2 {
		t.Errorf("while the second entry was told of, %v was applied, and then %d", w.seen, s.AppliedSequence())
	}
}

// TestLearningDoesNotWaitForWhoeverAllocatesIDs: that one may wait for the turn that learning has.
func TestLearningDoesNotWaitForWhoeverAllocatesIDs(t *testing.T) {
	s := newFollower(t)
	leader, log := newLeader(t)
	_, err := leader.AllocateIDs(10)
	expect.OK(t, err)
	learnEach(t, s, log, len(log.entries), &told{})
	expect.Equal(t, s.IDBound(), leader.IDBound(), "ids are given up to")
}

// TestAnEntryOfANewerVersionChangesNothing has a node read what a newer program wrote.
func TestAnEntryOfANewerVersionChangesNothing(t *testing.T) {
	follower := newFollower(t)
	leader, log := newRunningLeader(t)
	leader.WriteEntries(ReadsEntries + 1) // more than it can write
	expect.OK(t, writeBulk(t, leader, madeLinks(1, 1, 30)))
	leader.StopLeading()
	seen := &told{}
	learnEach(t, follower, log, 1, seen)
	at, _ := follower.LogPosition()
	payload := append([]byte{ReadsEntries + 1}, log.entries[0].Payload[1:]...)
	_, _, after := at.Next(1, clusterlog.NewBatchID(), payload, nil)
	err := follower.Learn([]clusterlog.Entry{{Epoch: 1, Sequence: at.Sequence + 1, Previous: at.Hash, Payload: payload}}, after, seen)
	expect.That(t, errors.Is(err, clusterlog.ErrNewerVersion) && strings.Contains(err.Error(), fmt.Sprintf("entry %d ", at.Sequence+1)),
		"got %v, want ErrNewerVersion and the entry's number", err)
	now, _ := follower.LogPosition()
	expect.That(t, now == at && len(seen.codes) == 1, "it is at %v, was at %v, and was told of %q", now, at, seen.codes)
}

// FuzzLearn gives a store any payload: it is an error that changes nothing, or rows that all nodes share.
func FuzzLearn(f *testing.F) {
	log := newLog()
	f.Add([]byte{})
	f.Add([]byte{1, 3})
	f.Add([]byte{2, 3, 0})
	f.Add(append([]byte{1, 3}, make([]byte, 12)...))
	f.Add(append([]byte{1, 1}, make([]byte, 12)...))
	s := openMember(f, vfs.NewMem())
	f.Cleanup(func() { closeStore(f, s) })
	stop := start(f, s)
	s.Lead(log)
	expect.OK(f, writeBulk(f, s, madeLinks(1, 1, 30)))
	s.StopLeading()
	stop()
	f.Add(bytes.Clone(log.entries[0].Payload))
	f.Fuzz(func(t *testing.T, payload []byte) {
		s.shared.parts = parts{} // of a payload before
		at, _ := s.LogPosition()
		_, _, after := at.Next(1, clusterlog.NewBatchID(), payload, nil)
		seen := &told{}
		err := s.Learn([]clusterlog.Entry{{Epoch: 1, Sequence: at.Sequence + 1, Previous: at.Hash, Payload: payload}}, after, seen)
		if err == nil {
			return
		}
		expect.That(t, len(seen.codes)+len(seen.freed)+seen.accounts == 0, "%v, and it was told of %+v", err, seen)
		now, _ := s.LogPosition()
		expect.That(t, now == at, "%v, and the position is %v, was %v", err, now, at)
	})
}

// secretWords are in rows that an edge does not keep, each in another kind of them.
var secretWords = []string{"title-of-a-link", "tag-of-a-link", "name-of-a-user", "entry-of-the-audit-log"}

// What an edge may read of the log has no row that it does not keep, and no part of a record that it does not
// keep; and a full node that reads both parts has what the leader has.
func TestWhatAnEdgeReadsOfTheLogHasNothingElse(t *testing.T) {
	follower := newFollower(t)
	leader, log := newRunningLeader(t)
	link := madeLink(1, 30)
	link.Cold.Title, link.Cold.Tags = secretWords[0], []string{secretWords[1]}
	if err := writeBulk(t, leader, append(madeLinks(2, 60, 7000), link)); err != nil { // more than an entry
		t.Fatal(err)
	}
	b := leader.db.NewBatch()
	defer b.Close()
	kv.Set(b, append([]byte{row.TableAccounts}, "user"...), []byte(secretWords[2]))
	kv.Set(b, row.AppendAuditKey(nil, 7), []byte(secretWords[3]))
	expect.OK(t, leader.share(b, "test"))
	leader.StopLeading()
	var open, private []byte
	for i := range log.entries {
		open, private = append(open, log.entries[i].Payload...), append(private, log.entries[i].Private...)
	}
	for _, word := range secretWords {
		if bytes.Contains(open, []byte(word)) || !bytes.Contains(private, []byte(word)) {
			t.Errorf("%s: in what edges read: %v, in the rest: %v", word, bytes.Contains(open, []byte(word)), bytes.Contains(private, []byte(word)))
		}
	}
	expect.That(t, bytes.Contains(open, []byte("https://example.com/")), "what edges read has no target")
	learnEach(t, follower, log, len(log.entries), &told{})
	got, want := hashOf(t, follower), hashOf(t, leader)
	expect.That(t, got == want, "the follower has %x, the leader %x", got, want)
	cut := log.entries[len(log.entries)-1]
	cut.Private = nil
	at, _ := follower.LogPosition()
	expect.Error(t, follower.Learn([]clusterlog.Entry{cut}, at, deafLearner{}), ErrCorrupt, "an entry without its private part")
}

// A batch may set a record several times: only the last one counts, on both sides.
func TestAFullNodeHasTheLastOfEachRecord(t *testing.T) {
	plain, titled := row.AppendCold(nil, &engine.Cold{Key: keyOf("c"), Version: 1}), row.AppendCold(nil, &engine.Cold{Key: keyOf("c"), Version: 1, Texts: engine.Texts{Title: "t"}})
	key := row.AppendColdKey(nil, 1)
	for name, steps := range map[string][][]byte{
		"plain": {plain}, "titled": {titled}, "loses its title": {titled, plain}, "gets it back": {titled, plain, titled}, "goes": {titled, nil}, "goes and comes": {titled, nil, plain},
	} {
		s := openMem(t, vfs.NewMem())
		b, again := s.db.NewBatch(), s.db.NewBatch()
		for _, value := range steps {
			if value == nil {
				kv.Remove(b, key)
			} else {
				kv.Set(b, key, value)
			}
		}
		open, private, err := splitRows(b)
		if err == nil {
			err = errors.Join(s.collectRows(again, open), s.collectRows(again, private), again.Commit(nil))
		}
		expect.OK(t, err, name)
		if got, err := s.writer.Get(key); err != nil || !bytes.Equal(got, steps[len(steps)-1]) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, steps[len(steps)-1])
		}
		expect.That(t, !bytes.Contains(open, titled), "%s: edges read the title", name)
		kv.Must(errors.Join(b.Close(), again.Close()))
		closeStore(t, s)
	}
}

// TestRowsOfFoldersAndAccountsAreToldApart: reading all folders again with each sign-in would take a follower's time.
func TestRowsOfFoldersAndAccountsAreToldApart(t *testing.T) {
	unknown := func([]byte) (bool, error) { return false, nil }
	for table, want := range map[byte]told{row.TableAccounts: {accounts: 1}, row.TableFolders: {folders: 1}} {
		for name, note := range map[string]func(l *learned) error{
			"written": func(l *learned) error { return l.noteSet([]byte{table, 1}, nil, unknown) },
			"deleted": func(l *learned) error { return l.noteDelete([]byte{table, 1}, unknown) },
		} {
			var l learned
			var seen told
			expect.OK(t, note(&l))
			expect.OK(t, l.tell(&seen))
			expect.That(t, seen.accounts == want.accounts && seen.folders == want.folders, "a row of table %#x is %s: %+v, want %+v", table, name, seen, want)
		}
	}
}
