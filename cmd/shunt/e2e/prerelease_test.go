package e2e

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unpackPrerelease unpacks a data folder, "store", and a backup of it, "backup", that a program
// from before the first release wrote; see storage's test of the same name.
func unpackPrerelease(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	file, err := os.Open("../../../storage/testdata/prerelease.tar.gz")
	must(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	must(t, err)
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		must(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			text, readErr := io.ReadAll(r)
			err = errors.Join(readErr, os.WriteFile(path, text, 0o600))
		}
		must(t, err)
	}
}

// sums returns the names of everything in dir, and the checksums of its files.
func sums(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&all, path)
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(text))
		return err
	})
	must(t, err)
	return all.String()
}

func TestEveryCommandRefusesDataFromBeforeTheFirstRelease(t *testing.T) {
	home := unpackPrerelease(t)
	before := sums(t, home)
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, {"check"}, {"check", "--data", "backup"}, {"backup", "new"}, {"ls"},
		{"add", "https://example.org"}, {"export"}, {"token", "add", "--name", "a", "--init"}, {"user", "ls"},
	} {
		if !slices.Contains(args, "--data") {
			args = append(args, "--data", "store")
		}
		shunt(t, home, nil, args...).want(t, exitFailed, "",
			`from before its first release: .*/format says "shunt (store|backup), format 3"; nothing was changed\. .*shunt export.*shunt import`)
	}
	shunt(t, home, nil, "restore", "backup", "--data", "new").want(t, exitFailed, "",
		`from before its first release: .*"shunt backup, format 3"; nothing was restored\. .*shunt export.*shunt import`)
	if after := sums(t, home); after != before {
		t.Errorf("the folders have changed from\n%s\nto\n%s", before, after)
	}
}
