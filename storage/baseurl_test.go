package storage

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/row"
)

func wantBaseURL(t *testing.T, s *Store, want string) {
	t.Helper()
	got, err := s.BaseURL()
	expect.That(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
}

func TestTheBaseURLOutlivesCrashesBackupsAndRestores(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	wantBaseURL(t, s, "")
	for _, baseURL := range []string{"http://127.0.0.1:8080", "https://sho.rt"} {
		expect.OK(t, s.NoteBaseURL(baseURL))
		wantBaseURL(t, s, baseURL)
	}
	backup(t, s, backupDir)
	crashed := openMem(t, mem.CrashClone(loseAll()))
	wantBaseURL(t, crashed, "https://sho.rt")
	closeStore(t, crashed)
	closeStore(t, s)

	expect.OK(t, restoreTo(mem, otherDir))
	restored := open(t, otherDir, Options{FS: mem})
	wantBaseURL(t, restored, "https://sho.rt")
	closeStore(t, restored)
}

// Each start notes the base URL. It must not wait for the disk if the store already has it.
func TestAnUnchangedBaseURLIsNotWritten(t *testing.T) {
	s := openTemp(t)
	begun := s.writer.LastDurable()
	for _, c := range []struct {
		baseURL string
		writes  uint64
	}{{"http://a", 1}, {"http://a", 1}, {"http://b", 2}, {"http://a", 3}} {
		expect.OK(t, s.NoteBaseURL(c.baseURL))
		expect.Equal(t, s.writer.LastDurable()-begun, c.writes, "after %s: writes", c.baseURL)
	}
}

func TestAMalformedBaseURLIsRefused(t *testing.T) {
	s := openTemp(t)
	for _, baseURL := range []string{"", "http://a\n", "http://é", strings.Repeat("a", row.MaxBaseURLBytes+1)} {
		expect.That(t, s.NoteBaseURL(baseURL) != nil, "%.20q was accepted", baseURL)
	}
	wantBaseURL(t, s, "")
}
