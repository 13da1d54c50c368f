package backups

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func nothing(uint64) {}

// sent returns the archive of a backup with two files.
func sent(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	expect.OK(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	for name, text := range map[string]string{"format": wholeFormat, "db/000004.sst": strings.Repeat("x", 5000), "db/MANIFEST-000001": "m", "db/LOCK": ""} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	var b bytes.Buffer
	expect.OK(t, Send(t.Context(), &b, dir, day, nothing))
	return b.Bytes()
}

func TestAnArchiveHasTheFilesInOrderAndTheFormatLast(t *testing.T) {
	archive := sent(t)
	expect.That(t, bytes.Equal(archive, sent(t)), "two archives of one backup differ")
	got := ""
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		expect.OK(t, err)
		got += h.Name + " "
	}
	const top = "shunt-20260304T050607Z/"
	expect.Equal(t, got, top+" "+top+"db/ "+top+"db/000004.sst "+top+"db/MANIFEST-000001 "+top+"format ")
}

func TestAnArchiveThatIsCutOffAnywhereIsNotABackup(t *testing.T) {
	archive := sent(t)
	whole := len(archive) - 1024 - 512 // the end of the file format, but its padding
	for n := 0; n <= len(archive); n += 256 {
		dir := filepath.Join(t.TempDir(), "to")
		err := Receive(t.Context(), bytes.NewReader(archive[:n]), dir, nothing)
		expect.That(t, n >= whole || errors.Is(err, io.ErrUnexpectedEOF), "%d of %d bytes: got %v", n, len(archive), err)
		expect.That(t, n != len(archive) || err == nil, "whole: got %v", err)
	}
}

// archiveOf makes an archive of entries.
func archiveOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		expect.OK(t, w.WriteHeader(&h))
	}
	expect.OK(t, w.Close())
	return b.Bytes()
}

func TestNoArchiveWritesOutsideItsFolder(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600} }
	for name, archive := range map[string][]byte{
		"a path upwards":         archiveOf(t, file("a/../../evil")),
		"a path upwards in db":   archiveOf(t, file("a/db/../../evil")),
		"an absolute path":       archiveOf(t, file("/etc/evil")),
		"a file beside db":       archiveOf(t, file("a/evil")),
		"a folder in db":         archiveOf(t, file("a/db/x/y")),
		"a hidden file":          archiveOf(t, file("a/db/.evil")),
		"two folders":            archiveOf(t, file("a/db/x"), file("b/db/y")),
		"a symbolic link":        archiveOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "a/db/x", Linkname: "/etc/passwd"}),
		"a hard link":            archiveOf(t, tar.Header{Typeflag: tar.TypeLink, Name: "a/db/x", Linkname: "a/format"}),
		"a device":               archiveOf(t, tar.Header{Typeflag: tar.TypeChar, Name: "a/db/x"}),
		"something after format": archiveOf(t, file("a/format"), file("a/db/x")),
		"not an archive":         bytes.Repeat([]byte("not an archive "), 100),
	} {
		home := t.TempDir()
		expect.Error(t, Receive(t.Context(), bytes.NewReader(archive), filepath.Join(home, "to"), nothing), ErrNotABackup, name)
		left := names(t, home)
		expect.Equal(t, len(left), 1, "%s: wrote %q", name, left)
	}
	twice := archiveOf(t, file("a/db/x"), file("a/db/x"))
	expect.Error(t, Receive(t.Context(), bytes.NewReader(twice), filepath.Join(t.TempDir(), "to"), nothing), os.ErrExist, "a file twice")
}

func FuzzReceiveWritesOnlyIntoItsFolder(f *testing.F) {
	f.Add(sent(f))
	f.Fuzz(func(t *testing.T, archive []byte) {
		home := t.TempDir()
		_ = Receive(context.Background(), bytes.NewReader(archive), filepath.Join(home, "to"), nothing)
		left := names(t, home)
		expect.That(t, len(left) == 1 && left[0] == "to", "wrote %q", left)
	})
}
