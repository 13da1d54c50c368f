package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
)

func wantLastBackup(t *testing.T, s *Store, want int64) {
	t.Helper()
	got, err := s.LastBackup()
	expect.That(t, err == nil && got == want, "last backup: got %d, %v, want %d", got, err, want)
}

func TestTheTimeOfABackupOutlivesACrash(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openMem(t, mem)
	wantLastBackup(t, s, 0)
	for _, atMs := range []int64{1_700_000_000_000, 1_600_000_000_000} { // the clock may have gone back
		expect.OK(t, s.NoteBackup(atMs))
		wantLastBackup(t, s, atMs)
	}
	backup(t, s, backupDir)
	expect.OK(t, s.NoteBackup(1_800_000_000_000))
	crashed := openMem(t, mem.CrashClone(loseAll()))
	wantLastBackup(t, crashed, 1_800_000_000_000)
	closeStore(t, crashed)
	closeStore(t, s)

	expect.OK(t, restoreTo(mem, otherDir))
	restored := open(t, otherDir, Options{FS: mem})
	wantLastBackup(t, restored, 1_600_000_000_000)
	closeStore(t, restored)
}

func TestABackupForAStreamIsInsideAndRestoresByMoving(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "restored")
	s := open(t, dir, Options{})
	fillForCheck(t, s)
	v := s.Inspect()
	rows := allRows(t, v)
	closeInspection(t, v)
	first, err := s.BackupToStream(t.Context())
	expect.OK(t, err)
	sent, err := s.BackupToStream(t.Context()) // while the first one is sent
	expect.OK(t, err)
	streams, err := disk.StreamsOf(&disk.Folder{FS: vfs.Default, Dir: dir})
	expect.That(t, err == nil && len(streams) == 2 && first.Dir != sent.Dir && filepath.Dir(sent.Dir) == dir, "got %v in %v, %v", sent, streams, err)
	expect.OK(t, s.RemoveStream(first.Dir))
	wantWhole(t, sent.Dir, nil, rows)

	expect.OK(t, BeginStream(other))
	expect.OK(t, os.RemoveAll(disk.StreamFolder(nil, other)))
	expect.OK(t, os.CopyFS(disk.StreamFolder(nil, other), os.DirFS(sent.Dir)))
	made, err := Restore(t.Context(), disk.StreamFolder(nil, other), other, RestoreOptions{Logger: quiet})
	expect.MustThat(t, err == nil && made.Files != 0 && made.Bytes != 0, "got %+v, %v", made, err)
	expect.OK(t, EndStream(other))
	wantWhole(t, other, nil, rows)
	closeStore(t, s)

	closeStore(t, open(t, dir, Options{}))
	_, err = os.Stat(sent.Dir)
	expect.That(t, os.IsNotExist(err), "a start left what a killed backup left: %v", err)
}

func TestAStreamNeverReplacesAStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	closeStore(t, open(t, dir, Options{}))
	before := contents(t, dir)
	err := BeginStream(dir)
	expect.That(t, err != nil && strings.Contains(err.Error(), "not empty"), "got %v", err)
	after := contents(t, dir)
	expect.Equal(t, len(after), len(before), "files")
}
