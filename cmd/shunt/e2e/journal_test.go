package e2e

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leaveHit kills a server that has one hit in both store and journal, and a second one only in the
// journal, in the folder journal. It returns the code of the link.
func leaveHit(t *testing.T, dir, journal string) (code string) {
	t.Helper()
	p := startServer(t, dir, "--flush-interval", "1h", "--journal-dir", journal)
	code = path.Base(strings.TrimSpace(shunt(t, "", nil, "add", "https://example.org/a", "--data", dir).stdout))
	follow(t, p.public+"/"+code, "https://example.org/a")
	shunt(t, "", nil, "backup", filepath.Join(t.TempDir(), "backup"), "--data", dir).want(t, exitDone, ".*", ".*") // flushes
	follow(t, p.public+"/"+code, "https://example.org/a")
	p.kill()
	return code
}

func wantHits(t *testing.T, dir, code, hits, stderr string) {
	t.Helper()
	shunt(t, "", nil, "stats", code, "--data", dir).want(t, exitDone, "^hits    "+hits+"\n", stderr)
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	return names
}

func TestAJournalFolderThatIsAFileIsAnError(t *testing.T) {
	t.Parallel()
	dir, journals := t.TempDir(), t.TempDir()
	old := filepath.Join(journals, "old")
	code := leaveHit(t, dir, old)
	must(t, os.RemoveAll(old))
	must(t, os.WriteFile(old, nil, 0o600))
	shunt(t, "", nil, "add", "https://example.org/b", "--data", dir).want(t, exitFailed, "", "--journal-dir")
	wantHits(t, dir, code, "1", "cannot be replayed whole.*"+regexp.QuoteMeta(old))
	p := startServer(t, dir, "--journal-dir", filepath.Join(journals, "new"))
	p.terminate()
	if said := p.stderr(); strings.Count(said, "cannot be replayed whole") != 1 || !strings.Contains(said, old) {
		t.Errorf("got\n%s", said)
	}
	wantHits(t, dir, code, "1", "^$")
}

func TestAJournalThatMovesLeavesNoFilesBehind(t *testing.T) {
	t.Parallel()
	dir, journals := t.TempDir(), t.TempDir()
	old := filepath.Join(journals, "old")
	code := leaveHit(t, dir, old)
	startServer(t, dir, "--journal-dir", filepath.Join(journals, "new")).terminate()
	if left, err := os.ReadDir(old); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v", left, err)
	}
	wantHits(t, dir, code, "2", "^$")
}

func TestACopyOfAUsedFolderLeavesTheJournalAlone(t *testing.T) {
	t.Parallel()
	dir, journals := t.TempDir(), t.TempDir()
	live, copied := filepath.Join(journals, "live"), filepath.Join(t.TempDir(), "copy")
	p := startServer(t, dir, "--flush-interval", "1h", "--journal-dir", live)
	code := path.Base(strings.TrimSpace(shunt(t, "", nil, "add", "https://example.org/a", "--data", dir).stdout))
	if out, err := exec.Command("cp", "-a", dir, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	follow(t, p.public+"/"+code, "https://example.org/a")
	before := names(t, live)
	shunt(t, "", nil, "token", "add", "--name", "a", "--data", copied).want(t, exitFailed, "", regexp.QuoteMeta(live)+".*running server.*--journal-dir")
	wantHits(t, copied, code, "0", "counted there, and not here.*"+regexp.QuoteMeta(live))
	shunt(t, "", nil, "token", "add", "--name", "a", "--data", copied, "--journal-dir", filepath.Join(journals, "own")).want(t, exitDone, tokenLine.String(), regexp.QuoteMeta(live))
	if after := names(t, live); !slices.Equal(after, before) {
		t.Errorf("the journal has changed from %q to %q", before, after)
	}
	p.kill()
	wantHits(t, dir, code, "1", "^$")
	wantHits(t, copied, code, "0", "^$")
}

func TestAnEmptiedFileOfTheJournalFolderCountsAsAbsent(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "blank": " \n", "zeros": "\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			dir, journal := t.TempDir(), filepath.Join(t.TempDir(), "journal")
			code := leaveHit(t, dir, journal)
			remembered := filepath.Join(dir, rememberedJournal)
			must(t, os.WriteFile(remembered, []byte(text), 0o600))
			shunt(t, "", nil, "check", "--data", dir).want(t, exitFailed, ".*", regexp.QuoteMeta(remembered)+".*"+regexp.QuoteMeta(filepath.Join(dir, "journal")))
			startServer(t, dir, "--journal-dir", journal).terminate() // makes it
			wantHits(t, dir, code, "2", "^$")
			must(t, os.WriteFile(remembered, []byte(text), 0o600))
			shunt(t, "", nil, "stats", code, "--data", dir).want(t, exitDone, "^hits    2\n", regexp.QuoteMeta(remembered))
			shunt(t, "", nil, "add", "https://example.org/b", "--data", dir).want(t, exitDone, "^http", regexp.QuoteMeta(remembered))
			wantHits(t, dir, code, "2", "^$")
		})
	}
}
