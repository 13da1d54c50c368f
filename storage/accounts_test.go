package storage

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func put(key, value string) [2][]byte { return [2][]byte{[]byte(key), []byte(value)} }

func scanAccounts(t *testing.T, table *AccountTable, prefix string) (found []string) {
	t.Helper()
	err := table.Scan([]byte(prefix), func(key, value []byte) (bool, error) {
		found = append(found, string(key)+"="+string(value))
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAccountRowsAreKeptBesideTheOtherTables(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	table := s.Accounts()
	sets := [][2][]byte{put("ub", "2"), put("ua", "1"), put("t\xff", "x"), put("u", ""), put("uz", "9")}
	if err := table.Write(sets, [][]byte{[]byte("uz")}); err != nil {
		t.Fatal(err)
	}
	after := openMem(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	closeStore(t, s)
	defer closeStore(t, after)
	table = after.Accounts()
	if got, want := scanAccounts(t, table, "u"), []string{"u=", "ua=1", "ub=2"}; !slices.Equal(got, want) {
		t.Errorf("Scan: got %q, want %q", got, want)
	}
	if got, want := scanAccounts(t, table, "t\xff"), []string{"t\xff=x"}; !slices.Equal(got, want) {
		t.Errorf("Scan: got %q, want %q", got, want)
	}
	if got := scanAccounts(t, table, ""); len(got) != 4 {
		t.Errorf("Scan of all: got %q", got)
	}
	if v, err := table.Get([]byte("u")); err != nil || v == nil || len(v) != 0 {
		t.Errorf("an empty value: got %q, %v", v, err)
	}
	if v, err := table.Get([]byte("uz")); err != nil || v != nil {
		t.Errorf("a deleted row: got %q, %v", v, err)
	}
}

func TestAScanOfAccountsEndsWhenItsCallbackSaysSo(t *testing.T) {
	s := openTemp(t)
	table := s.Accounts()
	if err := table.Write([][2][]byte{put("a", "1"), put("b", "2")}, nil); err != nil {
		t.Fatal(err)
	}
	calls, stop := 0, errors.New("stop")
	err := table.Scan(nil, func(_, _ []byte) (bool, error) { calls++; return false, nil })
	if err != nil || calls != 1 {
		t.Errorf("got %d calls, %v, want 1", calls, err)
	}
	if err := table.Scan(nil, func(_, _ []byte) (bool, error) { return true, stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the callback's error", err)
	}
}
