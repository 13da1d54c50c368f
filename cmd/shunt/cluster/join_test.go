package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/upkeep"
	"shunt/engine/expect"
)

// A node is admitted to one copy. A folder that join cannot use must not cost it.
func TestJoinAsksForNoCopyWhenItsFolderIsInUse(t *testing.T) {
	dir := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	archive := &copyOnRead{ask: func() (io.ReadCloser, error) {
		t.Error("a copy was asked for")
		return nil, io.EOF
	}}
	err := upkeep.RestoreStream(t.Context(), &core.Data{Dir: dir}, archive, false, false, io.Discard, io.Discard)
	expect.That(t, err != nil && strings.Contains(err.Error(), "is not empty"), "join into a folder with a file: %v", err)
}

func TestJoinSaysWhyThereIsNoCopy(t *testing.T) {
	refused := errors.New("node c is not admitted")
	asked := 0
	archive := &copyOnRead{ask: func() (io.ReadCloser, error) {
		asked++
		return nil, refused
	}}
	dir := filepath.Join(t.TempDir(), "data")
	err := upkeep.RestoreStream(t.Context(), &core.Data{Dir: dir}, archive, false, false, io.Discard, io.Discard)
	expect.That(t, err != nil, "join without a copy: no error")
	expect.That(t, errors.Is(archive.err, refused), "the reason: %v", archive.err)
	expect.Equal(t, asked, 1)
	expect.NoError(t, archive.Close())
}
