package replicate

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage"
)

// TestAProgramWithoutClustersLeavesAStoreOfOneAlone opens and restores the data of a node by a program that knows of
// no cluster: it may read it, and not write.
func TestAProgramWithoutClustersLeavesAStoreOfOneAlone(t *testing.T) {
	disk := vfs.NewMem()
	s := openMember(t, disk)
	_, err := s.Backup(t.Context(), "/backup")
	expect.OK(t, err)
	closeStore(t, s)
	_, err = storage.Open(storeDir, storage.Options{FS: disk, Logger: quiet})
	expect.Error(t, err, storage.ErrOfCluster, "opening")
	_, err = storage.Restore(t.Context(), "/backup", otherDir, storage.RestoreOptions{FS: disk, Logger: quiet})
	expect.Error(t, err, storage.ErrOfCluster, "restoring")
	reader, err := storage.Open(storeDir, storage.Options{FS: disk, Logger: quiet, ReadOnly: true})
	expect.OK(t, err, "reading")
	expect.NoError(t, reader.Close())
	closeStore(t, openMem(t, disk))
}
