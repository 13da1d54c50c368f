package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// backupsIn returns the names of the backups of a series.
func backupsIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, e.Name())
		}
	}
	return found
}

func TestBackupsAreNamedByTimeVerifiedAndPruned(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, series := filepath.Join(home, "data"), filepath.Join(home, "backups")
	p := startServer(t, dir)
	expect.Equal(t, p.figure("shunt_last_backup_timestamp_seconds"), "0", "before any")
	for i := range 3 {
		shunt(t, home, nil, "add", "https://example.org/"+strings.Repeat("x", i+1), "--data", dir).done(t)
		r := shunt(t, home, nil, "backup", "--to", "backups", "--keep", "2", "--data", dir, "--json")
		done := printed[backupDone](t, r)
		expect.That(t, r.code == exitDone && done.Links == uint64(i+1) && filepath.Dir(done.Dir) == series,
			"got %+v, exit code %d: %s", done, r.code, r.stderr)
	}
	names := backupsIn(t, series)
	expect.MustThat(t, len(names) == 2 && names[0] < names[1], "got %q", names)
	at := p.figure("shunt_last_backup_timestamp_seconds")
	expect.That(t, at != "0" && at != "" && p.figure("shunt_last_backup_size_bytes") != "0", "after it: got %q", at)
	p.terminate()

	shunt(t, home, nil, "backup", "--to", series, "--keep", "2", "--data", dir).done(t)
	now := backupsIn(t, series)
	expect.That(t, len(now) == 2 && now[0] == names[1], "without a server: got %q after %q", now, names)
	newest := filepath.Join(series, backupsIn(t, series)[1])
	shunt(t, home, nil, "restore", newest, "--data", "again").done(t)
	p = startServer(t, dir)
	if got := p.figure("shunt_last_backup_timestamp_seconds"); got != at { // without a server nothing is noted
		t.Errorf("after a restart: got %q, want %q", got, at)
	}

	other := startServer(t, filepath.Join(home, "other"))
	shunt(t, home, nil, "backup", "--to", series, "--data", other.dir).want(t, exitFailed, "", "it has the backups of another store")
	left := backupsIn(t, series)
	expect.Equal(t, len(left), 2, "another store: got %q", left)
}

func TestADamagedBackupIsNotKeptAndRemovesNoOlderOne(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, series := filepath.Join(home, "data"), filepath.Join(home, "backups")
	p := startServer(t, dir)
	for i := range 20 {
		shunt(t, home, nil, "add", "https://example.org/"+strings.Repeat("x", i+1), "--data", dir).done(t)
	}
	p.terminate() // which writes tables
	shunt(t, home, nil, "backup", "--to", series, "--keep", "1", "--data", dir).done(t)
	before := backupsIn(t, series)
	tables, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	expect.MustThat(t, err == nil && len(tables) != 0, "got %q, %v", tables, err)
	text, err := os.ReadFile(tables[0])
	expect.OK(t, err)
	text[100] ^= 1
	expect.OK(t, os.Remove(tables[0])) // the older backup has a link to it
	expect.OK(t, os.WriteFile(tables[0], text, 0o600))
	r := shunt(t, home, nil, "backup", "--to", series, "--keep", "1", "--data", dir)
	expect.Equal(t, r.code, exitFailed, "got exit code: %s%s", r.stdout, r.stderr)
	after := backupsIn(t, series)
	expect.That(t, len(after) == 1 && after[0] == before[0], "got %q, want %q", after, before)
}

func TestABackupGoesThroughAPipeAndBack(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, archive := filepath.Join(home, "data"), filepath.Join(home, "a.tar")
	p := startServer(t, dir)
	shunt(t, home, nil, "add", "https://example.org/", "--alias", "here", "--data", dir).done(t)
	for i := range 2 { // the second time without a server
		r := shunt(t, home, nil, "backup", "--tar", "-", "--data", dir)
		expect.MustThat(t, r.code == exitDone && os.WriteFile(archive, []byte(r.stdout), 0o600) == nil, "exit code %d: %s", r.code, r.stderr)
		to := filepath.Join(home, "to", string(rune('a'+i)))
		shuntWithInput(t, r.stdout, nil, "restore", "--tar", "-", "--data", to).done(t)
		shunt(t, home, nil, "show", "here", "--data", to).done(t)
		if i == 0 {
			expect.That(t, p.figure("shunt_last_backup_timestamp_seconds") != "0", "the backup is not in the metrics")
			p.terminate()
		}
	}

	text, err := os.ReadFile(archive)
	expect.OK(t, err)
	shuntWithInput(t, string(text[:len(text)/2]), nil, "restore", "--tar", "-", "--data", filepath.Join(home, "half")).
		want(t, exitFailed, "", "the stream ended before the backup was whole")
	startServer(t, dir)
	if left := backupsIn(t, dir); len(left) != 2 { // db and journal
		t.Errorf("the data folder has %q", left)
	}
}
