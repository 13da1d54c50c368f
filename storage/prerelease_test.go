package storage

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/row"
)

// unpackPrerelease unpacks folders that a program from before the first release wrote: a data
// folder in store, without most of its journal, and a backup of it in backup. Both have format 3 of
// that time, and three links, one of which is deleted.
func unpackPrerelease(t *testing.T) (dir string) {
	t.Helper()
	return unpack(t, "testdata/prerelease.tar.gz")
}

// unpack unpacks an archive into a new folder.
func unpack(t *testing.T, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	file, err := os.Open(archive)
	expect.OK(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	expect.OK(t, err)
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		expect.OK(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			text, readErr := io.ReadAll(r)
			err = errors.Join(readErr, os.WriteFile(path, text, 0o600))
		}
		expect.OK(t, err)
	}
}

func TestDataFromBeforeTheFirstReleaseIsRefused(t *testing.T) {
	dir := unpackPrerelease(t)
	store, backup := filepath.Join(dir, "store"), filepath.Join(dir, "backup")
	before := contents(t, dir)
	for name, refused := range map[string]func() error{
		"opening":           func() error { _, err := Open(store, Options{Create: true, Logger: quiet}); return err },
		"opening a backup":  func() error { _, err := Open(backup, Options{Create: true, Logger: quiet}); return err },
		"checking":          func() error { _, err := Inspect(store, Options{Logger: quiet}); return err },
		"checking a backup": func() error { _, err := Inspect(backup, Options{Logger: quiet}); return err },
		"restoring": func() error {
			_, err := Restore(context.Background(), backup, filepath.Join(dir, "new"), RestoreOptions{Logger: quiet})
			return err
		},
	} {
		expect.Error(t, refused(), disk.ErrOldFormat, "%s", name)
	}
	expect.Error(t, Restorable(backup, store, nil), disk.ErrOldFormat, "restoring")
	after := contents(t, dir)
	expect.That(t, maps.Equal(before, after), "the folders have changed: from %d files to %d", len(before), len(after))
}

func TestARestoreOverOldDataIsRefused(t *testing.T) {
	for _, format := range []string{disk.FormatName, disk.FormatRestName, disk.FormatBackupName, disk.FormatNewName} {
		store, dir := filepath.Join(unpackPrerelease(t), "store"), t.TempDir()
		expect.OK(t, os.Rename(filepath.Join(store, disk.FormatName), filepath.Join(store, format)))
		s := openTemp(t)
		backup := filepath.Join(dir, "backup")
		_, err := s.Backup(context.Background(), backup)
		expect.OK(t, err)
		before := contents(t, store)
		_, err = Restore(context.Background(), backup, store, RestoreOptions{Logger: quiet})
		expect.Error(t, err, disk.ErrNotEmpty, "%s: restoring", format)
		_, err = Open(store, Options{Create: true, Logger: quiet})
		expect.Error(t, err, disk.ErrOldFormat, "%s: opening", format)
		expect.That(t, maps.Equal(before, contents(t, store)), "%s: the folder has changed", format)
	}
}

func TestANewerBackupIsRefusedAndLeftAlone(t *testing.T) {
	s, dir := openTemp(t), t.TempDir()
	backup := filepath.Join(dir, "backup")
	_, err := s.Backup(context.Background(), backup)
	expect.OK(t, err)
	write(t, filepath.Join(backup, disk.FormatName), fmt.Sprintf("shunt backup, version %d\n", row.LayoutVersion+1))
	before := contents(t, backup)
	_, err = Restore(context.Background(), backup, filepath.Join(dir, "new"), RestoreOptions{Logger: quiet})
	expect.Error(t, err, disk.ErrNewerFormat, "restoring")
	_, err = Inspect(backup, Options{Logger: quiet})
	expect.Error(t, err, disk.ErrNewerFormat, "checking")
	expect.That(t, maps.Equal(before, contents(t, backup)), "the backup has changed")
}

// TestALayoutThatWasNeverReleasedIsRefused has a store and a backup of a layout before that of the first release.
func TestALayoutThatWasNeverReleasedIsRefused(t *testing.T) {
	for _, kind := range []string{"data", "backup"} {
		dir := filepath.Join(t.TempDir(), "store")
		closeStore(t, open(t, dir, Options{}))
		write(t, filepath.Join(dir, disk.FormatName), fmt.Sprintf("shunt %s, version %d\n", kind, row.LayoutVersion-1))
		before := contents(t, dir)
		_, err := Open(dir, Options{Logger: quiet})
		expect.Error(t, err, disk.ErrOldFormat, "%s: opening", kind)
		_, err = Inspect(dir, Options{Logger: quiet})
		expect.Error(t, err, disk.ErrOldFormat, "%s: checking", kind)
		expect.That(t, maps.Equal(before, contents(t, dir)), "%s: the folder has changed", kind)
	}
}
