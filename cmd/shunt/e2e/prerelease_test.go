package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
)

// unpackPrerelease unpacks into dir a data folder, "store", and a backup of it, "backup", that a program
// from before the first release wrote; see storage's test of the same name.
func unpackPrerelease(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Open("../../../storage/testdata/prerelease.tar.gz")
	expect.OK(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	expect.OK(t, err)
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
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
