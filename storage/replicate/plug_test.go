package replicate

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/storage"
)

// TestAProgramWithoutClustersLeavesAStoreOfOneAlone opens and restores the data of a node by a program that knows of
// no cluster: it may read it, and not write.
func TestAProgramWithoutClustersLeavesAStoreOfOneAlone(t *testing.T) {
	disk := vfs.NewMem()
	s := openMember(t, disk)
	_, err := s.Backup(t.Context(), "/backup")
	must(t, err)
	closeStore(t, s)
	if _, err := storage.Open(storeDir, storage.Options{FS: disk, Logger: quiet}); !errors.Is(err, storage.ErrOfCluster) {
		t.Errorf("opening: got %v, want ErrOfCluster", err)
	}
	if _, err := storage.Restore(t.Context(), "/backup", otherDir, storage.RestoreOptions{FS: disk, Logger: quiet}); !errors.Is(err, storage.ErrOfCluster) {
		t.Errorf("restoring: got %v, want ErrOfCluster", err)
	}
	reader, err := storage.Open(storeDir, storage.Options{FS: disk, Logger: quiet, ReadOnly: true})
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	closeStore(t, openMem(t, disk))
}
