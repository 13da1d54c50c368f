package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/kv"
)

// filesOf returns the size and the time of each file below dir.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			found[path] = fmt.Sprintf("%v %d %v", info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	expect.OK(t, err)
	return found
}

func TestAStoreThatIsReadOnlyIsReadAndNeverChanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, err := Open(dir, Options{ReadOnly: true})
	expect.Error(t, err, disk.ErrNoStore, "without a store")
	s, err := Open(dir, Options{Create: true})
	expect.OK(t, err)
	_, err = Open(dir, Options{ReadOnly: true})
	expect.Error(t, err, disk.ErrLocked, "while it is open")
	first, err := s.AllocateIDs(100)
	expect.OK(t, err)
	identity := s.Identity()
	expect.OK(t, s.Close())
	before := filesOf(t, dir)
	r, err := Open(dir, Options{ReadOnly: true})
	expect.OK(t, err)
	if r.Identity() != identity || !r.Given(first) {
		t.Errorf("got %+v, id %d given: %v", r.Identity(), first, r.Given(first))
	}
	_, err = Open(dir, Options{})
	expect.Error(t, err, disk.ErrLocked, "a writer while it is read")
	expect.That(t, expect.Err(r.AllocateIDs(1)) != nil, "ids were allocated")
	r.Accounts().Write([][2][]byte{{[]byte("k"), []byte("v")}}, nil, nil, func(err error) {
		expect.Error(t, err, kv.ErrReads, "writing accounts")
	})
	expect.NoError(t, r.Close())
	after := filesOf(t, dir)
	expect.That(t, maps.Equal(before, after), "got %v\nbefore %v", after, before)
	s, err = Open(dir, Options{})
	expect.OK(t, err)
	expect.NoError(t, s.Close())
}

// A backup of a store that is read-only has what Fold adds, and the store stays as it is.
func TestABackupOfAStoreThatIsReadOnlyIsFoldedInTheCopy(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	s, err := Open(dir, Options{Create: true})
	if err == nil {
		err = s.Close()
	}
	expect.OK(t, err)
	before := filesOf(t, dir)
	var added uint64
	r, err := Open(dir, Options{ReadOnly: true, Fold: func(c *Store) (err error) {
		added, err = c.AllocateIDs(1)
		return err
	}})
	expect.OK(t, err)
	stream, streamErr := r.BackupToStream(t.Context())
	_, err = r.Backup(t.Context(), to)
	err = errors.Join(err, streamErr, IsBackup(to), IsBackup(stream.Dir), r.RemoveStream(stream.Dir), r.Close())
	expect.OK(t, err)
	_, err = os.Stat(stream.Dir)
	expect.Error(t, err, fs.ErrNotExist, "the stream's folder")
	after := filesOf(t, dir)
	expect.That(t, maps.Equal(before, after), "got %v\nbefore %v", after, before)
	again := filepath.Join(t.TempDir(), "again")
	_, err = Restore(t.Context(), to, again, RestoreOptions{FS: vfs.Default})
	expect.OK(t, err)
	s, err = Open(again, Options{})
	expect.OK(t, err)
	expect.That(t, s.Given(added) && added != 0, "the restored store does not have id %d", added)
	expect.NoError(t, s.Close())
}
