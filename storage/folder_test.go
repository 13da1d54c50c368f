package storage

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/disk"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// contents returns the bytes of every file below dir, and the names of its folders.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			found[path] = "folder"
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	expect.OK(t, err)
	return found
}

// wantUntouched opens dir, which must fail with want and change nothing.
func wantUntouched(t *testing.T, dir string, create bool, want error) {
	t.Helper()
	before := contents(t, dir)
	s, err := Open(dir, Options{Create: create, Logger: quiet})
	if err == nil {
		closeStore(t, s)
	}
	expect.Error(t, err, want, "create %v", create)
	after := contents(t, dir)
	expect.That(t, maps.Equal(before, after), "create %v: the folder has changed: from %d files to %d", create, len(before), len(after))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestAFolderWithoutStoreIsNoStoreUnlessCreated(t *testing.T) {
	dir := t.TempDir()
	wantUntouched(t, dir, false, disk.ErrNoStore)
	missing := filepath.Join(dir, "a", "b")
	_, err := Open(missing, Options{Logger: quiet})
	expect.Error(t, err, disk.ErrNoStore)
	expect.Error(t, expect.Err(os.Stat(filepath.Join(dir, "a"))), fs.ErrNotExist, "the folder was created")
	closeStore(t, open(t, missing, Options{}))
	info, err := os.Stat(missing)
	if err != nil || info.Mode().Perm() != disk.FolderMode {
		t.Errorf("got mode %v, %v, want %o", info.Mode(), err, disk.FolderMode)
	}
	text, err := os.ReadFile(filepath.Join(missing, disk.FormatName))
	got, want := string(text), fmt.Sprintf("shunt data, version %d\n", row.LayoutVersion)
	expect.That(t, err == nil && got == want, "format file: got %q, %v, want %q", got, err, want)
	s, err := Open(missing, Options{Logger: quiet})
	expect.OK(t, err, "reopening")
	closeStore(t, s)
}

func TestAFolderWithOtherFilesIsLeftAlone(t *testing.T) {
	for _, name := range []string{"thesis.doc", "db/CURRENT", ".git/HEAD"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, path, "mine")
		wantUntouched(t, dir, true, disk.ErrNotAStore)
		wantUntouched(t, dir, false, disk.ErrNotAStore)
	}
}

func TestAFormatFileThatIsNotOursIsLeftAlone(t *testing.T) {
	for _, text := range []string{
		"", "format: A4\n", "shunt data, version \n", "shunt data, version -1\n", "shunt data, version 0\n",
		"shunt data, version 01\n", "shunt data, version 1",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, disk.FormatName), text)
		wantUntouched(t, dir, true, disk.ErrNotAStore)
	}
}

func TestAStoreOfANewerFormatIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	closeStore(t, open(t, dir, Options{}))
	write(t, filepath.Join(dir, disk.FormatName), fmt.Sprintf("shunt data, version %d\nand more that we do not know\n", row.LayoutVersion+1))
	wantUntouched(t, dir, true, disk.ErrNewerFormat)
	wantUntouched(t, dir, false, disk.ErrNewerFormat)
}

func TestANewerLayoutInTheDatabaseIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	b := s.db.NewBatch()
	kv.Set(b, row.MetaKey(row.MetaLayout), binary.BigEndian.AppendUint32(nil, row.LayoutVersion+1))
	expect.OK(t, s.writer.Sync(b, "test"))
	closeStore(t, s)
	for range 2 { // the second time: the first one has released the lock
		_, err := Open("/data/store", Options{FS: mem, Logger: quiet})
		expect.Error(t, err, disk.ErrNewerFormat)
	}
}

func TestAStoreWithoutMetaOrDatabaseIsCorrupt(t *testing.T) {
	for name, damage := range map[string]func(s *Store, mem *vfs.MemFS) error{
		"no layout version": func(s *Store, mem *vfs.MemFS) error {
			return errors.Join(s.db.Delete(row.MetaKey(row.MetaLayout), pebble.Sync), s.Close())
		},
		"no visitor key": func(s *Store, mem *vfs.MemFS) error {
			return errors.Join(s.db.Delete(row.MetaKey(row.MetaVisitorKey), pebble.Sync), s.Close())
		},
		"empty folder db": func(s *Store, mem *vfs.MemFS) error {
			return errors.Join(s.Close(), mem.RemoveAll("/data/store/db"), mem.MkdirAll("/data/store/db", 0o700))
		},
		"no folder db": func(s *Store, mem *vfs.MemFS) error {
			return errors.Join(s.Close(), mem.RemoveAll("/data/store/db"))
		},
	} {
		mem := vfs.NewMem()
		expect.OK(t, damage(openMem(t, mem), mem))
		for range 2 { // the second time: the first one has released the lock
			_, err := Open("/data/store", Options{FS: mem, Logger: quiet, Create: true})
			expect.Error(t, err, ErrCorrupt, "%s", name)
		}
	}
}

