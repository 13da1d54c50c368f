package storage

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/tables"
)

func put(key, value string) [2][]byte { return [2][]byte{[]byte(key), []byte(value)} }

// writeAccounts writes rows of accounts and waits for the result.
func writeAccounts(table *tables.Table, sets [][2][]byte, deletes [][]byte) error {
	done := make(chan error, 1)
	table.Write(sets, deletes, nil, func(err error) { done <- err })
	return <-done
}

func scanAccounts(t *testing.T, table *tables.Table, prefix string) (found []string) {
	t.Helper()
	err := table.Scan([]byte(prefix), func(key, value []byte) (bool, error) {
		found = append(found, string(key)+"="+string(value))
		return true, nil
	})
	expect.OK(t, err)
	return found
}

func TestAccountRowsAreReadAsTheyWereWritten(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	table := s.Accounts()
	sets := [][2][]byte{put("ub", "2"), put("ua", "1"), put("t\xff", "x"), put("u", ""), put("uz", "9")}
	expect.OK(t, writeAccounts(table, sets, [][]byte{[]byte("uz")}))
	after := openMem(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	closeStore(t, s)
	defer closeStore(t, after)
	table = after.Accounts()
	expect.Slices(t, scanAccounts(t, table, "u"), []string{"u=", "ua=1", "ub=2"}, "Scan")
	if got, want := scanAccounts(t, table, "t\xff"), []string{"t\xff=x"}; !slices.Equal(got, want) {
		t.Errorf("Scan: got %q, want %q", got, want)
	}
	if got := scanAccounts(t, table, ""); len(got) != 4 {
		t.Errorf("Scan of all: got %q", got)
	}
	v, err := table.Get([]byte("u"))
	expect.That(t, err == nil && v != nil && len(v) == 0, "an empty value: got %q, %v", v, err)
	if v, err := table.Get([]byte("uz")); err != nil || v != nil {
		t.Errorf("a deleted row: got %q, %v", v, err)
	}
}

func TestAScanOfAccountsEndsWhenItsCallbackStopsIt(t *testing.T) {
	s := openTemp(t)
	table := s.Accounts()
	expect.OK(t, writeAccounts(table, [][2][]byte{put("a", "1"), put("b", "2")}, nil))
	calls, stop := 0, errors.New("stop")
	err := table.Scan(nil, func(_, _ []byte) (bool, error) { calls++; return false, nil })
	expect.That(t, err == nil && calls == 1, "got %d calls, %v, want 1", calls, err)
	expect.Error(t, table.Scan(nil, func(_, _ []byte) (bool, error) { return true, stop }), stop)
}

// held is a file system on which a sync waits while the file system is held.
type held struct {
	vfs.FS
	until atomic.Pointer[chan struct{}] // nil: not held
}

func (h *held) before(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		if until := h.until.Load(); until != nil {
			<-*until
		}
	}
	return nil
}

func TestCloseWaitsForAccountWritesUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &held{FS: vfs.NewMem()}
		s := openMem(t, errorfs.Wrap(disk.FS, errorfs.InjectorFunc(disk.before)))
		letGo := make(chan struct{})
		disk.until.Store(&letGo)
		table := s.Accounts()
		done := make(chan error, tables.MaxWrites+1)
		for i := range tables.MaxWrites {
			table.Write([][2][]byte{{{byte(i)}, nil}}, nil, nil, func(err error) { done <- err })
		}
		synctest.Wait()
		expect.MustEqual(t, len(done), 0, "writes are done on a disk that does not answer")
		expect.Error(t, writeAccounts(table, [][2][]byte{put("more", "")}, nil), engine.ErrOverloaded, "one more")
		time.AfterFunc(10*engine.CommitTimeout, func() { close(letGo) })
		start := time.Now()
		closeStore(t, s)
		if took := time.Since(start); took != 10*engine.CommitTimeout || len(done) != tables.MaxWrites {
			t.Errorf("Close returned after %v with %d writes done, want %v and all %d", took, len(done), 10*engine.CommitTimeout, tables.MaxWrites)
		}
		for range len(done) {
			expect.NoError(t, <-done)
		}
	})
}

func TestARefusedWriteOfAccountsIsDoneOnce(t *testing.T) {
	calls := 0
	(&tables.Table{}).Write(nil, [][]byte{{1}}, nil, func(err error) {
		if calls++; err == nil {
			t.Error("a read-only table was written")
		}
	})
	expect.Equal(t, calls, 1, "done was called times")
}
