package storage

import (
	"path/filepath"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// auditLog returns all entries, the newest first.
func auditLog(t *testing.T, s *Store) (all []engine.AuditEntry) {
	t.Helper()
	expect.OK(t, s.ListAudit(0, ^uint64(0), func(e *engine.AuditEntry) bool { all = append(all, *e); return true }))
	return all
}

func audited(code string, id uint64, atMs int64) engine.Mutation {
	return engine.Mutation{
		Hot: engine.Hot{Key: keyOf(code), ID: id, Owner: 7, Target: "http://a/"}, Cold: engine.Cold{Key: keyOf(code), Version: 1},
		By: &engine.By{AtMs: atMs, User: 7, Name: "ann", RequestID: "r"},
	}
}

func TestEachChangeLeavesAnEntryInTheAuditLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{Create: true})
	stop := start(t, s)
	const at = int64(1_700_000_000_000)

	made := audited("a", 1, at)
	apply(t, s, made)
	edited := audited("a", 1, at-5000) // the clock went back
	edited.Hot.Target, edited.Before = "http://b/", &engine.Record{Hot: made.Hot, Cold: made.Cold}
	apply(t, s, edited)
	quiet := audited("b", 2, at)
	quiet.By = nil
	apply(t, s, quiet)
	gone := audited("a", 1, at+1)
	gone.Before = &engine.Record{Hot: edited.Hot, Cold: edited.Cold}
	gone.Hot = engine.Hot{Key: keyOf("a"), ID: 1, Owner: 7, Flags: engine.FlagTombstone, DeletedAtMs: at + 1}
	apply(t, s, gone)
	expect.OK(t, tryApplyAll(s, engine.Bulk{
		Creations: []engine.Mutation{{Hot: engine.Hot{Key: keyOf("z"), ID: 5, Owner: 7, Target: "http://z/"}, Cold: engine.Cold{Key: keyOf("z"), Version: 1}},
			{Hot: engine.Hot{Key: keyOf("m"), ID: 6, Owner: 7, Target: "http://m/"}, Cold: engine.Cold{Key: keyOf("m"), Version: 1}}},
		By: made.By, Existing: 1, Failed: 2,
	}))
	done := make(chan error, 1)
	s.Accounts().Write([][2][]byte{{[]byte("k"), []byte("v")}}, nil,
		&engine.AuditEntry{Action: engine.UserAdded, By: engine.By{AtMs: at + 2, Local: true}, User: 3}, func(err error) { done <- err })
	expect.OK(t, <-done)
	stop()
	closeStore(t, s)

	s = open(t, dir, Options{})
	stop = start(t, s)
	apply(t, s, audited("c", 3, at-1)) // stamps go on after a restart
	stop()
	log := auditLog(t, s)
	expect.MustEqual(t, len(log), 6, "entries")
	var got []engine.AuditAction
	for i, e := range log {
		got = append(got, e.Action)
		if i > 0 && e.Stamp >= log[i-1].Stamp {
			t.Errorf("entry %d has stamp %d, after %d", i, e.Stamp, log[i-1].Stamp)
		}
	}
	for i, ms := range []int64{at - 1, at + 2, at, at + 1, at - 5000, at} { // by the clock, also where it went back
		if !log[i].At().Equal(time.UnixMilli(ms)) {
			t.Errorf("entry %d is of %v, want %v", i, log[i].At(), time.UnixMilli(ms).UTC())
		}
	}
	want := []engine.AuditAction{
		engine.LinkCreated, engine.UserAdded, engine.LinksCreated, engine.LinkDeleted, engine.LinkEdited, engine.LinkCreated,
	}
	expect.MustEqual(t, len(got), len(want), "got %v, want %v", got, want)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got, want)
			break
		}
	}
	e := log[4]
	expect.That(t, e.Before.Hot.Target == "http://a/" && e.After.Hot.Target == "http://b/" && e.By.Name == "ann", "the edit: got %+v", e)
	if e := log[2]; e.Created != 2 || e.Existing != 1 || e.Failed != 2 || e.First != keyOf("m") || e.Last != keyOf("z") {
		t.Errorf("the bulk: got %+v", e)
	}
	closeStore(t, s)
}

func TestOldEntriesOfTheAuditLogAreSwept(t *testing.T) {
	s := openTemp(t)
	for i, code := range []string{"a", "b", "c"} {
		apply(t, s, audited(code, uint64(i+1), int64(i+1)*1000))
	}
	expect.OK(t, s.SweepAudit(engine.AuditStamp(2000)))
	log := auditLog(t, s)
	expect.That(t, len(log) == 2 && log[0].After.Hot.Code == "c" && log[1].After.Hot.Code == "b", "got %+v, want c and b", log)
}
