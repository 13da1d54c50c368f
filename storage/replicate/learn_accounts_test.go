package replicate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
)

// accountsWatcher notes what it is told, and what the store shows at that moment.
type accountsWatcher struct {
	t    *testing.T
	s    *Store
	disk *vfs.MemFS
	told []string
}

// Learn implements Learner.
func (w *accountsWatcher) Learn(*engine.Learned) error {
	w.told = append(w.told, fmt.Sprintf("links; entry %d is shown", w.s.AppliedSequence()))
	return nil
}

// DomainsChanged implements Learner.
func (w *accountsWatcher) DomainsChanged() error { return nil }

// AccountsChanged implements Learner.
func (w *accountsWatcher) FoldersChanged() {}

func (w *accountsWatcher) AccountsChanged() {
	rows := scanAccounts(w.t, w.s.Accounts(), "")
	w.told = append(w.told, fmt.Sprintf("accounts %v; entry %d is shown", rows, w.s.AppliedSequence()))
	after := openMem(w.t, w.disk.CrashClone(vfs.CrashCloneCfg{}))
	defer closeStore(w.t, after)
	kept := scanAccounts(w.t, after.Accounts(), "")
	expect.That(w.t, slices.Equal(kept, rows), "it is told of accounts %v, and after a crash there are %v", rows, kept)
}

// wantTold fails unless w was told that, and forgets it.
func (w *accountsWatcher) wantTold(when string, want ...string) {
	w.t.Helper()
	expect.Slices(w.t, w.told, want, "%s: it was told", when)
	w.told = nil
}

// accountEntries returns the log of a leader that made a link, two rows of accounts, deleted one of them,
// and made another link: four entries. disk has a store of the same cluster, which has none of them.
func accountEntries(t *testing.T) (log *chainLog, disk *vfs.MemFS) {
	t.Helper()
	log = newLog()
	disks := newCluster(t, log, 2)
	leader := openMem(t, disks[0])
	defer closeStore(t, leader)
	defer start(t, leader)()
	leader.Lead(log)
	defer leader.StopLeading()
	table := leader.Accounts()
	for n, write := range []func() error{
		func() error { return writeBulk(t, leader, madeLinks(101, 1, 10)) },
		func() error { return writeAccounts(table, [][2][]byte{put("a", "1"), put("b", "2")}, nil) },
		func() error { return writeAccounts(table, nil, [][]byte{[]byte("a")}) },
		func() error { return writeBulk(t, leader, madeLinks(102, 1, 10)) },
	} {
		err := write()
		expect.MustThat(t, err == nil && len(log.entries) == n+1, "write %d: %v; the log has %d entries, want one more", n+1, err, len(log.entries))
	}
	return log, disks[1]
}

// A node that has callers of accounts in memory forgets them when it is told. Too early, and it would read
// the old rows again; too late, and a client whose write another node has answered, and who waits here until
// it is shown, would be met by callers of before.
func TestANodeIsToldOfAccountsOnceTheyCanBeReadAndBeforeTheyAreShown(t *testing.T) {
	log, disk := accountEntries(t)
	s := openMem(t, disk)
	defer closeStore(t, s)
	w := &accountsWatcher{t: t, s: s, disk: disk}
	for n, want := range [][]string{
		{"links; entry 0 is shown"},
		{"accounts [a=1 b=2]; entry 1 is shown", "links; entry 1 is shown"},
		{"accounts [b=2]; entry 2 is shown", "links; entry 2 is shown"},
		{"links; entry 3 is shown"},
	} {
		learnEach(t, s, log, n+1, w)
		w.wantTold(fmt.Sprintf("entry %d", n+1), want...)
		expect.Equal(t, s.AppliedSequence(), uint64(n+1), "after entry %d, entry is shown", n+1)
	}
}

func TestANodeIsToldOnceOfTheAccountsOfSeveralEntries(t *testing.T) {
	log, disk := accountEntries(t)
	s := openMem(t, disk)
	defer closeStore(t, s)
	w := &accountsWatcher{t: t, s: s, disk: disk}
	expect.OK(t, s.Learn(log.entries, log.head, w))
	w.wantTold("all entries at once", "accounts [b=2]; entry 0 is shown", "links; entry 0 is shown")
}