func TestAStoreKeepsItsIdentity(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	first := s.Identity()
	closeStore(t, s)
	s = openMem(t, mem)
	defer closeStore(t, s)
	got := s.Identity()
	expect.That(t, got == first && got.StoreID != [16]byte{} && got.VisitorKey != [16]byte{}, "got %x, want %x", got, first)
	other := openMem(t, vfs.NewMem())
	defer closeStore(t, other)
	if got := other.Identity(); got.StoreID == first.StoreID || got.VisitorKey == first.VisitorKey {
		t.Error("two stores have the same identity")
	}
}

func TestAVisitorKeyIsUsedOnlyToCreateAStore(t *testing.T) {
	mem := vfs.NewMem()
	first, second := [16]byte{1}, [16]byte{2}
	for _, key := range []*[16]byte{&first, &second, nil} {
		s := open(t, "/data/store", Options{FS: mem, VisitorKey: key})
		expect.Equal(t, s.Identity().VisitorKey, first)
		closeStore(t, s)
	}
}

func TestAStoreThatThisProcessHoldsIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	wantUntouched(t, dir, true, disk.ErrLocked)
	closeStore(t, s)
	closeStore(t, open(t, dir, Options{}))
}

func TestAStoreThatAnotherProcessHoldsIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	closeStore(t, open(t, dir, Options{}))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=hold "+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	expect.OK(t, err)
	stdout, err := cmd.StdoutPipe()
	expect.OK(t, err)
	expect.OK(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	expect.MustThat(t, err == nil && line == "held\n", "the other process: %q, %v", line, err)
	wantUntouched(t, dir, true, disk.ErrLocked)
	wantUntouched(t, dir, false, disk.ErrLocked)
	expect.Error(t, errors.Join(stdin.Close(), cmd.Wait()), nil, "the other process")
	closeStore(t, open(t, dir, Options{}))
}

func TestAFatalPebbleErrorEndsTheProcessWithOneLine(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=fatal")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	var exit *exec.ExitError
	err := cmd.Run()
	expect.That(t, errors.As(err, &exit) && exit.ExitCode() == 1, "got %v, want exit code 1", err)
	got := stderr.String()
	expect.That(t, strings.Count(got, "\n") == 1 && strings.Contains(got, "disk full is 1"), "got %q, want one line with the cause", got)
}

// firstLine is the first line of a format file of a store or of a backup.
var firstLine = regexp.MustCompile(`\Ashunt (data|backup), version ([1-9][0-9]*)\n`)

// oldLine is the first line of such a file from before the first release.
var oldLine = regexp.MustCompile(`\Ashunt (store|backup), format .*\n`)

// FuzzFormatFile inspects a folder whose format file has any bytes: an accepted file begins with
// the line of a version exactly as WriteFormat writes it, a newer version is recognized, anything
// else is not a store, and the file does not change.
func FuzzFormatFile(f *testing.F) {
	for _, text := range []string{
		"", "shunt data, version 1\n", "shunt data, version 1", "shunt data, version 1\nand more\n", "shunt data, version 2\n", "shunt data, version 3\n", "shunt backup, version 1\n", "shunt store, format 3\n", "shunt store, format x\n", "shunt backup, format 2\n",
		"shunt data, version 01\n", "shunt data, version 0\n", "shunt data, version 4294967296\n", "shunt data, version 1\r\n",
		"shunt data, version " + strings.Repeat("0", disk.MaxFormatBytes) + "1\n", "format: A4\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := disk.ErrNotAStore
		if oldLine.Match(text[:min(len(text), disk.MaxFormatBytes)]) {
			want = disk.ErrOldFormat
		}
		if match := firstLine.FindSubmatch(text); match != nil {
			if version, err := strconv.ParseUint(string(match[2]), 10, 32); err == nil && version > row.LayoutVersion {
				want = disk.ErrNewerFormat
			} else if err == nil && version < row.LayoutVersion {
				want = disk.ErrOldFormat
			} else if err == nil && string(match[1]) == "backup" {
				want = disk.ErrBackup
			} else if err == nil {
				want = nil
			}
		}
		mem := vfs.NewMem()
		writeMem(t, mem, disk.FormatName, text)
		state, err := (&disk.Folder{FS: mem, Dir: ""}).Inspect()
		expect.MustThat(t, state == disk.Stored && errors.Is(err, want), "%q: got state %d, %v, want %v", text, state, err, want)
		after := readMem(t, mem, disk.FormatName)
		expect.MustThat(t, bytes.Equal(after, text), "%q has become %q", text, after)
	})
}

func writeMem(t *testing.T, mem *vfs.MemFS, path string, text []byte) {
	t.Helper()
	file, err := mem.Create(path, vfs.WriteCategoryUnspecified)
	expect.OK(t, err)
	_, err = file.Write(bytes.Clone(text))
	expect.OK(t, err)
	expect.OK(t, file.Close())
}

func readMem(t *testing.T, mem *vfs.MemFS, path string) []byte {
	t.Helper()
	file, err := mem.Open(path)
	expect.OK(t, err)
	defer file.Close()
	text, err := io.ReadAll(file)
	expect.OK(t, err)
	return text
}
